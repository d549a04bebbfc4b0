"""Jobs: list, look, cancel, retry."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Context, Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists import (
    Asked,
    BulkAsked,
    BulkOut,
    Listed,
    Spread,
    bulk_asked,
    export_routes,
)
from scrapersky.jobs import bulk
from scrapersky.jobs import service as job_service
from scrapersky.jobs.exporting import EXPORT
from scrapersky.jobs.listing import JOBS
from scrapersky.jobs.schemas import JobOut, job_out

router = APIRouter(prefix="/jobs", tags=["jobs"], responses=problem_responses(401, 403, 422))
router.include_router(export_routes(EXPORT))

CANCELLED = bulk_asked(JOBS, "Cancel")
RETRIED = bulk_asked(JOBS, "Retry", more=[Spread])


@router.get("", summary="Jobs, newest first")
async def list_jobs(
    actor: Viewer, session: Reading, asked: Annotated[Asked, Depends(JOBS.asked)]
) -> Listed[JobOut]:
    return (await JOBS.show(session, actor, asked)).listed(job_out)


@router.post("/cancel", summary="End many jobs", responses=problem_responses(400, 409, 415))
async def cancel_jobs(
    actor: Curator,
    context: Context,
    session: Transaction,
    asked: Annotated[BulkAsked, Depends(CANCELLED)],
) -> BulkOut:
    """By ids or by the filters of the list. What was stored stays."""
    return await bulk.cancel_jobs(session, actor, context.stages, asked, context.settings)


@router.post(
    "/retry",
    summary="Queue many failed or cancelled jobs again",
    responses=problem_responses(400, 409, 415),
)
async def retry_jobs(
    actor: Curator,
    context: Context,
    session: Transaction,
    asked: Annotated[BulkAsked, Depends(RETRIED)],
) -> BulkOut:
    """By ids or by the filters of the list. Of several jobs for the same subject the newest is
    queued, and none where one is active."""
    return await bulk.retry_jobs(session, actor, context.stages, asked, context.settings)


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
