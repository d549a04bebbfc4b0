"""Routes to list, inspect, cancel, retry and watch jobs."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Request, Response

from scrapersky.http.application import Context
from scrapersky.http.auth import Curator, Viewer, identify_again
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.event_stream import EventStream
from scrapersky.http.problems import problem_responses
from scrapersky.jobs import bulk
from scrapersky.jobs import service as job_service
from scrapersky.jobs.events import JobSnapshot, get_job_watch, stream_job_events
from scrapersky.jobs.listing import EXPORT, JOBS
from scrapersky.jobs.schemas import JobOut, job_out
from scrapersky.lists import (
    BulkOut,
    BulkRequest,
    ListPage,
    ListQuery,
    SpreadOptions,
    build_bulk_dependency,
    export_routes,
)

event_router = APIRouter(prefix="/jobs", tags=["jobs"], responses=problem_responses(401, 403, 422))

EVENT_STREAM_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: `job` with the whole job as JSON, initially and after "
        "every change; `end` with the final status, after which the stream is closed.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
    204: {"description": "The job has finished and `Last-Event-ID` is its last event."},
}


@event_router.get(
    "/{job_id}/events",
    summary="Stream job events",
    status_code=200,
    response_class=EventStream,
    responses={**EVENT_STREAM_RESPONSES, **problem_responses(404)},
)
async def events(
    actor: Viewer,
    context: Context,
    session: Reading,
    request: Request,
    job_id: UUID,
    last_event_id: Annotated[
        str | None, Header(description="Id of the last event received; only newer ones are sent.")
    ] = None,
) -> Response:
    """Works whichever process runs the job. Changes in quick succession may be sent as one event.
    Reconnect with `Last-Event-ID`, as browsers do automatically.
    """
    now = JobSnapshot.of(await job_service.get(session, actor, job_id))
    if now.is_last and now.id == last_event_id:
        return Response(status_code=204)

    async def still_allowed() -> bool:
        return await identify_again(request, context) is not None

    return stream_job_events(
        get_job_watch(request, context),
        job_id,
        after=last_event_id,
        settings=context.settings,
        stopping=context.stopping,
        still_allowed=still_allowed,
    )


router = APIRouter(prefix="/jobs", tags=["jobs"], responses=problem_responses(401, 403, 422))
router.include_router(export_routes(EXPORT))

CANCEL_REQUEST = build_bulk_dependency(JOBS, "Cancel")
RETRY_REQUEST = build_bulk_dependency(JOBS, "Retry", more=[SpreadOptions])


@router.get("", summary="List jobs")
async def list_jobs(
    actor: Viewer, session: Reading, query: Annotated[ListQuery, Depends(JOBS.parse_query)]
) -> ListPage[JobOut]:
    return (await JOBS.show(session, actor, query)).to_page(job_out)


@router.post("/cancel", summary="Cancel jobs", responses=problem_responses(400, 409, 415))
async def cancel_jobs(
    actor: Curator,
    context: Context,
    session: Transaction,
    bulk_request: Annotated[BulkRequest, Depends(CANCEL_REQUEST)],
) -> BulkOut:
    """Select jobs by id or with the filters of the list. Stored results are kept."""
    return await bulk.cancel_jobs(session, actor, context.stages, bulk_request, context.settings)


@router.post(
    "/retry",
    summary="Retry jobs",
    responses=problem_responses(400, 409, 415),
)
async def retry_jobs(
    actor: Curator,
    context: Context,
    session: Transaction,
    bulk_request: Annotated[BulkRequest, Depends(RETRY_REQUEST)],
) -> BulkOut:
    """Queue failed or cancelled jobs again, selected by id or with the filters of the list. Of
    several jobs for the same subject only the newest is queued, and none if one is active.
    """
    return await bulk.retry_jobs(session, actor, context.stages, bulk_request, context.settings)


@router.get("/{job_id}", summary="Get a job", responses=problem_responses(404))
async def get_job(actor: Viewer, session: Reading, job_id: UUID) -> JobOut:
    return job_out(await job_service.get(session, actor, job_id))


@router.post("/{job_id}/cancel", summary="Cancel a job", responses=problem_responses(404, 409))
async def cancel_job(
    actor: Curator, context: Context, session: Transaction, job_id: UUID
) -> JobOut:
    """A pending job is cancelled immediately; a running one stops at its next chunk or heartbeat.
    Stored results are kept.
    """
    wait = context.settings.rescan_interval
    return job_out(await job_service.cancel(session, actor, job_id, next_scan_in=wait))


@router.post(
    "/{job_id}/retry",
    status_code=202,
    summary="Retry a job",
    responses=problem_responses(404, 409),
)
async def retry_job(actor: Curator, context: Context, session: Transaction, job_id: UUID) -> JobOut:
    return job_out(await job_service.retry(session, actor, job_id, context.stages))
