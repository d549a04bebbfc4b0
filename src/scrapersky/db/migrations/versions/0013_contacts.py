"""Contacts with their evidence, leads, whom not to write to, and decisions about many rows that can
be taken back."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bulk_actions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("to_status", sa.Text(), nullable=False),
        sa.Column("details", JSONB(), server_default="{}", nullable=False),
        sa.Column("updated_count", sa.BigInteger(), nullable=False),
        sa.Column("queued_count", sa.BigInteger(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("undone_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_by", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by"], ["users.id"], name=op.f("fk_bulk_actions_created_by")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_bulk_actions_tenant_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bulk_actions")),
    )
    op.create_index(
        "ix_bulk_actions_created_at",
        "bulk_actions",
        ["tenant_id", "created_by", "created_at"],
        unique=False,
    )
    op.create_table(
        "suppressions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=True),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("created_by", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('email', 'domain', 'phone')", name=op.f("ck_suppressions_kind")
        ),
        sa.ForeignKeyConstraint(
            ["created_by"], ["users.id"], name=op.f("fk_suppressions_created_by")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_suppressions_tenant_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suppressions")),
        sa.UniqueConstraint(
            "tenant_id", "kind", "digest", name=op.f("uq_suppressions_tenant_id_kind_digest")
        ),
    )
    op.create_index(
        "ix_suppressions_created_at",
        "suppressions",
        ["tenant_id", "created_at", "id"],
        unique=False,
    )
    op.create_table(
        "bulk_action_rows",
        sa.Column("action_id", sa.Uuid(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("before_status", sa.Text(), nullable=False),
        sa.Column("queue_before", sa.Text(), nullable=True),
        sa.Column("row_ids", sa.ARRAY(sa.Uuid()), nullable=False),
        sa.ForeignKeyConstraint(
            ["action_id"],
            ["bulk_actions.id"],
            name=op.f("fk_bulk_action_rows_action_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("action_id", "part", name=op.f("pk_bulk_action_rows")),
    )
    op.create_table(
        "leads",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("domain_id", sa.Uuid(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("name_from", sa.Text(), nullable=True),
        sa.Column("category", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("phone", sa.Text(), nullable=True),
        sa.Column("website", sa.Text(), nullable=True),
        sa.Column("best_email", sa.Text(), nullable=True),
        sa.Column("best_email_why", sa.Text(), nullable=True),
        sa.Column("other_emails", sa.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("other_phones", sa.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("profiles", sa.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("contacts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("rating", sa.Float(), nullable=True),
        sa.Column("reviews_count", sa.Integer(), nullable=True),
        sa.Column("why_empty", sa.Text(), nullable=True),
        sa.Column("why_empty_detail", sa.Text(), nullable=True),
        sa.Column("stale_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lead_curation_status", sa.Text(), server_default="New", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("created_by", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "lead_curation_status IN ('New', 'Selected', 'Maybe', 'Not a Fit', 'Archived')",
            name=op.f("ck_leads_lead_curation_status"),
        ),
        sa.CheckConstraint(
            "why_empty IN ('not_read_yet', 'no_website', 'does_not_answer', 'parked', 'redirected', 'only_social', 'blocked', 'robots', 'needs_javascript', 'only_a_form', 'nothing_published')",
            name=op.f("ck_leads_why_empty"),
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_leads_created_by")),
        sa.ForeignKeyConstraint(
            ["domain_id"], ["domains.id"], name=op.f("fk_leads_domain_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_leads_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_leads")),
        sa.UniqueConstraint("domain_id", name=op.f("uq_leads_domain_id")),
        postgresql_with={"fillfactor": 80},
    )
    op.create_index("ix_leads_created_at", "leads", ["tenant_id", "created_at", "id"], unique=False)
    op.create_index(
        "ix_leads_stale", "leads", ["id"], postgresql_where=sa.text("stale_since IS NOT NULL")
    )
    op.create_index(
        "ix_leads_waiting",
        "leads",
        ["id"],
        postgresql_where=sa.text("why_empty = 'not_read_yet'"),
    )
    op.create_table(
        "contacts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("domain_id", sa.Uuid(), nullable=False),
        sa.Column("page_id", sa.Uuid(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("raw", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("role", sa.Text(), nullable=True),
        sa.Column("email_type", sa.Text(), nullable=True),
        sa.Column("is_role_address", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("same_site", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("snippet", sa.Text(), nullable=True),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("sightings", sa.Integer(), server_default="1", nullable=False),
        sa.Column(
            "last_seen_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("contact_curation_status", sa.Text(), server_default="New", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("created_by", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "contact_curation_status IN ('New', 'Selected', 'Queued', 'Processing', 'Complete', 'Error', 'Skipped')",
            name=op.f("ck_contacts_contact_curation_status"),
        ),
        sa.CheckConstraint(
            "email_type IN ('SERVICE', 'CORPORATE', 'FREE', 'UNKNOWN')",
            name=op.f("ck_contacts_email_type"),
        ),
        sa.CheckConstraint("kind IN ('email', 'phone', 'social')", name=op.f("ck_contacts_kind")),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_contacts_created_by")),
        sa.ForeignKeyConstraint(
            ["domain_id"], ["domains.id"], name=op.f("fk_contacts_domain_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["page_id"], ["pages.id"], name=op.f("fk_contacts_page_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_contacts_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_contacts")),
        sa.UniqueConstraint(
            "domain_id", "kind", "value", name=op.f("uq_contacts_domain_id_kind_value")
        ),
        postgresql_with={"fillfactor": 80},
    )
    op.create_index(
        "ix_contacts_created_at", "contacts", ["tenant_id", "created_at", "id"], unique=False
    )
    op.create_index("ix_contacts_page_id", "contacts", ["page_id"], unique=False)
    op.create_index("ix_contacts_value", "contacts", ["tenant_id", "value", "id"], unique=False)
    op.create_table(
        "contact_evidence",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("contact_id", sa.Uuid(), nullable=False),
        sa.Column("page_id", sa.Uuid(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("raw", sa.Text(), nullable=True),
        sa.Column("snippet", sa.Text(), nullable=True),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column(
            "first_seen_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column(
            "last_seen_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["contact_id"],
            ["contacts.id"],
            name=op.f("fk_contact_evidence_contact_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["page_id"], ["pages.id"], name=op.f("fk_contact_evidence_page_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_contact_evidence_tenant_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_contact_evidence")),
        sa.UniqueConstraint(
            "contact_id",
            "page_id",
            "method",
            name=op.f("uq_contact_evidence_contact_id_page_id_method"),
        ),
    )
    op.create_index("ix_contact_evidence_page_id", "contact_evidence", ["page_id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_contact_evidence_page_id", table_name="contact_evidence")
    op.drop_table("contact_evidence")
    op.drop_index("ix_contacts_value", table_name="contacts")
    op.drop_index("ix_contacts_page_id", table_name="contacts")
    op.drop_index("ix_contacts_created_at", table_name="contacts")
    op.drop_table("contacts")
    op.drop_index("ix_leads_waiting", table_name="leads")
    op.drop_index("ix_leads_stale", table_name="leads")
    op.drop_index("ix_leads_created_at", table_name="leads")
    op.drop_table("leads")
    op.drop_table("bulk_action_rows")
    op.drop_index("ix_suppressions_created_at", table_name="suppressions")
    op.drop_table("suppressions")
    op.drop_index("ix_bulk_actions_created_at", table_name="bulk_actions")
    op.drop_table("bulk_actions")
