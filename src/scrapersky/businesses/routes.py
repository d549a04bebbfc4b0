"""Routes for businesses and merge candidates: list, get, curate, export, merge and split."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from scrapersky.businesses import service
from scrapersky.businesses.listing import BUSINESSES, CURATION, EXPORT, MERGE_CANDIDATES
from scrapersky.businesses.merge_review import (
    get_candidate,
    keep_apart,
    list_candidates,
    merge_pair,
    reopen_pair,
    split_sighting,
)
from scrapersky.businesses.schemas import (
    BusinessDetail,
    BusinessOut,
    MergeCandidateOut,
    MergedOut,
    MergeIn,
)
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists import ListPage, ListQuery, curation_routes, export_routes

merge_candidates_router = APIRouter(
    prefix="/merge-candidates", tags=["businesses"], responses=problem_responses(401, 403, 422)
)


@merge_candidates_router.get("", summary="List merge candidates")
async def list_merge_candidates(
    actor: Viewer,
    session: Reading,
    query: Annotated[ListQuery, Depends(MERGE_CANDIDATES.parse_query)],
) -> ListPage[MergeCandidateOut]:
    """Return pairs of businesses that may be the same, newest first, with both sides and the
    evidence. Only open pairs are listed unless another `state` is given.
    """
    return await list_candidates(session, actor, query)


@merge_candidates_router.get(
    "/{candidate_id}", summary="Get a merge candidate", responses=problem_responses(404)
)
async def get_merge_candidate(
    actor: Viewer, session: Reading, candidate_id: UUID
) -> MergeCandidateOut:
    return await get_candidate(session, actor, candidate_id)


@merge_candidates_router.post(
    "/{candidate_id}/merge",
    summary="Merge a pair",
    responses=problem_responses(404, 409),
)
async def merge_candidate(
    actor: Curator, session: Transaction, candidate_id: UUID, body: MergeIn
) -> MergedOut:
    """Merge the two businesses. Sightings, searches, site and lead of the other business move to
    the surviving one. Its curation status moves too, unless the surviving one is already
    decided. The pair is deleted with the other business.
    """
    kept = await merge_pair(session, actor, candidate_id, keep=body.keep)
    return MergedOut(kept_id=kept.id, business=BusinessOut.model_validate(kept))


@merge_candidates_router.post(
    "/{candidate_id}/apart",
    summary="Keep apart",
    responses=problem_responses(404),
)
async def keep_candidate_apart(
    actor: Curator, session: Transaction, candidate_id: UUID
) -> MergeCandidateOut:
    """Mark the pair as two different businesses. It is not suggested again unless someone reopens
    it.
    """
    await keep_apart(session, actor, candidate_id)
    return await get_candidate(session, actor, candidate_id)


@merge_candidates_router.post(
    "/{candidate_id}/reopen",
    summary="Reopen a pair",
    responses=problem_responses(404, 409),
)
async def reopen_candidate(
    actor: Curator, session: Transaction, candidate_id: UUID
) -> MergeCandidateOut:
    """Reopen a pair that was kept apart, so that it can be decided again. Returns 409 for any other
    pair.
    """
    await reopen_pair(session, actor, candidate_id)
    return await get_candidate(session, actor, candidate_id)


router = APIRouter(
    prefix="/local-businesses", tags=["businesses"], responses=problem_responses(401, 403, 422)
)
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))


@router.get("", summary="List businesses")
async def list_businesses(
    actor: Viewer, session: Reading, query: Annotated[ListQuery, Depends(BUSINESSES.parse_query)]
) -> ListPage[BusinessOut]:
    """Return one row per business, newest first, regardless of how many providers, imports and
    sites reported it.
    """
    return (await BUSINESSES.show(session, actor, query)).to_page(BusinessOut.model_validate)


@router.get("/{business_id}", summary="Get a business", responses=problem_responses(404))
async def get_business(actor: Viewer, session: Reading, business_id: UUID) -> BusinessDetail:
    """Return a business with its sightings, searches, site, lead and possible duplicates."""
    return await service.get_detail(
        session, await service.get_business(session, actor, business_id)
    )


@router.post(
    "/{business_id}/sightings/{sighting_id}/split",
    summary="Split off a sighting",
    responses=problem_responses(404, 409),
)
async def split_off(
    actor: Curator, session: Transaction, business_id: UUID, sighting_id: UUID
) -> BusinessOut:
    """Move a sighting to a new business and return that business. The two are kept apart from then
    on.
    """
    return BusinessOut.model_validate(
        await split_sighting(session, actor, business_id, sighting_id)
    )
