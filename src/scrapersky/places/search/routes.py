"""Routes of place searches: request, progress, results, changes, repeats and imports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from scrapersky.http.application import Context
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists import ListPage, ListQuery
from scrapersky.lists.cursor import (
    CursorPage,
    CursorParam,
    LimitParam,
    decode_cursor,
    encode_cursor,
)
from scrapersky.lists.imports.routes import csv_import_route
from scrapersky.lists.imports.schemas import JobImportOut
from scrapersky.places.schemas import PlaceOut
from scrapersky.places.search import saved_searches, service
from scrapersky.places.search.changes import (
    ChangePosition,
    PlaceChangeKind,
    find_previous_run,
    list_changes,
)
from scrapersky.places.search.coverage import load_coverage
from scrapersky.places.search.imports import import_places
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
    actor: Curator, context: Context, session: Transaction, body: SearchIn, response: Response
) -> Any:
    """Search for businesses of a type in an area. Returns immediately with the search's ID and its
    estimated cost. While a search is active, the same request returns the same search. It pauses
    when the month's budget is used up, and resumes when the budget is raised or the next month
    begins.
    """
    settings = context.settings
    if body.dry_run:
        expected = await service.estimate(session, actor, settings, body)
        only = DryRunOut(estimate=estimate_out(expected))
        return JSONResponse(only.model_dump(mode="json"), status_code=200)
    job, created, expected = await service.request_search(session, actor, settings, body)
    answer = search_out(job, expected, already_active=not created)
    response.headers["Location"] = answer.status_url
    return answer


@router.get("/searches", summary="List place searches")
async def list_searches(
    actor: Viewer, session: Reading, query: Annotated[ListQuery, Depends(SEARCHES.parse_query)]
) -> ListPage[SearchBrief]:
    return (await SEARCHES.show(session, actor, query)).to_page(search_brief)


@router.get("/search", summary="List place searches (alias)")
async def list_searches_here(
    actor: Viewer, session: Reading, query: Annotated[ListQuery, Depends(SEARCHES.parse_query)]
) -> ListPage[SearchBrief]:
    return (await SEARCHES.show(session, actor, query)).to_page(search_brief)


@router.get("/searches/saved", summary="List saved searches")
async def list_saved_searches(
    actor: Viewer,
    session: Reading,
    query: Annotated[ListQuery, Depends(SAVED_SEARCHES.parse_query)],
) -> ListPage[SavedSearchOut]:
    return (await SAVED_SEARCHES.show(session, actor, query)).to_page(saved_search_out)


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
    after = _decode_position(cursor, _parse_integer, UUID)
    rows = await service.list_places(
        session, job, fits=None if everything else fits, after=after, limit=limit + 1
    )
    shown = rows[:limit]
    last = shown[-1][0] if len(rows) > limit else None
    more = None if last is None else encode_cursor(last.position, last.place_id)
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
    after = _decode_position(cursor, str)
    tiles = await service.list_tiles(
        session, job, after=None if after is None else after[0], limit=limit + 1
    )
    page = tiles[:limit]
    return TilesOut(
        search_id=job.id,
        coverage=coverage_out(await load_coverage(session, job)),
        items=[tile_out(each) for each in page],
        next_cursor=encode_cursor(page[-1].path) if len(tiles) > limit else None,
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
    after: ChangePosition | None = _decode_position(cursor, _parse_integer, _parse_integer, UUID)
    changes = await list_changes(
        session, before, job, kinds=kind or tuple(PlaceChangeKind), after=after, limit=limit + 1
    )
    page = changes[:limit]
    return ChangesOut(
        search_id=job.id,
        items=[
            ChangedPlace(
                kind=each.kind, changes=each.changes, place=PlaceOut.model_validate(each.place)
            )
            for each in page
        ],
        next_cursor=encode_cursor(*page[-1].spot) if len(changes) > limit else None,
        previous_search_id=before.id,
    )


@router.post(
    "/search/{search_id}/repeat",
    summary="Repeat a search every N days",
    responses=problem_responses(400, 404, 415),
)
async def repeat_search(
    actor: Curator, session: Transaction, search_id: UUID, body: RepeatIn
) -> SavedSearchOut:
    job = await service.get_search(session, actor, search_id)
    return saved_search_out(await saved_searches.save_search(session, actor, job, body.every_days))


@router.delete(
    "/search/{search_id}/repeat",
    summary="Stop repeating a search",
    responses=problem_responses(404),
)
async def stop_repeating(actor: Curator, session: Transaction, search_id: UUID) -> SavedSearchOut:
    job = await service.get_search(session, actor, search_id)
    return saved_search_out(await saved_searches.deactivate_search(session, actor, job))


RegionParam = Annotated[
    str | None,
    Query(pattern="^[A-Za-z]{2}$", description="Country of phone numbers without a country code."),
]


def _read_region(context: Context, region: RegionParam = None) -> str | None:
    return region or context.settings.places_region or None


import_router = csv_import_route(
    import_places,
    _read_region,
    prefix="/places",
    tag="places",
    noun="businesses",
    says="Send the file as the request body. Common delimiters and encodings are detected. The "
    "first line names the columns: name, website, phone, email, address, street, city and "
    "similar. Invalid rows are reported and the others are stored. The import is stored as a "
    "search; every row's `job_id` refers to it.",
    example="name,website,phone,city\n"
    "Bakery Berger,https://berger.example,+49 341 123456,Leipzig\n",
    model=JobImportOut,
)


def _decode_position(cursor: str | None, *kinds: Callable[[Any], Any]) -> Any:
    return None if cursor is None else decode_cursor(cursor, *kinds)


def _parse_integer(value: Any) -> int:
    """Refuse numbers beyond PostgreSQL's `integer`."""
    if not -(2**31) <= int(value) < 2**31:
        raise ValueError(value)
    return int(value)
