"""What changed since the last look: new, changed and gone URLs."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("domains", sa.Column("next_scan_why", sa.Text(), nullable=True))
    op.add_column("domains", sa.Column("scan_warning", sa.Text(), nullable=True))
    op.add_column(
        "domains", sa.Column("robots_state", postgresql.JSONB(astext_type=sa.Text()), nullable=True)
    )
    op.add_column(
        "sitemap_files", sa.Column("changed_at", sa.DateTime(timezone=True), nullable=True)
    )
    op.add_column("sitemap_files", sa.Column("gone_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column(
        "sitemap_files", sa.Column("index_lastmod", sa.DateTime(timezone=True), nullable=True)
    )
    op.add_column(
        "sitemap_files", sa.Column("lastmod_kept", sa.Integer(), server_default="0", nullable=False)
    )
    op.add_column(
        "sitemap_files", sa.Column("error_streak", sa.Integer(), server_default="0", nullable=False)
    )
    op.add_column(
        "sitemap_urls", sa.Column("changed_at", sa.DateTime(timezone=True), nullable=True)
    )
    op.create_index(
        "ix_sitemap_urls_changed_at",
        "sitemap_urls",
        ["sitemap_id", "changed_at"],
        unique=False,
        postgresql_where=sa.text("changed_at IS NOT NULL"),
    )
    op.create_index(
        "ix_sitemap_urls_first_seen",
        "sitemap_urls",
        ["first_seen"],
        unique=False,
        postgresql_using="brin",
    )
    op.create_index(
        "ix_sitemap_urls_gone_at",
        "sitemap_urls",
        ["sitemap_id", "gone_at"],
        unique=False,
        postgresql_where=sa.text("gone_at IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index(
        "ix_sitemap_urls_gone_at",
        table_name="sitemap_urls",
        postgresql_where=sa.text("gone_at IS NOT NULL"),
    )
    op.drop_index("ix_sitemap_urls_first_seen", table_name="sitemap_urls", postgresql_using="brin")
    op.drop_index(
        "ix_sitemap_urls_changed_at",
        table_name="sitemap_urls",
        postgresql_where=sa.text("changed_at IS NOT NULL"),
    )
    op.drop_column("sitemap_urls", "changed_at")
    op.drop_column("sitemap_files", "error_streak")
    op.drop_column("sitemap_files", "lastmod_kept")
    op.drop_column("sitemap_files", "index_lastmod")
    op.drop_column("sitemap_files", "gone_at")
    op.drop_column("sitemap_files", "changed_at")
    op.drop_column("domains", "robots_state")
    op.drop_column("domains", "scan_warning")
    op.drop_column("domains", "next_scan_why")
