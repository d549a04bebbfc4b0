"""Webhook endpoints and deliveries."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import ARRAY, ForeignKey, Index, Integer, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, TimestampMixin, uuid7
from scrapersky.models.ownership import OwnedMixin, TenantMixin
from scrapersky.models.sitemaps import build_enum_check
from scrapersky.pipeline.queue import StatusNames, declare_queue

DELIVERY_STATUSES = StatusNames(
    queued="pending",
    processing="processing",
    done="delivered",
    failed="failed",
    skipped="skipped",
)


class WebhookEvent(StrEnum):
    LEAD_COMPLETED = "lead.completed"
    CONTACT_CREATED = "contact.created"
    DOMAIN_COMPLETED = "domain.completed"
    SITEMAP_CHANGED = "sitemap.changed"
    JOB_FINISHED = "job.finished"
    ALERT_FIRED = "alert.fired"
    ALERT_RESOLVED = "alert.resolved"
    TEST = "test"


class WebhookEndpoint(Base, TimestampMixin, OwnedMixin):
    __tablename__ = "webhook_endpoints"
    __table_args__ = (Index("ix_webhook_endpoints_created_at", "tenant_id", "created_at", "id"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    url: Mapped[str]
    secret: Mapped[str]
    """Signs deliveries. Shown once, when the endpoint is created or its secret is rotated."""
    previous_secret: Mapped[str | None]
    previous_secret_expires_at: Mapped[datetime | None]
    """Until then, deliveries are signed with the previous secret too."""
    events: Mapped[list[str]] = mapped_column(ARRAY(Text))
    description: Mapped[str | None]
    is_active: Mapped[bool] = mapped_column(server_default="true")
    failures: Mapped[int] = mapped_column(Integer, server_default="0")
    """Consecutive failed attempts."""
    last_error: Mapped[str | None]
    last_delivery_at: Mapped[datetime | None]
    """When a delivery was last accepted."""


@declare_queue("status", words=DELIVERY_STATUSES, order=["host"])
class WebhookDelivery(Base, TenantMixin):
    """One event for one endpoint, or for the operator. Receivers detect repetitions by its ID."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        build_enum_check("event", *(each.value for each in WebhookEvent)),
        Index("ix_webhook_deliveries_created_at", "tenant_id", "created_at", "id"),
        Index("ix_webhook_deliveries_endpoint_id", "endpoint_id", "created_at"),
        # BRIN: small, for rows inserted in the order of their age. Used to delete old rows.
        Index("ix_webhook_deliveries_age", "created_at", postgresql_using="brin"),
        {"postgresql_with": {"fillfactor": 80}},
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    endpoint_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("webhook_endpoints.id", ondelete="CASCADE")
    )
    """NULL for operator alerts. They are sent to ALERT_WEBHOOK_URL, as it is set at that time."""
    host: Mapped[str] = mapped_column(server_default="")
    """The receiver's host, so that a hanging receiver does not delay others."""
    event: Mapped[str]
    subject_id: Mapped[UUID | None]
    """ID of the lead, contact, domain, job or alert that the event is about."""
    payload: Mapped[dict[str, Any]]
    response_status: Mapped[int | None] = mapped_column(Integer)
    delivered_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())

    if TYPE_CHECKING:
        status: Mapped[str]
        due_at: Mapped[datetime]
        attempts: Mapped[int]
        error: Mapped[str | None]
