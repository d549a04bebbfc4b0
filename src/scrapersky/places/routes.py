"""Places: list, look, decide, ask anew."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists import (
    Asked,
    BulkAsked,
    BulkOut,
    Listed,
    bulk_asked,
    curation_routes,
    export_routes,
)
from scrapersky.places import service
from scrapersky.places.exporting import EXPORT
from scrapersky.places.listing import CURATION, PLACES
from scrapersky.places.schemas import PlaceDetail, PlaceOut

router = APIRouter(prefix="/places", tags=["places"], responses=problem_responses(401, 403, 422))
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))

REFRESHED = bulk_asked(PLACES, "Refresh")
Wanted = Annotated[Asked, Depends(PLACES.asked)]


@router.get("", summary="Places, newest first")
async def list_places(actor: Viewer, session: Reading, asked: Wanted) -> Listed[PlaceOut]:
    """Each as one provider knows it; `local_business_id` tells which are the same business."""
    return (await PLACES.show(session, actor, asked)).listed(PlaceOut.model_validate)


@router.get("/staging", summary="Places, newest first, by their older name")
async def list_staged_places(actor: Viewer, session: Reading, asked: Wanted) -> Listed[PlaceOut]:
    return (await PLACES.show(session, actor, asked)).listed(PlaceOut.model_validate)


@router.post(
    "/refresh",
    summary="Ask the provider for many places anew",
    responses=problem_responses(400, 409, 415),
)
async def refresh_places(
    actor: Curator, session: Transaction, asked: Annotated[BulkAsked, Depends(REFRESHED)]
) -> BulkOut:
    """By ids or by the filters of the list, however young their details are. Each is a request
    that costs, within the month's budget; only Google's places can be asked for so."""
    return await service.refresh_many(session, actor, asked)


@router.get("/{place_id}", summary="One place", responses=problem_responses(404))
async def get_place(actor: Viewer, session: Reading, place_id: UUID) -> PlaceDetail:
    """With the searches that found it and the business that it is."""
    return await service.detail(session, await service.place_of(session, actor, place_id))


@router.post(
    "/{place_id}/refresh",
    summary="Ask the provider for a place anew",
    responses=problem_responses(404, 409),
)
async def refresh_place(actor: Curator, session: Transaction, place_id: UUID) -> PlaceOut:
    """However young its details are. It is a request that costs, within the month's budget."""
    return PlaceOut.model_validate(await service.refresh(session, actor, place_id))
