"""What a site is, read from its home page: a queue of its own beside that of its sitemaps.

Sites that were known before wait in it like new ones. New columns have constant defaults, so that
no row of a busy table is rewritten.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "domains", sa.Column("metadata_read_at", sa.DateTime(timezone=True), nullable=True)
    )
    op.add_column("domains", sa.Column("site_state", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("site_state_reason", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("redirects_to", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("title", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("description", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("language", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("favicon_url", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("logo_url", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("cms", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("cms_version", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("is_wordpress", sa.Boolean(), nullable=True))
    op.add_column("domains", sa.Column("wordpress_version", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("has_elementor", sa.Boolean(), nullable=True))
    op.add_column("domains", sa.Column("site_builder", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("shop_system", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("tech_stack", JSONB(), server_default="[]", nullable=False))
    op.add_column(
        "domains",
        sa.Column("email_addresses", sa.ARRAY(sa.Text()), server_default="{}", nullable=False),
    )
    op.add_column(
        "domains",
        sa.Column("phone_numbers", sa.ARRAY(sa.Text()), server_default="{}", nullable=False),
    )
    op.add_column(
        "domains",
        sa.Column("social_links", sa.ARRAY(sa.Text()), server_default="{}", nullable=False),
    )
    op.add_column("domains", sa.Column("has_contact_form", sa.Boolean(), nullable=True))
    op.add_column("domains", sa.Column("meta_json", JSONB(), server_default="{}", nullable=False))
    op.add_column(
        "domains", sa.Column("status", sa.Text(), server_default="pending", nullable=False)
    )
    op.add_column(
        "domains",
        sa.Column(
            "due_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
    )
    op.add_column(
        "domains", sa.Column("attempts", sa.SmallInteger(), server_default="0", nullable=False)
    )
    op.add_column("domains", sa.Column("lease_token", sa.Uuid(), nullable=True))
    op.add_column(
        "domains", sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True)
    )
    op.add_column("domains", sa.Column("worker_id", sa.Uuid(), nullable=True))
    op.add_column("domains", sa.Column("error", sa.Text(), nullable=True))
    op.create_index(
        "ix_domains_due",
        "domains",
        ["due_at", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.create_index(
        "ix_domains_failed",
        "domains",
        ["id"],
        unique=False,
        postgresql_where=sa.text("status = 'error'"),
    )
    op.create_index(
        "ix_domains_held",
        "domains",
        ["worker_id"],
        unique=False,
        postgresql_where=sa.text("status = 'processing'"),
    )
    op.create_check_constraint(
        op.f("ck_domains_status"),
        "domains",
        "status IN ('completed', 'error', 'new', 'pending', 'processing')",
    )
    op.create_check_constraint(
        op.f("ck_domains_site_state"),
        "domains",
        "site_state IN ('ok', 'parked', 'redirected', 'blocked', 'disallowed', 'javascript_only', 'under_construction', 'empty', 'dead')",
    )


def downgrade() -> None:
    op.drop_constraint(op.f("ck_domains_site_state"), "domains", type_="check")
    op.drop_constraint(op.f("ck_domains_status"), "domains", type_="check")
    op.drop_index(
        "ix_domains_held", table_name="domains", postgresql_where=sa.text("status = 'processing'")
    )
    op.drop_index(
        "ix_domains_failed", table_name="domains", postgresql_where=sa.text("status = 'error'")
    )
    op.drop_index(
        "ix_domains_due", table_name="domains", postgresql_where=sa.text("status = 'pending'")
    )
    op.drop_column("domains", "error")
    op.drop_column("domains", "worker_id")
    op.drop_column("domains", "lease_expires_at")
    op.drop_column("domains", "lease_token")
    op.drop_column("domains", "attempts")
    op.drop_column("domains", "due_at")
    op.drop_column("domains", "status")
    op.drop_column("domains", "meta_json")
    op.drop_column("domains", "has_contact_form")
    op.drop_column("domains", "social_links")
    op.drop_column("domains", "phone_numbers")
    op.drop_column("domains", "email_addresses")
    op.drop_column("domains", "tech_stack")
    op.drop_column("domains", "shop_system")
    op.drop_column("domains", "site_builder")
    op.drop_column("domains", "has_elementor")
    op.drop_column("domains", "wordpress_version")
    op.drop_column("domains", "is_wordpress")
    op.drop_column("domains", "cms_version")
    op.drop_column("domains", "cms")
    op.drop_column("domains", "logo_url")
    op.drop_column("domains", "favicon_url")
    op.drop_column("domains", "language")
    op.drop_column("domains", "description")
    op.drop_column("domains", "title")
    op.drop_column("domains", "redirects_to")
    op.drop_column("domains", "site_state_reason")
    op.drop_column("domains", "site_state")
    op.drop_column("domains", "metadata_read_at")
