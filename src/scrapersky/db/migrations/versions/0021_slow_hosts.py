"""Hosts that time out are told apart from others that fail, and slots know when they were taken.

Only columns with constant defaults: no table is rewritten, and nobody waits.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("hosts", sa.Column("timeouts", sa.Integer(), server_default="0", nullable=False))
    op.add_column(
        "hosts", sa.Column("is_proven", sa.Boolean(), server_default="false", nullable=False)
    )
    op.add_column(
        "host_slots",
        sa.Column("taken_at", MOMENT, server_default=sa.text("now()"), nullable=False),
    )


def downgrade() -> None:
    op.drop_column("host_slots", "taken_at")
    op.drop_column("hosts", "is_proven")
    op.drop_column("hosts", "timeouts")
