"""URLs load with fewer indexes, are listed once per domain, and children are asked for again.

The new columns have constant defaults, so that no row is rewritten. Making the natural key the
primary one builds its index anew, about ten seconds for ten million rows, in which scans wait.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

NATURAL_KEY = ["sitemap_id", "url_digest"]


def upgrade() -> None:
    op.add_column(
        "sitemap_files", sa.Column("last_asked_at", sa.DateTime(timezone=True), nullable=True)
    )
    op.add_column(
        "sitemap_urls",
        sa.Column("may_repeat", sa.Boolean(), server_default="true", nullable=False),
    )
    op.drop_constraint(op.f("pk_sitemap_urls"), "sitemap_urls", type_="primary")
    op.drop_constraint(
        op.f("uq_sitemap_urls_sitemap_id_url_digest"), "sitemap_urls", type_="unique"
    )
    op.create_primary_key(op.f("pk_sitemap_urls"), "sitemap_urls", NATURAL_KEY)
    op.drop_index("ix_sitemap_urls_first_seen", table_name="sitemap_urls", postgresql_using="brin")
    op.create_index(
        "ix_sitemap_urls_first_seen",
        "sitemap_urls",
        ["sitemap_id", "first_seen"],
        unique=False,
        postgresql_with={"deduplicate_items": "off"},
    )


def downgrade() -> None:
    op.drop_index("ix_sitemap_urls_first_seen", table_name="sitemap_urls")
    op.create_index(
        "ix_sitemap_urls_first_seen",
        "sitemap_urls",
        ["first_seen"],
        unique=False,
        postgresql_using="brin",
    )
    op.drop_constraint(op.f("pk_sitemap_urls"), "sitemap_urls", type_="primary")
    op.create_unique_constraint(
        op.f("uq_sitemap_urls_sitemap_id_url_digest"), "sitemap_urls", NATURAL_KEY
    )
    op.create_primary_key(op.f("pk_sitemap_urls"), "sitemap_urls", ["id"])
    op.drop_column("sitemap_urls", "may_repeat")
    op.drop_column("sitemap_files", "last_asked_at")
