"""Alerts and their posts, what a process says of its own health, and what retention looks by.

The new column has a constant default, so that no row is rewritten; the two indexes on tables that
were there before hold few of their rows.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column(
        "workers",
        sa.Column(
            "vitals", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False
        ),
    )
    op.create_table(
        "alerts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), server_default="", nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("began_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("cleared_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
    )
    op.create_index(
        "ix_alerts_firing",
        "alerts",
        ["rule", "subject"],
        unique=True,
        postgresql_where=sa.text("cleared_at IS NULL"),
    )
    op.create_index("ix_alerts_began_at", "alerts", ["began_at", "id"])
    op.create_table(
        "alert_posts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("alert_id", sa.Uuid(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("created_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("due_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("ended_at", MOMENT, nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint("event IN ('began', 'cleared')", name=op.f("ck_alert_posts_event")),
        sa.ForeignKeyConstraint(
            ["alert_id"], ["alerts.id"], name=op.f("fk_alert_posts_alert_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_posts")),
    )
    op.create_index(
        "ix_alert_posts_due",
        "alert_posts",
        ["due_at"],
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index("ix_alert_posts_alert_id", "alert_posts", ["alert_id"])
    op.create_index(
        "ix_jobs_finished_at",
        "jobs",
        ["finished_at"],
        postgresql_where=sa.text("finished_at IS NOT NULL"),
    )
    op.create_index(
        "ix_hosts_circuit_open_until",
        "hosts",
        ["circuit_open_until"],
        postgresql_where=sa.text("circuit_open_until IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_hosts_circuit_open_until", table_name="hosts")
    op.drop_index("ix_jobs_finished_at", table_name="jobs")
    op.drop_table("alert_posts")
    op.drop_table("alerts")
    op.drop_column("workers", "vitals")
