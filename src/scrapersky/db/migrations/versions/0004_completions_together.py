"""Rows completed together share one event: an event each was most of what a completion cost."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.alter_column("stage_events", "row_id", nullable=True)
    op.alter_column("stage_events", "attempt", nullable=True)
    op.add_column(
        "stage_events", sa.Column("rows", sa.Integer(), server_default="1", nullable=False)
    )
    op.add_column("stage_events", sa.Column("durations_ms", sa.ARRAY(sa.Integer()), nullable=True))
    op.drop_column("stage_events", "duration_ms")


def downgrade() -> None:
    op.add_column("stage_events", sa.Column("duration_ms", sa.Integer(), nullable=True))
    op.drop_column("stage_events", "durations_ms")
    op.drop_column("stage_events", "rows")
    op.execute("DELETE FROM stage_events WHERE row_id IS NULL OR attempt IS NULL")
    op.alter_column("stage_events", "attempt", nullable=False)
    op.alter_column("stage_events", "row_id", nullable=False)
