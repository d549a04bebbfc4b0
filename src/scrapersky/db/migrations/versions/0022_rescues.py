"""Rescues and interruptions are counted apart from a row's attempts.

Adding a column with a constant default rewrites nothing. The partial indexes hold no row at first.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

QUEUES = (
    ("jobs", ""),
    ("places", "deep_scan_"),
    ("local_businesses", "domain_extraction_"),
    ("domains", ""),
    ("domains", "sitemap_analysis_"),
    ("sitemap_files", "sitemap_import_"),
    ("pages", "page_processing_"),
    ("webhook_deliveries", ""),
)
COUNTERS = ("rescues", "interruptions")


def upgrade() -> None:
    for table, prefix in QUEUES:
        for counter in COUNTERS:
            column = sa.Column(
                prefix + counter, sa.SmallInteger(), server_default="0", nullable=False
            )
            op.add_column(table, column)
        op.create_index(
            f"ix_{table}_{prefix}isolated",
            table,
            ["id"],
            postgresql_where=sa.text(f"{prefix}rescues >= 2"),
        )


def downgrade() -> None:
    for table, prefix in QUEUES:
        op.drop_index(f"ix_{table}_{prefix}isolated", table_name=table)
        for counter in COUNTERS:
            op.drop_column(table, prefix + counter)
