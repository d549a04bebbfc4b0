"""What is kept of requests themselves: answers to repeat, and lists asked for at once."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, Integer, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, Timestamps, uuid7
from scrapersky.models.ownership import OfTenant, Owned


class IdempotencyKey(Base, OfTenant):
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


class Batch(Base, Timestamps, Owned):
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
