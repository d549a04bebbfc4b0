"""Routes to list, curate and refresh places."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists import (
    BulkOut,
    BulkRequest,
    ListPage,
    ListQuery,
    build_bulk_dependency,
    curation_routes,
    export_routes,
)
from scrapersky.places import service
from scrapersky.places.listing import CURATION, EXPORT, PLACES
from scrapersky.places.schemas import PlaceDetail, PlaceOut

router = APIRouter(prefix="/places", tags=["places"], responses=problem_responses(401, 403, 422))
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))

REFRESH_REQUEST = build_bulk_dependency(PLACES, "Refresh")
PlaceQueryParams = Annotated[ListQuery, Depends(PLACES.parse_query)]


@router.get("", summary="List places")
async def list_places(
    actor: Viewer, session: Reading, query: PlaceQueryParams
) -> ListPage[PlaceOut]:
    """Return places as their providers report them, newest first. Places with the same
    `local_business_id` are the same business.
    """
    return (await PLACES.show(session, actor, query)).to_page(PlaceOut.model_validate)


@router.get("/staging", summary="List places (alias)")
async def list_staged_places(
    actor: Viewer, session: Reading, query: PlaceQueryParams
) -> ListPage[PlaceOut]:
    return (await PLACES.show(session, actor, query)).to_page(PlaceOut.model_validate)


@router.post(
    "/refresh",
    summary="Refresh places",
    responses=problem_responses(400, 409, 415),
)
async def refresh_places(
    actor: Curator,
    session: Transaction,
    bulk_request: Annotated[BulkRequest, Depends(REFRESH_REQUEST)],
) -> BulkOut:
    """Fetch the details of many places, by IDs or by the list's filters, regardless of their age.
    Each place is a paid request within the month's budget. Only for Google places.
    """
    return await service.refresh_many(session, actor, bulk_request)


@router.get("/{place_id}", summary="Get a place", responses=problem_responses(404))
async def get_place(actor: Viewer, session: Reading, place_id: UUID) -> PlaceDetail:
    """Return a place with its searches and its business."""
    return await service.build_detail(session, await service.get_place(session, actor, place_id))


@router.post(
    "/{place_id}/refresh",
    summary="Refresh a place",
    responses=problem_responses(404, 409),
)
async def refresh_place(actor: Curator, session: Transaction, place_id: UUID) -> PlaceOut:
    """Fetch a place's details, regardless of their age. It is a paid request within the month's
    budget.
    """
    return PlaceOut.model_validate(await service.refresh(session, actor, place_id))
