"""Response bodies of jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from scrapersky.jobs.listing import EXAMPLE_ID, JOBS
from scrapersky.lists import RowSchema
from scrapersky.models import JOB_STATUSES, Job, JobType


class JobOut(RowSchema, columns=JOBS.all_columns):
    """State of a job, read from the database."""

    progress: float = Field(ge=0, le=1, examples=[1.0])
    params: dict[str, Any] = Field(examples=[{"domain": "example.com", "max_pages": 100}])
    result_data: dict[str, Any] | None = None
    error: str | None = None
    next_attempt_at: datetime | None = Field(
        description="When the job is due. Only while it is pending."
    )
    status_url: str = Field(examples=[f"/api/v3/sitemap/status/{EXAMPLE_ID}"])


def job_fields(job: Job) -> dict[str, Any]:
    return {
        **{each.name: each.read(job) for each in JOBS.all_columns if each.api},
        "params": job.params,
        "result_data": job.result_data,
        "next_attempt_at": job.due_at if job.status == JOB_STATUSES.queued else None,
        "status_url": status_url(job),
    }


def job_out(job: Job) -> JobOut:
    return JobOut(**job_fields(job))


def status_url(job: Job) -> str:
    where = "places/search" if job.job_type == JobType.PLACE_SEARCH else "sitemap/status"
    return f"/api/v3/{where}/{job.id}"
