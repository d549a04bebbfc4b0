"""Jobs, batches of jobs, and idempotency keys."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Float, ForeignKey, Index, Integer, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, TimestampMixin, uuid7
from scrapersky.models.ownership import OwnedMixin, TenantMixin
from scrapersky.pipeline.queue import StatusNames, declare_queue

CANCELLED = "cancelled"
JOB_STATUSES = StatusNames(
    queued="pending",
    processing="processing",
    done="complete",
    failed="failed",
    cancelled=CANCELLED,
)
SITEMAPS_COUNT = "sitemaps_count"
"""In the result of a sitemap job: how many sitemaps it came across; `sitemaps` lists the first."""
IS_ACTIVE_SQL = text("status IN ('pending', 'processing')")


class JobType(StrEnum):
    SITEMAP = "sitemap"
    PLACE_SEARCH = "place_search"


@declare_queue("status", words=JOB_STATUSES, order=["job_type", "priority"])
class Job(Base, TimestampMixin, OwnedMixin):
    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint("progress >= 0 AND progress <= 1", name="progress"),
        # Asking again for something that is under way leads to the one under way.
        Index(
            "ix_jobs_active",
            "tenant_id",
            "job_type",
            "subject",
            unique=True,
            postgresql_where=IS_ACTIVE_SQL,
        ),
        Index("ix_jobs_created_at", "tenant_id", "created_at", "id"),
        Index("ix_jobs_domain_id", "domain_id"),
        Index(
            "ix_jobs_finished_at", "finished_at", postgresql_where=text("finished_at IS NOT NULL")
        ),
        {"postgresql_with": {"fillfactor": 80}},
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    job_type: Mapped[str]
    subject: Mapped[str]
    """What the job is about, in one spelling."""
    priority: Mapped[int] = mapped_column(SmallInteger, server_default="5")
    """Lower goes first: what people wait for is asked with 1, what the schedulers ask with 5."""
    params: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """What was asked; never overwritten by results."""
    progress: Mapped[float] = mapped_column(Float, server_default="0")
    phase: Mapped[str | None]
    """What it is doing, for people who watch."""
    result_data: Mapped[dict[str, Any] | None]
    domain_id: Mapped[UUID | None] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"))
    batch_id: Mapped[UUID | None]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]

    if TYPE_CHECKING:
        status: Mapped[str]
        due_at: Mapped[datetime]
        attempts: Mapped[int]
        rescues: Mapped[int]
        lease_token: Mapped[UUID | None]
        lease_expires_at: Mapped[datetime | None]
        worker_id: Mapped[UUID | None]
        error: Mapped[str | None]


class IdempotencyKey(Base, TenantMixin):
    """A request that was carried out, and what it was answered."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (Index("ix_idempotency_keys_expires_at", "expires_at"),)

    tenant_id: Mapped[UUID] = mapped_column(
        ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True
    )
    key: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[bytes]
    """Of method, path and body: the same key means the same request."""
    status: Mapped[int] = mapped_column(SmallInteger)
    headers: Mapped[dict[str, Any]]
    body: Mapped[bytes | None]
    """Nothing where the answer may not be kept, because a secret stands in it."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class Batch(Base, TimestampMixin, OwnedMixin):
    """A list of domains that was asked for at once."""

    __tablename__ = "batches"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    max_pages: Mapped[int]
    accepted: Mapped[int] = mapped_column(Integer)
    rejected: Mapped[int] = mapped_column(Integer)


class BatchJob(Base):
    """One domain of a batch with the job that scans it, whoever asked for that job first."""

    __tablename__ = "batch_jobs"
    __table_args__ = (Index("ix_batch_jobs_job_id", "job_id"),)

    batch_id: Mapped[UUID] = mapped_column(
        ForeignKey("batches.id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    """Where it stood in the list, so that it is shown in the order it was given."""
    domain: Mapped[str]
    job_id: Mapped[UUID | None] = mapped_column(ForeignKey("jobs.id", ondelete="SET NULL"))
    """Nothing once the job was deleted; that it had been asked for stays known."""
    already_active: Mapped[bool]
