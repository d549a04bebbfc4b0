"""Jobs: list, look, cancel, retry."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy import select

from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Context, Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.pagination import Cursor, Limit, Page, newest_first
from scrapersky.jobs import service as job_service
from scrapersky.jobs.schemas import JobOut, job_out
from scrapersky.models import Job

router = APIRouter(prefix="/jobs", tags=["jobs"], responses=problem_responses(401, 403, 422))


@router.get("", summary="Jobs, newest first")
async def list_jobs(
    actor: Viewer,
    session: Reading,
    status: Annotated[str | None, Query(examples=["failed"])] = None,
    job_type: Annotated[str | None, Query(examples=["sitemap"])] = None,
    domain_id: UUID | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[JobOut]:
    statement = select(Job).where(Job.tenant_id == actor.tenant_id)
    wanted = {Job.status: status, Job.job_type: job_type, Job.domain_id: domain_id}
    for column, value in wanted.items():
        if value is not None:
            statement = statement.where(column == value)
    rows, following = await newest_first(
        session, statement, at=Job.created_at, key=Job.id, cursor=cursor, limit=limit
    )
    return Page(items=[job_out(job) for job in rows], next_cursor=following)


@router.get("/{job_id}", summary="One job", responses=problem_responses(404))
async def get_job(actor: Viewer, session: Reading, job_id: UUID) -> JobOut:
    return job_out(await job_service.get(session, actor, job_id))


@router.post("/{job_id}/cancel", summary="End a job", responses=problem_responses(404, 409))
async def cancel_job(
    actor: Curator, context: Context, session: Transaction, job_id: UUID
) -> JobOut:
    """A pending job ends at once; the worker of a running one stops at its next chunk or beat.
    What was stored stays."""
    wait = context.settings.rescan_interval
    return job_out(await job_service.cancel(session, actor, job_id, next_scan_in=wait))


@router.post(
    "/{job_id}/retry",
    status_code=202,
    summary="Queue a failed or cancelled job again",
    responses=problem_responses(404, 409),
)
async def retry_job(actor: Curator, context: Context, session: Transaction, job_id: UUID) -> JobOut:
    return job_out(await job_service.retry(session, actor, job_id, context.stages))
