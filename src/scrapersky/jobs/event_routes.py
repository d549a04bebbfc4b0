"""Watch a job."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Request, Response

from scrapersky.http.auth import Viewer, identify_again
from scrapersky.http.context import Context, Reading
from scrapersky.http.errors import problem_responses
from scrapersky.http.event_stream import EventStream
from scrapersky.jobs import service as job_service
from scrapersky.jobs.events import events_of, watch_of
from scrapersky.jobs.watching import Snapshot

router = APIRouter(prefix="/jobs", tags=["jobs"], responses=problem_responses(401, 403, 422))

STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: `job` with the whole job as JSON, at once and after "
        "every change; `end` with its last status, after which the stream is closed.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
    204: {"description": "The job has ended, and `Last-Event-ID` is of its last event."},
}


@router.get(
    "/{job_id}/events",
    summary="A job's changes as they happen",
    status_code=200,
    response_class=EventStream,
    responses={**STREAMED, **problem_responses(404)},
)
async def events(
    actor: Viewer,
    context: Context,
    session: Reading,
    request: Request,
    job_id: UUID,
    last_event_id: Annotated[
        str | None, Header(description="The last one received; only what is newer is sent.")
    ] = None,
) -> Response:
    """It does not matter which process works the job. Changes that follow each other quickly may
    come as one event. A lost connection is taken up again with `Last-Event-ID`, as browsers do by
    themselves."""
    now = Snapshot.of(await job_service.get(session, actor, job_id))
    if now.is_last and now.id == last_event_id:
        return Response(status_code=204)

    async def still_allowed() -> bool:
        return await identify_again(request, context) is not None

    return events_of(
        watch_of(request, context),
        job_id,
        after=last_event_id,
        settings=context.settings,
        stopping=context.stopping,
        still_allowed=still_allowed,
    )
