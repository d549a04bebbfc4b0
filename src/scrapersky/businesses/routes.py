"""Businesses: list, look, decide, split."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from scrapersky.businesses import service
from scrapersky.businesses.exporting import EXPORT
from scrapersky.businesses.listing import BUSINESSES, CURATION
from scrapersky.businesses.schemas import BusinessDetail, BusinessOut
from scrapersky.entities.merging import split
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists import Asked, Listed, curation_routes, export_routes

router = APIRouter(
    prefix="/local-businesses", tags=["businesses"], responses=problem_responses(401, 403, 422)
)
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))


@router.get("", summary="Businesses, newest first")
async def list_businesses(
    actor: Viewer, session: Reading, asked: Annotated[Asked, Depends(BUSINESSES.asked)]
) -> Listed[BusinessOut]:
    """One row each, however many providers, lists and sites told us of it."""
    return (await BUSINESSES.show(session, actor, asked)).listed(BusinessOut.model_validate)


@router.get("/{business_id}", summary="One business", responses=problem_responses(404))
async def get_business(actor: Viewer, session: Reading, business_id: UUID) -> BusinessDetail:
    """With all who told us of it, the searches that found it, its site, its lead and whatever may
    be the same business."""
    return await service.detail(session, await service.business_of(session, actor, business_id))


@router.post(
    "/{business_id}/sightings/{sighting_id}/split",
    summary="Make a business of its own of a sighting",
    responses=problem_responses(404, 409),
)
async def split_off(
    actor: Curator, session: Transaction, business_id: UUID, sighting_id: UUID
) -> BusinessOut:
    """The answer is the new business. The two are kept apart from then on, whatever providers
    say."""
    return BusinessOut.model_validate(await split(session, actor, business_id, sighting_id))
