"""Places, the searches that found them, what they cost, and the businesses they are."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "cost_meters",
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("sku", sa.Text(), nullable=False),
        sa.Column("month", sa.Date(), nullable=False),
        sa.Column("requests", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("provider", "sku", "month", name=op.f("pk_cost_meters")),
    )
    op.create_table(
        "geocoded_areas",
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("south", sa.Float(), nullable=False),
        sa.Column("west", sa.Float(), nullable=False),
        sa.Column("north", sa.Float(), nullable=False),
        sa.Column("east", sa.Float(), nullable=False),
        sa.Column("country", sa.Text(), nullable=True),
        sa.Column("osm", sa.Text(), nullable=True),
        sa.Column("created_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("query", name=op.f("pk_geocoded_areas")),
    )
    op.create_table(
        "provider_days",
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("requests", sa.Integer(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("provider", "method", "day", name=op.f("pk_provider_days")),
    )
    op.create_table(
        "provider_pauses",
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("until", MOMENT, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("provider", "method", name=op.f("pk_provider_pauses")),
    )
    op.create_table(
        "cost_months",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("month", sa.Date(), nullable=False),
        sa.Column(
            "spent_usd", sa.Numeric(precision=14, scale=6), server_default="0", nullable=False
        ),
        sa.Column("requests", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_cost_months_tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "month", name=op.f("pk_cost_months")),
    )
    op.create_table(
        "budgets",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("monthly_cap_usd", sa.Numeric(precision=14, scale=6), nullable=False),
        sa.Column("changed_by", sa.Uuid(), nullable=False),
        sa.Column("changed_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["changed_by"], ["users.id"], name=op.f("fk_budgets_changed_by")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_budgets_tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_budgets")),
    )
    op.create_table(
        "places",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("place_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("formatted_address", sa.Text(), nullable=True),
        sa.Column("address_parts", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("latitude", sa.Float(), nullable=True),
        sa.Column("longitude", sa.Float(), nullable=True),
        sa.Column("phone", sa.Text(), nullable=True),
        sa.Column("phone_raw", sa.Text(), nullable=True),
        sa.Column("website_url", sa.Text(), nullable=True),
        sa.Column("emails", sa.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("profiles", sa.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("types", sa.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("category", sa.Text(), nullable=True),
        sa.Column("rating", sa.Float(), nullable=True),
        sa.Column("user_ratings_total", sa.Integer(), nullable=True),
        sa.Column("price_level", sa.SmallInteger(), nullable=True),
        sa.Column("business_status", sa.Text(), nullable=True),
        sa.Column("hours", postgresql.JSONB(), nullable=True),
        sa.Column("maps_url", sa.Text(), nullable=True),
        sa.Column("is_service_area", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("raw_data", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("details_at", MOMENT, nullable=True),
        sa.Column("refresh_asked_at", MOMENT, nullable=True),
        sa.Column("seen_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("gone_at", MOMENT, nullable=True),
        sa.Column("moved_to", sa.Text(), nullable=True),
        sa.Column("search_id", sa.Uuid(), nullable=True),
        sa.Column("local_business_id", sa.Uuid(), nullable=True),
        sa.Column("status", sa.Text(), server_default="New", nullable=False),
        sa.Column("created_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("deep_scan_status", sa.Text(), server_default="New", nullable=False),
        sa.Column("deep_scan_due_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("deep_scan_attempts", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("deep_scan_lease_token", sa.Uuid(), nullable=True),
        sa.Column("deep_scan_lease_expires_at", MOMENT, nullable=True),
        sa.Column("deep_scan_worker_id", sa.Uuid(), nullable=True),
        sa.Column("deep_scan_error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "business_status IN ('operational', 'closed_temporarily', 'closed_permanently', 'future_opening')",
            name=op.f("ck_places_business_status"),
        ),
        sa.CheckConstraint(
            "deep_scan_status IN ('Completed', 'Error', 'New', 'Processing', 'Queued')",
            name=op.f("ck_places_deep_scan_status"),
        ),
        sa.CheckConstraint(
            "provider IN ('google', 'osm', 'csv', 'site')", name=op.f("ck_places_provider")
        ),
        sa.CheckConstraint(
            "status IN ('New', 'Selected', 'Maybe', 'Not a Fit', 'Archived')",
            name=op.f("ck_places_status"),
        ),
        sa.CheckConstraint(
            "latitude BETWEEN -90 AND 90 AND longitude BETWEEN -180 AND 180",
            name=op.f("ck_places_coordinates"),
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_places_created_by")),
        sa.ForeignKeyConstraint(
            ["search_id"], ["jobs.id"], name=op.f("fk_places_search_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_places_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_places")),
        sa.UniqueConstraint(
            "tenant_id", "provider", "place_id", name=op.f("uq_places_tenant_id_provider_place_id")
        ),
        postgresql_with={"fillfactor": 80},
    )
    op.create_index(
        "ix_places_created_at", "places", ["tenant_id", "created_at", "id"], unique=False
    )
    op.create_index(
        "ix_places_deep_scan_due",
        "places",
        ["deep_scan_due_at", "id"],
        unique=False,
        postgresql_where=sa.text("deep_scan_status = 'Queued'"),
    )
    op.create_index(
        "ix_places_deep_scan_failed",
        "places",
        ["id"],
        unique=False,
        postgresql_where=sa.text("deep_scan_status = 'Error'"),
    )
    op.create_index(
        "ix_places_deep_scan_held",
        "places",
        ["deep_scan_worker_id"],
        unique=False,
        postgresql_where=sa.text("deep_scan_status = 'Processing'"),
    )
    op.create_index("ix_places_local_business_id", "places", ["local_business_id"], unique=False)
    op.create_table(
        "saved_searches",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("params", postgresql.JSONB(), nullable=False),
        sa.Column("repeat_days", sa.Integer(), nullable=False),
        sa.Column("next_run_at", MOMENT, nullable=False),
        sa.Column("last_search_id", sa.Uuid(), nullable=True),
        sa.Column("is_active", sa.Boolean(), server_default="true", nullable=False),
        sa.Column("created_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.CheckConstraint("repeat_days >= 1", name=op.f("ck_saved_searches_repeat_days")),
        sa.ForeignKeyConstraint(
            ["created_by"], ["users.id"], name=op.f("fk_saved_searches_created_by")
        ),
        sa.ForeignKeyConstraint(
            ["last_search_id"],
            ["jobs.id"],
            name=op.f("fk_saved_searches_last_search_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_saved_searches_tenant_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saved_searches")),
        sa.UniqueConstraint(
            "tenant_id", "subject", name=op.f("uq_saved_searches_tenant_id_subject")
        ),
    )
    op.create_index(
        "ix_saved_searches_next_run_at",
        "saved_searches",
        ["next_run_at"],
        unique=False,
        postgresql_where=sa.text("is_active"),
    )
    op.create_table(
        "search_tiles",
        sa.Column("search_id", sa.Uuid(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("south", sa.Float(), nullable=False),
        sa.Column("west", sa.Float(), nullable=False),
        sa.Column("north", sa.Float(), nullable=False),
        sa.Column("east", sa.Float(), nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("found", sa.Integer(), server_default="0", nullable=False),
        sa.Column("new", sa.Integer(), server_default="0", nullable=False),
        sa.Column("probed", sa.ARRAY(sa.Text()), nullable=True),
        sa.Column("next_token", sa.Text(), nullable=True),
        sa.Column("asked_again", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("requests", sa.Integer(), server_default="0", nullable=False),
        sa.Column("paid_requests", sa.Integer(), server_default="0", nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("updated_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "state IN ('waiting', 'split', 'joined', 'done', 'known', 'saturated', 'not_asked')",
            name=op.f("ck_search_tiles_state"),
        ),
        sa.ForeignKeyConstraint(
            ["search_id"], ["jobs.id"], name=op.f("fk_search_tiles_search_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_search_tiles_tenant_id")
        ),
        sa.PrimaryKeyConstraint("search_id", "path", name=op.f("pk_search_tiles")),
    )
    op.create_table(
        "cost_entries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("sku", sa.Text(), nullable=False),
        sa.Column("month", sa.Date(), nullable=False),
        sa.Column("usd", sa.Numeric(precision=14, scale=6), nullable=False),
        sa.Column("is_free", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), server_default="asked", nullable=False),
        sa.Column("search_id", sa.Uuid(), nullable=True),
        sa.Column("place_id", sa.Uuid(), nullable=True),
        sa.Column("asked_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("settled_at", MOMENT, nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "state IN ('asked', 'billed', 'not_billed')", name=op.f("ck_cost_entries_state")
        ),
        sa.ForeignKeyConstraint(
            ["place_id"], ["places.id"], name=op.f("fk_cost_entries_place_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["search_id"], ["jobs.id"], name=op.f("fk_cost_entries_search_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_cost_entries_tenant_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cost_entries")),
    )
    op.create_index(
        "ix_cost_entries_asked_at", "cost_entries", ["tenant_id", "asked_at", "id"], unique=False
    )
    op.create_index("ix_cost_entries_search_id", "cost_entries", ["search_id"], unique=False)
    op.create_table(
        "local_businesses",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("place_id", sa.Uuid(), nullable=True),
        sa.Column("business_name", sa.Text(), nullable=True),
        sa.Column("name_key", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("street", sa.Text(), nullable=True),
        sa.Column("house_number", sa.Text(), nullable=True),
        sa.Column("postal_code", sa.Text(), nullable=True),
        sa.Column("city", sa.Text(), nullable=True),
        sa.Column("region", sa.Text(), nullable=True),
        sa.Column("country", sa.Text(), nullable=True),
        sa.Column("latitude", sa.Float(), nullable=True),
        sa.Column("longitude", sa.Float(), nullable=True),
        sa.Column("cell", sa.Text(), nullable=True),
        sa.Column("phone", sa.Text(), nullable=True),
        sa.Column("phone_raw", sa.Text(), nullable=True),
        sa.Column("website_url", sa.Text(), nullable=True),
        sa.Column("website_kind", sa.Text(), nullable=True),
        sa.Column("website_note", sa.Text(), nullable=True),
        sa.Column("site_key", sa.Text(), nullable=True),
        sa.Column("domain_id", sa.Uuid(), nullable=True),
        sa.Column("emails", sa.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("profiles", sa.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("categories", sa.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("rating", sa.Float(), nullable=True),
        sa.Column("reviews_count", sa.Integer(), nullable=True),
        sa.Column("price_level", sa.Integer(), nullable=True),
        sa.Column("hours", postgresql.JSONB(), nullable=True),
        sa.Column("business_status", sa.Text(), nullable=True),
        sa.Column("facts_from", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("refreshed_at", MOMENT, nullable=True),
        sa.Column("status", sa.Text(), server_default="New", nullable=False),
        sa.Column("created_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("domain_extraction_status", sa.Text(), server_default="New", nullable=False),
        sa.Column(
            "domain_extraction_due_at", MOMENT, server_default=sa.text("now()"), nullable=False
        ),
        sa.Column(
            "domain_extraction_attempts", sa.SmallInteger(), server_default="0", nullable=False
        ),
        sa.Column("domain_extraction_lease_token", sa.Uuid(), nullable=True),
        sa.Column("domain_extraction_lease_expires_at", MOMENT, nullable=True),
        sa.Column("domain_extraction_worker_id", sa.Uuid(), nullable=True),
        sa.Column("domain_extraction_error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "business_status IN ('operational', 'closed_temporarily', 'closed_permanently', 'future_opening')",
            name=op.f("ck_local_businesses_business_status"),
        ),
        sa.CheckConstraint(
            "domain_extraction_status IN ('Completed', 'Error', 'New', 'Processing', 'Queued')",
            name=op.f("ck_local_businesses_domain_extraction_status"),
        ),
        sa.CheckConstraint(
            "status IN ('New', 'Selected', 'Maybe', 'Not a Fit', 'Archived')",
            name=op.f("ck_local_businesses_status"),
        ),
        sa.CheckConstraint(
            "website_kind IN ('own', 'profile', 'directory', 'marketplace', 'site_builder', 'unusable', 'none')",
            name=op.f("ck_local_businesses_website_kind"),
        ),
        sa.CheckConstraint(
            "latitude BETWEEN -90 AND 90 AND longitude BETWEEN -180 AND 180",
            name=op.f("ck_local_businesses_coordinates"),
        ),
        sa.ForeignKeyConstraint(
            ["created_by"], ["users.id"], name=op.f("fk_local_businesses_created_by")
        ),
        sa.ForeignKeyConstraint(
            ["domain_id"],
            ["domains.id"],
            name=op.f("fk_local_businesses_domain_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["place_id"],
            ["places.id"],
            name=op.f("fk_local_businesses_place_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_local_businesses_tenant_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_local_businesses")),
        sa.UniqueConstraint("place_id", name=op.f("uq_local_businesses_place_id")),
        postgresql_with={"fillfactor": 80},
    )
    op.create_foreign_key(
        op.f("fk_places_local_business_id"),
        "places",
        "local_businesses",
        ["local_business_id"],
        ["id"],
        ondelete="SET NULL",
    )
    op.create_index(
        "ix_local_businesses_cells", "local_businesses", ["tenant_id", "cell"], unique=False
    )
    op.create_index(
        "ix_local_businesses_created_at",
        "local_businesses",
        ["tenant_id", "created_at", "id"],
        unique=False,
    )
    op.create_index(
        "ix_local_businesses_domain_extraction_due",
        "local_businesses",
        ["domain_extraction_due_at", "id"],
        unique=False,
        postgresql_where=sa.text("domain_extraction_status = 'Queued'"),
    )
    op.create_index(
        "ix_local_businesses_domain_extraction_failed",
        "local_businesses",
        ["id"],
        unique=False,
        postgresql_where=sa.text("domain_extraction_status = 'Error'"),
    )
    op.create_index(
        "ix_local_businesses_domain_extraction_held",
        "local_businesses",
        ["domain_extraction_worker_id"],
        unique=False,
        postgresql_where=sa.text("domain_extraction_status = 'Processing'"),
    )
    op.create_index(
        "ix_local_businesses_domain_id", "local_businesses", ["domain_id"], unique=False
    )
    op.create_index(
        "ix_local_businesses_name_key", "local_businesses", ["tenant_id", "name_key"], unique=False
    )
    op.create_index(
        "ix_local_businesses_phone", "local_businesses", ["tenant_id", "phone"], unique=False
    )
    op.create_index(
        "ix_local_businesses_site_key", "local_businesses", ["tenant_id", "site_key"], unique=False
    )
    op.create_table(
        "search_places",
        sa.Column("search_id", sa.Uuid(), nullable=False),
        sa.Column("place_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("tile", sa.Text(), server_default="", nullable=False),
        sa.Column("fits", sa.Boolean(), server_default="true", nullable=False),
        sa.Column("sighted", sa.Text(), nullable=False),
        sa.Column("changes", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("seen_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "sighted IN ('new', 'changed', 'same')", name=op.f("ck_search_places_sighted")
        ),
        sa.ForeignKeyConstraint(
            ["place_id"], ["places.id"], name=op.f("fk_search_places_place_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["search_id"], ["jobs.id"], name=op.f("fk_search_places_search_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_search_places_tenant_id")
        ),
        sa.PrimaryKeyConstraint("search_id", "place_id", name=op.f("pk_search_places")),
    )
    op.create_index("ix_search_places_place_id", "search_places", ["place_id"], unique=False)
    op.create_table(
        "business_sightings",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("business_id", sa.Uuid(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("source_key", sa.Text(), nullable=False),
        sa.Column("place_id", sa.Uuid(), nullable=True),
        sa.Column("domain_id", sa.Uuid(), nullable=True),
        sa.Column("facts", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("matched_by", sa.Text(), nullable=False),
        sa.Column("score", sa.Float(), server_default="1", nullable=False),
        sa.Column("why", sa.Text(), nullable=True),
        sa.Column("first_seen_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("last_seen_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "matched_by IN ('first', 'place_id', 'moved', 'domain', 'phone', 'name_and_distance', 'person')",
            name=op.f("ck_business_sightings_matched_by"),
        ),
        sa.CheckConstraint(
            "provider IN ('google', 'osm', 'csv', 'site')",
            name=op.f("ck_business_sightings_provider"),
        ),
        sa.ForeignKeyConstraint(
            ["business_id"],
            ["local_businesses.id"],
            name=op.f("fk_business_sightings_business_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["domain_id"],
            ["domains.id"],
            name=op.f("fk_business_sightings_domain_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["place_id"],
            ["places.id"],
            name=op.f("fk_business_sightings_place_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_business_sightings_tenant_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_business_sightings")),
        sa.UniqueConstraint(
            "tenant_id",
            "provider",
            "source_key",
            name=op.f("uq_business_sightings_tenant_id_provider_source_key"),
        ),
    )
    op.create_index(
        "ix_business_sightings_business_id", "business_sightings", ["business_id"], unique=False
    )
    op.create_index(
        "ix_business_sightings_domain_id", "business_sightings", ["domain_id"], unique=False
    )
    op.create_index(
        "ix_business_sightings_place_id", "business_sightings", ["place_id"], unique=False
    )
    op.create_table(
        "merge_candidates",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("left_id", sa.Uuid(), nullable=False),
        sa.Column("right_id", sa.Uuid(), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("reasons", sa.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("state", sa.Text(), server_default="open", nullable=False),
        sa.Column("decided_by", sa.Uuid(), nullable=True),
        sa.Column("decided_at", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "state IN ('open', 'merged', 'apart')", name=op.f("ck_merge_candidates_state")
        ),
        sa.CheckConstraint("left_id < right_id", name=op.f("ck_merge_candidates_once")),
        sa.ForeignKeyConstraint(
            ["decided_by"], ["users.id"], name=op.f("fk_merge_candidates_decided_by")
        ),
        sa.ForeignKeyConstraint(
            ["left_id"],
            ["local_businesses.id"],
            name=op.f("fk_merge_candidates_left_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["right_id"],
            ["local_businesses.id"],
            name=op.f("fk_merge_candidates_right_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_merge_candidates_tenant_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_merge_candidates")),
        sa.UniqueConstraint(
            "left_id", "right_id", name=op.f("uq_merge_candidates_left_id_right_id")
        ),
    )
    op.create_index(
        "ix_merge_candidates_created_at",
        "merge_candidates",
        ["tenant_id", "created_at", "id"],
        unique=False,
    )
    op.create_index(
        "ix_merge_candidates_open",
        "merge_candidates",
        ["tenant_id"],
        unique=False,
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_index("ix_merge_candidates_right_id", "merge_candidates", ["right_id"], unique=False)
    op.add_column("domains", sa.Column("local_business_id", sa.Uuid(), nullable=True))
    op.create_index("ix_domains_local_business_id", "domains", ["local_business_id"], unique=False)
    op.create_index(
        "ix_domains_with_warning",
        "domains",
        ["tenant_id"],
        unique=False,
        postgresql_where=sa.text("scan_warning IS NOT NULL"),
    )
    op.create_foreign_key(
        op.f("fk_domains_local_business_id"),
        "domains",
        "local_businesses",
        ["local_business_id"],
        ["id"],
        ondelete="SET NULL",
    )
    op.add_column("leads", sa.Column("local_business_id", sa.Uuid(), nullable=True))
    op.add_column(
        "leads", sa.Column("businesses", sa.Integer(), server_default="0", nullable=False)
    )
    op.add_column("leads", sa.Column("completed_at", MOMENT, nullable=True))
    op.add_column("leads", sa.Column("phone_from", sa.Text(), nullable=True))
    op.create_index(
        "ix_leads_incomplete",
        "leads",
        ["id"],
        unique=False,
        postgresql_where=sa.text("completed_at IS NULL"),
    )
    op.create_index("ix_leads_local_business_id", "leads", ["local_business_id"], unique=False)
    op.create_index(
        "ix_leads_without_domain",
        "leads",
        ["local_business_id"],
        unique=True,
        postgresql_where=sa.text("domain_id IS NULL"),
    )
    op.create_foreign_key(
        op.f("fk_leads_local_business_id"),
        "leads",
        "local_businesses",
        ["local_business_id"],
        ["id"],
        ondelete="CASCADE",
    )


def downgrade() -> None:
    op.drop_constraint(op.f("fk_leads_local_business_id"), "leads", type_="foreignkey")
    op.drop_index(
        "ix_leads_without_domain", table_name="leads", postgresql_where=sa.text("domain_id IS NULL")
    )
    op.drop_index("ix_leads_local_business_id", table_name="leads")
    op.drop_index(
        "ix_leads_incomplete", table_name="leads", postgresql_where=sa.text("completed_at IS NULL")
    )
    op.drop_column("leads", "phone_from")
    op.drop_column("leads", "completed_at")
    op.drop_column("leads", "businesses")
    op.drop_column("leads", "local_business_id")
    op.drop_constraint(op.f("fk_domains_local_business_id"), "domains", type_="foreignkey")
    op.drop_index(
        "ix_domains_with_warning",
        table_name="domains",
        postgresql_where=sa.text("scan_warning IS NOT NULL"),
    )
    op.drop_index("ix_domains_local_business_id", table_name="domains")
    op.drop_column("domains", "local_business_id")
    op.drop_index("ix_merge_candidates_right_id", table_name="merge_candidates")
    op.drop_index(
        "ix_merge_candidates_open",
        table_name="merge_candidates",
        postgresql_where=sa.text("state = 'open'"),
    )
    op.drop_index("ix_merge_candidates_created_at", table_name="merge_candidates")
    op.drop_table("merge_candidates")
    op.drop_index("ix_business_sightings_place_id", table_name="business_sightings")
    op.drop_index("ix_business_sightings_domain_id", table_name="business_sightings")
    op.drop_index("ix_business_sightings_business_id", table_name="business_sightings")
    op.drop_table("business_sightings")
    op.drop_index("ix_search_places_place_id", table_name="search_places")
    op.drop_table("search_places")
    op.drop_index("ix_local_businesses_site_key", table_name="local_businesses")
    op.drop_index("ix_local_businesses_phone", table_name="local_businesses")
    op.drop_index("ix_local_businesses_name_key", table_name="local_businesses")
    op.drop_index("ix_local_businesses_domain_id", table_name="local_businesses")
    op.drop_index(
        "ix_local_businesses_domain_extraction_held",
        table_name="local_businesses",
        postgresql_where=sa.text("domain_extraction_status = 'Processing'"),
    )
    op.drop_index(
        "ix_local_businesses_domain_extraction_failed",
        table_name="local_businesses",
        postgresql_where=sa.text("domain_extraction_status = 'Error'"),
    )
    op.drop_index(
        "ix_local_businesses_domain_extraction_due",
        table_name="local_businesses",
        postgresql_where=sa.text("domain_extraction_status = 'Queued'"),
    )
    op.drop_index("ix_local_businesses_created_at", table_name="local_businesses")
    op.drop_index("ix_local_businesses_cells", table_name="local_businesses")
    op.drop_constraint(op.f("fk_places_local_business_id"), "places", type_="foreignkey")
    op.drop_table("local_businesses")
    op.drop_index("ix_cost_entries_search_id", table_name="cost_entries")
    op.drop_index("ix_cost_entries_asked_at", table_name="cost_entries")
    op.drop_table("cost_entries")
    op.drop_table("search_tiles")
    op.drop_index(
        "ix_saved_searches_next_run_at",
        table_name="saved_searches",
        postgresql_where=sa.text("is_active"),
    )
    op.drop_table("saved_searches")
    op.drop_index("ix_places_local_business_id", table_name="places")
    op.drop_index(
        "ix_places_deep_scan_held",
        table_name="places",
        postgresql_where=sa.text("deep_scan_status = 'Processing'"),
    )
    op.drop_index(
        "ix_places_deep_scan_failed",
        table_name="places",
        postgresql_where=sa.text("deep_scan_status = 'Error'"),
    )
    op.drop_index(
        "ix_places_deep_scan_due",
        table_name="places",
        postgresql_where=sa.text("deep_scan_status = 'Queued'"),
    )
    op.drop_index("ix_places_created_at", table_name="places")
    op.drop_table("places")
    op.drop_table("budgets")
    op.drop_table("cost_months")
    op.drop_table("provider_pauses")
    op.drop_table("provider_days")
    op.drop_table("geocoded_areas")
    op.drop_table("cost_meters")
