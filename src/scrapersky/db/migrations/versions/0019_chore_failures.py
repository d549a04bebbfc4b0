"""Chores whose last run failed, so that every process can report them."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "chore_failures",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("failures", sa.Integer(), server_default="1", nullable=False),
        sa.Column("began_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("failed_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_chore_failures")),
    )


def downgrade() -> None:
    op.drop_table("chore_failures")
