"""Lists and bulk acts at any size: rows that were given up and open dead letters are found by
indexes that hold nothing else, so they are made quickly and cost other rows nothing."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

FAILED = {
    "ix_jobs_failed": ("jobs", "status = 'failed'"),
    "ix_domains_sitemap_analysis_failed": ("domains", "sitemap_analysis_status = 'failed'"),
    "ix_sitemap_files_sitemap_import_failed": ("sitemap_files", "sitemap_import_status = 'Error'"),
}


def upgrade() -> None:
    for name, (table, condition) in FAILED.items():
        op.create_index(name, table, ["id"], postgresql_where=sa.text(condition))
    op.create_index(
        "ix_dead_letters_open_died_at",
        "dead_letters",
        ["tenant_id", "died_at", "id"],
        postgresql_where=sa.text("state = 'open'"),
    )


def downgrade() -> None:
    op.drop_index("ix_dead_letters_open_died_at", table_name="dead_letters")
    for name, (table, _) in FAILED.items():
        op.drop_index(name, table_name=table)
