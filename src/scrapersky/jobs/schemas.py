"""Response bodies of jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from scrapersky.models import JOB_STATUSES, Job, JobType

EXAMPLE_ID = "01890f6e-7c2b-7d5a-8c3e-4f5a6b7c8d9e"


class JobOut(BaseModel):
    """State of a job, read from the database."""

    job_id: UUID = Field(examples=[EXAMPLE_ID])
    job_type: str = Field(examples=["sitemap"])
    status: str = Field(examples=["complete"])
    progress: float = Field(ge=0, le=1, examples=[1.0])
    phase: str | None = Field(examples=["done"])
    params: dict[str, Any] = Field(examples=[{"domain": "example.com", "max_pages": 100}])
    result_data: dict[str, Any] | None = None
    error: str | None = None
    attempts: int
    next_attempt_at: datetime | None = Field(
        description="When the job is due. Only while it is pending."
    )
    domain_id: UUID | None
    worker_id: UUID | None = Field(description="Worker that runs the job.")
    created_by: UUID
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    status_url: str = Field(examples=[f"/api/v3/sitemap/status/{EXAMPLE_ID}"])


def job_fields(job: Job) -> dict[str, Any]:
    return {
        "job_id": job.id,
        "job_type": job.job_type,
        "status": job.status,
        "progress": job.progress,
        "phase": job.phase,
        "params": job.params,
        "result_data": job.result_data,
        "error": job.error,
        "attempts": job.attempts,
        "next_attempt_at": job.due_at if job.status == JOB_STATUSES.queued else None,
        "domain_id": job.domain_id,
        "worker_id": job.worker_id,
        "created_by": job.created_by,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "status_url": status_url(job),
    }


def job_out(job: Job) -> JobOut:
    return JobOut(**job_fields(job))


def status_url(job: Job) -> str:
    where = "places/search" if job.job_type == JobType.PLACE_SEARCH else "sitemap/status"
    return f"/api/v3/{where}/{job.id}"
