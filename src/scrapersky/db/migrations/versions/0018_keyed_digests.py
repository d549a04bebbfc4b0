"""Digests of erased values are keyed.

Only the column is added here: the key is not in the database, so digests are re-keyed by the
program when it starts (`db/erasure_key.py`). Until then they are recognised as they are.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("suppressions", sa.Column("key_id", sa.Text(), nullable=True))
    op.create_index(
        "ix_suppressions_erased",
        "suppressions",
        ["tenant_id", "key_id"],
        unique=False,
        postgresql_where=sa.text("value IS NULL"),
    )


def downgrade() -> None:
    op.drop_index(
        "ix_suppressions_erased",
        table_name="suppressions",
        postgresql_where=sa.text("value IS NULL"),
    )
    op.drop_column("suppressions", "key_id")
