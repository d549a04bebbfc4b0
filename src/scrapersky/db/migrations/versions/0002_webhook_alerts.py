"""Rotated webhook secrets stay valid for a while, and operator alerts are webhook events.

Adding nullable columns rewrites nothing. Replacing the check scans the deliveries once; they are at
most RETENTION_WEBHOOK_DELIVERIES_DAYS old. Posts of alerts that were not accepted yet are dropped
with their table.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002_webhook_alerts"
down_revision = "0001_initial"

EVENTS = (
    "lead.completed",
    "contact.created",
    "domain.completed",
    "sitemap.changed",
    "job.finished",
    "alert.fired",
    "alert.resolved",
    "test",
)


def upgrade() -> None:
    op.add_column("webhook_endpoints", sa.Column("previous_secret", sa.Text()))
    expires_at = sa.Column("previous_secret_expires_at", sa.DateTime(timezone=True))
    op.add_column("webhook_endpoints", expires_at)

    op.alter_column("webhook_deliveries", "endpoint_id", nullable=True)
    check = op.f("ck_webhook_deliveries_event")
    op.drop_constraint(check, "webhook_deliveries")
    op.create_check_constraint(check, "webhook_deliveries", f"event IN {EVENTS}")
    op.drop_table("alert_posts")
