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
"""Key in the result of a sitemap job: the number of sitemaps found. `sitemaps` lists only the first
ones.
"""
IS_ACTIVE_SQL = text("status IN ('pending', 'processing')")


class JobType(StrEnum):
    SITEMAP = "sitemap"
    PLACE_SEARCH = "place_search"


@declare_queue("status", words=JOB_STATUSES, order=["job_type", "priority"])
class Job(Base, TimestampMixin, OwnedMixin):
    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint("progress >= 0 AND progress <= 1", name="progress"),
        # At most one active job per subject: a repeated request returns the active one.
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
    """What the job is about, in normalized form."""
    priority: Mapped[int] = mapped_column(SmallInteger, server_default="5")
    """Lower runs first: 1 for requests that people wait for, 5 for those of the schedulers."""
    params: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """The request's parameters. Never overwritten by results."""
    progress: Mapped[float] = mapped_column(Float, server_default="0")
    phase: Mapped[str | None]
    """Current phase, for progress display."""
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
    """An executed request and its response."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (Index("ix_idempotency_keys_expires_at", "expires_at"),)

    tenant_id: Mapped[UUID] = mapped_column(
        ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True
    )
    key: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[bytes]
    """Digest of method, path and body. A key may only be reused for the same request."""
    status: Mapped[int] = mapped_column(SmallInteger)
    headers: Mapped[dict[str, Any]]
    body: Mapped[bytes | None]
    """Null if the response contains a secret and must not be stored."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class Batch(Base, TimestampMixin, OwnedMixin):
    """A list of domains submitted together."""

    __tablename__ = "batches"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    max_pages: Mapped[int]
    accepted: Mapped[int] = mapped_column(Integer)
    rejected: Mapped[int] = mapped_column(Integer)


class BatchJob(Base):
    """One domain of a batch with the job that scans it.

    The job may have been created by another request.
    """

    __tablename__ = "batch_jobs"
    __table_args__ = (Index("ix_batch_jobs_job_id", "job_id"),)

    batch_id: Mapped[UUID] = mapped_column(
        ForeignKey("batches.id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    """Position in the submitted list, which is the display order."""
    domain: Mapped[str]
    job_id: Mapped[UUID | None] = mapped_column(ForeignKey("jobs.id", ondelete="SET NULL"))
    """Null once the job was deleted. The row stays as a record of the request."""
    already_active: Mapped[bool]
