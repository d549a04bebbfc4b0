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


@merge_candidates_router.get("", summary="Pairs that may be one business, newest first")
async def list_merge_candidates(
    actor: Viewer,
    session: Reading,
    asked: Annotated[ListQuery, Depends(MERGE_CANDIDATES.parse_query)],
) -> ListPage[MergeCandidateOut]:
    """With both sides, and what speaks for it and against it. Those that wait for somebody, unless
    another `state` is asked for."""
    return await list_candidates(session, actor, asked)


@merge_candidates_router.get(
    "/{candidate_id}", summary="One pair", responses=problem_responses(404)
)
async def get_merge_candidate(
    actor: Viewer, session: Reading, candidate_id: UUID
) -> MergeCandidateOut:
    return await get_candidate(session, actor, candidate_id)


@merge_candidates_router.post(
    "/{candidate_id}/merge",
    summary="They are one business",
    responses=problem_responses(404, 409),
)
async def merge_candidate(
    actor: Curator, session: Transaction, candidate_id: UUID, wanted: MergeIn
) -> MergedOut:
    """Everything that was known of the one that is given up belongs to the other from now on: who
    told of it, the searches that found it, its site, its lead, and what people decided, unless that
    was decided about the other as well. The pair goes with the one that is given up."""
    kept = await merge_pair(session, actor, candidate_id, keep=wanted.keep)
    return MergedOut(kept_id=kept.id, business=BusinessOut.model_validate(kept))


@merge_candidates_router.post(
    "/{candidate_id}/apart",
    summary="They are two businesses",
    responses=problem_responses(404),
)
async def keep_candidate_apart(
    actor: Curator, session: Transaction, candidate_id: UUID
) -> MergeCandidateOut:
    """Nobody is asked about these two again, unless somebody reopens the question."""
    await keep_apart(session, actor, candidate_id)
    return await get_candidate(session, actor, candidate_id)


@merge_candidates_router.post(
    "/{candidate_id}/reopen",
    summary="Ask again about two that were kept apart",
    responses=problem_responses(404, 409),
)
async def reopen_candidate(
    actor: Curator, session: Transaction, candidate_id: UUID
) -> MergeCandidateOut:
    """The pair waits for somebody to decide, as before; 409 when it was not kept apart."""
    await reopen_pair(session, actor, candidate_id)
    return await get_candidate(session, actor, candidate_id)


router = APIRouter(
    prefix="/local-businesses", tags=["businesses"], responses=problem_responses(401, 403, 422)
)
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))


@router.get("", summary="Businesses, newest first")
async def list_businesses(
    actor: Viewer, session: Reading, asked: Annotated[ListQuery, Depends(BUSINESSES.parse_query)]
) -> ListPage[BusinessOut]:
    """One row each, however many providers, lists and sites told us of it."""
    return (await BUSINESSES.show(session, actor, asked)).to_page(BusinessOut.model_validate)


@router.get("/{business_id}", summary="One business", responses=problem_responses(404))
async def get_business(actor: Viewer, session: Reading, business_id: UUID) -> BusinessDetail:
    """With all who told us of it, the searches that found it, its site, its lead and whatever may
    be the same business."""
    return await service.get_detail(
        session, await service.get_business(session, actor, business_id)
    )


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
    return BusinessOut.model_validate(
        await split_sighting(session, actor, business_id, sighting_id)
    )
