"""Decide whether two businesses are one."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from scrapersky.businesses.merge_listing import MERGE_CANDIDATES
from scrapersky.businesses.merge_reopening import reopen
from scrapersky.businesses.merge_schemas import MergeCandidateOut, MergedOut, MergeIn
from scrapersky.businesses.merging import candidate_of, list_candidates
from scrapersky.businesses.schemas import BusinessOut
from scrapersky.entities.merging import keep_apart, merge
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists import Asked, Listed

router = APIRouter(
    prefix="/merge-candidates", tags=["businesses"], responses=problem_responses(401, 403, 422)
)


@router.get("", summary="Pairs that may be one business, newest first")
async def list_merge_candidates(
    actor: Viewer, session: Reading, asked: Annotated[Asked, Depends(MERGE_CANDIDATES.asked)]
) -> Listed[MergeCandidateOut]:
    """With both sides, and what speaks for it and against it. Those that wait for somebody, unless
    another `state` is asked for."""
    return await list_candidates(session, actor, asked)


@router.get("/{candidate_id}", summary="One pair", responses=problem_responses(404))
async def get_merge_candidate(
    actor: Viewer, session: Reading, candidate_id: UUID
) -> MergeCandidateOut:
    return await candidate_of(session, actor, candidate_id)


@router.post(
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
    kept = await merge(session, actor, candidate_id, keep=wanted.keep)
    return MergedOut(kept_id=kept.id, business=BusinessOut.model_validate(kept))


@router.post(
    "/{candidate_id}/apart",
    summary="They are two businesses",
    responses=problem_responses(404),
)
async def keep_candidate_apart(
    actor: Curator, session: Transaction, candidate_id: UUID
) -> MergeCandidateOut:
    """Nobody is asked about these two again, unless somebody reopens the question."""
    await keep_apart(session, actor, candidate_id)
    return await candidate_of(session, actor, candidate_id)


@router.post(
    "/{candidate_id}/reopen",
    summary="Ask again about two that were kept apart",
    responses=problem_responses(404, 409),
)
async def reopen_candidate(
    actor: Curator, session: Transaction, candidate_id: UUID
) -> MergeCandidateOut:
    """The pair waits for somebody to decide, as before; 409 when it was not kept apart."""
    await reopen(session, actor, candidate_id)
    return await candidate_of(session, actor, candidate_id)
