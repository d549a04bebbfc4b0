"""What clients asked for and may poll."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Float, ForeignKey, Index, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, Timestamps, uuid7
from scrapersky.models.ownership import Owned
from scrapersky.pipeline.queue import Words, queued

CANCELLED = "cancelled"
JOB_WORDS = Words(
    queued="pending",
    processing="processing",
    done="complete",
    failed="failed",
    cancelled=CANCELLED,
)
SITEMAPS_COUNT = "sitemaps_count"
"""In the result of a sitemap job: how many sitemaps it came across; `sitemaps` lists the first."""
ACTIVE = text("status IN ('pending', 'processing')")


class JobType(StrEnum):
    SITEMAP = "sitemap"
    PLACE_SEARCH = "place_search"


@queued("status", words=JOB_WORDS, order=["job_type", "priority"])
class Job(Base, Timestamps, Owned):
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
            postgresql_where=ACTIVE,
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
