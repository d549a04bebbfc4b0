"""Routes of scan batches."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Response

from scrapersky.errors import InvalidInput
from scrapersky.http.application import Context
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.body_limits import LargeBodyRoute
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists.cursor import CursorParam, LimitParam
from scrapersky.sitemaps.batches import list_batch_members, load_batch_progress, request_batch
from scrapersky.sitemaps.schemas import BatchIn, BatchOut, BatchStatus, batch_out, batch_status

MAX_POSITION = 2**31 - 1

router = APIRouter(
    route_class=LargeBodyRoute,
    prefix="/sitemap/batch",
    tags=["sitemaps"],
    responses=problem_responses(401, 403, 422),
)


@router.post(
    "/create",
    status_code=202,
    summary="Start a batch of scans",
    responses=problem_responses(400, 415),
    response_model_exclude_none=True,
)
async def create(
    actor: Curator, context: Context, session: Transaction, body: BatchIn, response: Response
) -> BatchOut:
    """Scan the sitemaps of many domains. Returns immediately once the jobs are stored. Invalid
    lines are reported and the others are stored. A domain that is already being scanned keeps
    its job, which then counts for this batch too.
    """
    requested = await request_batch(session, actor, context.settings, body.domains, body.max_pages)
    answer = batch_out(requested)
    response.headers["Location"] = answer.status_url
    return answer


@router.get(
    "/status/{batch_id}",
    summary="Get a batch",
    responses=problem_responses(404),
)
async def status(
    actor: Viewer,
    session: Reading,
    batch_id: UUID,
    cursor: CursorParam = None,
    limit: LimitParam = 100,
) -> BatchStatus:
    """Return the batch's progress and its domains, in the order of the request."""
    progress = await load_batch_progress(session, actor, batch_id)
    after = _parse_position(cursor)
    members = await list_batch_members(session, batch_id, after=after, limit=limit + 1)
    return batch_status(progress, members, limit=limit)


def _parse_position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 10:
        raise InvalidInput("Invalid cursor. Start without one.")
    return min(int(cursor), MAX_POSITION)
