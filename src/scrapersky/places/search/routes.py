"""Routes of place searches: request, progress, results, changes, repeats."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from scrapersky.errors import InvalidInput
from scrapersky.http.application import Context
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists import ListPage, ListQuery
from scrapersky.lists.cursor import CursorPage, CursorParam, LimitParam
from scrapersky.places.schemas import PlaceOut
from scrapersky.places.search import saved_searches, service
from scrapersky.places.search.changes import (
    ChangePosition,
    PlaceChangeKind,
    find_previous_run,
    list_changes,
)
from scrapersky.places.search.coverage import load_coverage
from scrapersky.places.search.listing import SAVED_SEARCHES, SEARCHES
from scrapersky.places.search.schemas import (
    CoverageOut,
    DryRunOut,
    RepeatIn,
    SavedSearchOut,
    SearchBrief,
    SearchHitOut,
    SearchIn,
    SearchOut,
    SearchReference,
    SearchStatus,
    TileOut,
    coverage_out,
    estimate_out,
    saved_search_out,
    search_brief,
    search_hit_out,
    search_out,
    search_status,
    tile_out,
)

router = APIRouter(prefix="/places", tags=["places"], responses=problem_responses(401, 403, 422))

DRY_RUN_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"model": DryRunOut, "description": "With `dry_run`: the estimated cost."}
}


class TilesOut(SearchReference, CursorPage[TileOut]):
    """Coverage of the area, with its tiles."""

    coverage: CoverageOut


class ChangedPlace(BaseModel):
    """A place that is new, changed or gone since the previous run."""

    kind: PlaceChangeKind
    changes: dict[str, Any] = {}
    place: PlaceOut


class ChangesOut(SearchReference, CursorPage[ChangedPlace]):
    previous_search_id: UUID | None


@router.post(
    "/search",
    status_code=202,
    summary="Start a place search",
    response_model=SearchOut,
    responses={**DRY_RUN_RESPONSES, **problem_responses(400, 415)},
)
async def search(
    actor: Curator, context: Context, session: Transaction, wanted: SearchIn, response: Response
) -> Any:
    """Search for businesses of a type in an area. Returns immediately with the search's ID and its
    estimated cost. While a search is active, the same request returns the same search. It pauses
    when the month's budget is used up, and resumes when the budget is raised or the next month
    begins.
    """
    settings = context.settings
    if wanted.dry_run:
        expected = await service.estimate(session, actor, settings, wanted)
        only = DryRunOut(estimate=estimate_out(expected))
        return JSONResponse(only.model_dump(mode="json"), status_code=200)
    job, created, expected = await service.request_search(session, actor, settings, wanted)
    answer = search_out(job, expected, already_active=not created)
    response.headers["Location"] = answer.status_url
    return answer


@router.get("/searches", summary="List place searches")
async def list_searches(
    actor: Viewer, session: Reading, asked: Annotated[ListQuery, Depends(SEARCHES.parse_query)]
) -> ListPage[SearchBrief]:
    return (await SEARCHES.show(session, actor, asked)).to_page(search_brief)


@router.get("/search", summary="List place searches (alias)")
async def list_searches_here(
    actor: Viewer, session: Reading, asked: Annotated[ListQuery, Depends(SEARCHES.parse_query)]
) -> ListPage[SearchBrief]:
    return (await SEARCHES.show(session, actor, asked)).to_page(search_brief)


@router.get("/searches/saved", summary="List saved searches")
async def list_saved_searches(
    actor: Viewer,
    session: Reading,
    asked: Annotated[ListQuery, Depends(SAVED_SEARCHES.parse_query)],
) -> ListPage[SavedSearchOut]:
    return (await SAVED_SEARCHES.show(session, actor, asked)).to_page(saved_search_out)


@router.get(
    "/search/{search_id}",
    summary="Get a place search",
    responses=problem_responses(404),
)
async def get_search(actor: Viewer, session: Reading, search_id: UUID) -> SearchStatus:
    job = await service.get_search(session, actor, search_id)
    return search_status(job, await load_coverage(session, job))


@router.get(
    "/search/{search_id}/results",
    summary="List a search's places",
    responses=problem_responses(404),
)
async def get_results(
    actor: Viewer,
    session: Reading,
    search_id: UUID,
    fits: Annotated[
        bool, Query(description="Whether the place passes the search's filters.")
    ] = True,
    everything: Annotated[bool, Query(description="Matching and other places.")] = False,
    cursor: CursorParam = None,
    limit: LimitParam = 100,
) -> CursorPage[SearchHitOut]:
    job = await service.get_search(session, actor, search_id)
    after = _decode_cursor(cursor, int, UUID)
    rows = await service.list_places(
        session, job, fits=None if everything else fits, after=after, limit=limit + 1
    )
    shown = rows[:limit]
    last = shown[-1][0] if len(rows) > limit else None
    more = None if last is None else _encode_cursor(last.position, last.place_id)
    return CursorPage(items=[search_hit_out(*each) for each in shown], next_cursor=more)


@router.get(
    "/search/{search_id}/coverage",
    summary="Get a search's coverage",
    responses=problem_responses(404),
)
async def get_coverage(
    actor: Viewer,
    session: Reading,
    search_id: UUID,
    cursor: CursorParam = None,
    limit: LimitParam = 1000,
) -> TilesOut:
    job = await service.get_search(session, actor, search_id)
    after = _decode_cursor(cursor, str)
    tiles = await service.list_tiles(
        session, job, after=None if after is None else after[0], limit=limit + 1
    )
    shown = tiles[:limit]
    return TilesOut(
        search_id=job.id,
        coverage=coverage_out(await load_coverage(session, job)),
        items=[tile_out(each) for each in shown],
        next_cursor=_encode_cursor(shown[-1].path) if len(tiles) > limit else None,
    )


@router.get(
    "/search/{search_id}/changes",
    summary="List changes since the previous run",
    responses=problem_responses(404),
)
async def get_changes(
    actor: Viewer,
    session: Reading,
    search_id: UUID,
    kind: Annotated[list[PlaceChangeKind] | None, Query()] = None,
    cursor: CursorParam = None,
    limit: LimitParam = 100,
) -> ChangesOut:
    """Return places that are new, changed or gone. Places are reported as gone only if the whole
    area was covered. Empty for a first run.
    """
    job = await service.get_search(session, actor, search_id)
    before = await find_previous_run(session, job)
    if before is None:
        return ChangesOut(search_id=job.id, items=[], next_cursor=None, previous_search_id=None)
    after: ChangePosition | None = _decode_cursor(cursor, int, int, UUID)
    found = await list_changes(
        session, before, job, kinds=kind or tuple(PlaceChangeKind), after=after, limit=limit + 1
    )
    shown = found[:limit]
    return ChangesOut(
        search_id=job.id,
        items=[
            ChangedPlace(
                kind=each.kind, changes=each.changes, place=PlaceOut.model_validate(each.place)
            )
            for each in shown
        ],
        next_cursor=_encode_cursor(*shown[-1].spot) if len(found) > limit else None,
        previous_search_id=before.id,
    )


@router.post(
    "/search/{search_id}/repeat",
    summary="Repeat a search every N days",
    responses=problem_responses(400, 404, 415),
)
async def repeat_search(
    actor: Curator, session: Transaction, search_id: UUID, wanted: RepeatIn
) -> SavedSearchOut:
    job = await service.get_search(session, actor, search_id)
    return saved_search_out(
        await saved_searches.save_search(session, actor, job, wanted.every_days)
    )


@router.delete(
    "/search/{search_id}/repeat",
    summary="Stop repeating a search",
    responses=problem_responses(404),
)
async def stop_repeating(actor: Curator, session: Transaction, search_id: UUID) -> SavedSearchOut:
    job = await service.get_search(session, actor, search_id)
    return saved_search_out(await saved_searches.deactivate_search(session, actor, job))


def _encode_cursor(*spot: Any) -> str:
    plain = json.dumps([str(each) if isinstance(each, UUID) else each for each in spot])
    return base64.urlsafe_b64encode(plain.encode()).decode()


def _decode_cursor(cursor: str | None, *kinds: Any) -> Any:
    if cursor is None:
        return None
    try:
        given = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        spot = tuple(kind(each) for kind, each in zip(kinds, given, strict=True))
    except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error):
        raise InvalidInput("Invalid cursor. Start without one.") from None
    if any(isinstance(each, int) and not -(2**31) <= each < 2**31 for each in spot):
        raise InvalidInput("Invalid cursor. Start without one.")
    return spot
