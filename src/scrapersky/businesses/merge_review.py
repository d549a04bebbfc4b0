"""Merge review: list candidate pairs, merge, keep apart, reopen and split."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.candidates import order_pair
from scrapersky.businesses.listing import MERGE_CANDIDATES
from scrapersky.businesses.merge import choose_survivor, merge_businesses
from scrapersky.businesses.resolution import load_sightings, lock_resolution, refresh_business
from scrapersky.businesses.schemas import BusinessOut, MergeCandidateOut, MergeSide
from scrapersky.db.base import uuid7
from scrapersky.errors import Conflict, NotFound
from scrapersky.lists import ListPage, ListQuery
from scrapersky.models import (
    Actor,
    BusinessSighting,
    LocalBusiness,
    MergeCandidate,
    MergeState,
    Place,
    record,
)
from scrapersky.models.businesses import MatchReason
from scrapersky.models.places import NOT_QUEUED
from scrapersky.pipeline.bulk import retry_on_conflict


async def reopen_pair(session: AsyncSession, actor: Actor, candidate_id: UUID) -> None:
    """Reopen a pair that was kept apart. It can again be merged by a user, or automatically once a
    sighting makes the match certain.
    """
    pair = await _lock_pair(session, actor, candidate_id)
    if pair.state != MergeState.APART:
        raise Conflict(
            f"This pair is {pair.state}, not kept apart. Only pairs that were kept apart can be"
            " reopened; decide about it in merge review."
        )
    details = {
        "left": str(pair.left_id),
        "right": str(pair.right_id),
        "apart_by": str(pair.decided_by) if pair.decided_by else None,
        "apart_since": pair.decided_at.isoformat() if pair.decided_at else None,
    }
    pair.state, pair.decided_by, pair.decided_at = MergeState.OPEN.value, None, None
    record(session, actor, "merge_candidate.reopen", candidate_id, **details)
    await session.flush()


async def _lock_pair(session: AsyncSession, actor: Actor, candidate_id: UUID) -> MergeCandidate:
    """Lock the pair. A concurrent merge with a third business locks its pairs too, and then moves
    or deletes them.
    """
    pair = await session.scalar(
        select(MergeCandidate)
        .where(MergeCandidate.id == candidate_id, MergeCandidate.tenant_id == actor.tenant_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    if pair is None:
        raise NotFound(
            f"There is no merge candidate {candidate_id}. One of its businesses may have been"
            " merged; to undo that, split its sighting off the remaining business."
        )
    return pair


async def list_candidates(
    session: AsyncSession, actor: Actor, query: ListQuery
) -> ListPage[MergeCandidateOut]:
    page = await MERGE_CANDIDATES.show(session, actor, query)
    sides = await _load_sides(session, page.rows)
    return page.to_page(lambda each: _build_candidate_out(each, sides))


async def get_candidate(
    session: AsyncSession, actor: Actor, candidate_id: UUID
) -> MergeCandidateOut:
    candidate = await session.scalar(
        select(MergeCandidate).where(
            MergeCandidate.id == candidate_id, MergeCandidate.tenant_id == actor.tenant_id
        )
    )
    if candidate is None:
        raise NotFound(f"There is no merge candidate {candidate_id}.")
    return _build_candidate_out(candidate, await _load_sides(session, [candidate]))


async def _load_sides(
    session: AsyncSession, candidates: Sequence[MergeCandidate]
) -> Mapping[UUID, MergeSide]:
    ids = {id_ for each in candidates for id_ in (each.left_id, each.right_id)}
    told_by = await _load_providers(session, ids)
    rows = await session.scalars(select(LocalBusiness).where(LocalBusiness.id.in_(ids)))
    return {each.id: _build_side(each, told_by.get(each.id, [])) for each in rows}


async def _load_providers(session: AsyncSession, ids: Collection[UUID]) -> Mapping[UUID, list[str]]:
    result = await session.execute(
        select(BusinessSighting.business_id, BusinessSighting.provider)
        .where(BusinessSighting.business_id.in_(ids))
        .distinct()
    )
    by_business: dict[UUID, list[str]] = {}
    for business_id, provider in result:
        by_business.setdefault(business_id, []).append(provider)
    return by_business


def _build_side(business: LocalBusiness, told_by: Sequence[str]) -> MergeSide:
    known = BusinessOut.model_validate(business).model_dump()
    return MergeSide(**known, told_by=sorted(told_by))


def _build_candidate_out(
    candidate: MergeCandidate, sides: Mapping[UUID, MergeSide]
) -> MergeCandidateOut:
    return MergeCandidateOut(
        id=candidate.id,
        left=sides[candidate.left_id],
        right=sides[candidate.right_id],
        score=candidate.score,
        reasons=candidate.reasons,
        state=candidate.state,
        decided_by=candidate.decided_by,
        decided_at=candidate.decided_at,
        created_at=candidate.created_at,
    )


KeptSide = Literal["left", "right"]
SPLIT_REASON = "Split off by a user."


async def merge_pair(
    session: AsyncSession, actor: Actor, candidate_id: UUID, *, keep: KeptSide | None = None
) -> LocalBusiness:
    """Merge the pair and return the surviving business.

    `keep` chooses the survivor; by default a decided business wins, then the older. The pair is
    deleted with the other business, so that a repeated call raises `NotFound`.
    """
    return await retry_on_conflict(session, lambda: _merge_pair(session, actor, candidate_id, keep))


async def _merge_pair(
    session: AsyncSession, actor: Actor, candidate_id: UUID, keep: KeptSide | None
) -> LocalBusiness:
    question = await _lock_pair_for_merge(session, actor, candidate_id)
    if question.state == MergeState.APART:
        raise Conflict("This pair was kept apart. Reopen it before merging.")
    pair = [await session.get_one(LocalBusiness, each) for each in _get_side_ids(question)]
    kept, given_up = _choose_sides(pair, keep)
    details = {
        "kept": str(kept.id),
        "given_up": str(given_up.id),
        "name": kept.business_name,
        "other_name": given_up.business_name,
        "sightings": [str(each.id) for each in await load_sightings(session, given_up.id)],
        "status_before": [kept.status, given_up.status],
    }
    await merge_businesses(session, keep=kept, give_up=given_up)
    await refresh_business(session, kept, extract=kept.domain_extraction_status != NOT_QUEUED)
    record(session, actor, "merge_candidate.merge", candidate_id, **details)
    return kept


def _choose_sides(
    pair: list[LocalBusiness], keep: KeptSide | None
) -> tuple[LocalBusiness, LocalBusiness]:
    left, right = pair
    if keep is not None:
        return (left, right) if keep == "left" else (right, left)
    return choose_survivor(left, right)


async def keep_apart(session: AsyncSession, actor: Actor, candidate_id: UUID) -> MergeCandidate:
    """Keep the pair apart, regardless of later sightings."""
    question = await _load_pair(session, actor, candidate_id, lock=True)
    if question.state != MergeState.APART:
        _mark_apart(question, actor)
        record(
            session,
            actor,
            "merge_candidate.apart",
            candidate_id,
            left=str(question.left_id),
            right=str(question.right_id),
        )
        await session.flush()
        await session.refresh(question)
    return question


def _mark_apart(question: MergeCandidate, actor: Actor) -> None:
    question.state, question.decided_at = MergeState.APART.value, func.now()
    question.decided_by = actor.user_id


async def split_sighting(
    session: AsyncSession, actor: Actor, business_id: UUID, sighting_id: UUID
) -> LocalBusiness:
    """Move a sighting to a new business and return it. The two are kept apart from then on."""
    return await retry_on_conflict(
        session, lambda: _split_sighting(session, actor, business_id, sighting_id)
    )


async def _split_sighting(
    session: AsyncSession, actor: Actor, business_id: UUID, sighting_id: UUID
) -> LocalBusiness:
    await _lock_places(session, [business_id])
    await lock_resolution(session, actor.tenant_id)
    business = await _lock_business(session, actor, business_id)
    sightings = {each.id: each for each in await load_sightings(session, business_id)}
    sighting = sightings.pop(sighting_id, None)
    if sighting is None:
        raise NotFound(f"Business {business_id} has no sighting {sighting_id}.")
    if not sightings:
        raise Conflict("This is the only sighting of the business and cannot be split off.")
    other = await _create_split_business(session, actor, business, sighting)
    was_extracted = business.domain_extraction_status != NOT_QUEUED
    await refresh_business(session, business, extract=was_extracted)
    await refresh_business(session, other, extract=was_extracted)
    details = {"sighting": str(sighting_id), "other": str(other.id), "provider": sighting.provider}
    record(session, actor, "local_business.split", business_id, **details)
    return other


async def _create_split_business(
    session: AsyncSession, actor: Actor, business: LocalBusiness, sighting: BusinessSighting
) -> LocalBusiness:
    if business.place_id == sighting.place_id:
        business.place_id = None
        await session.flush()
    other = LocalBusiness(
        id=uuid7(),
        tenant_id=business.tenant_id,
        created_by=actor.user_id,
        place_id=sighting.place_id,
    )
    session.add(other)
    await session.flush()
    sighting.business_id, sighting.matched_by = other.id, MatchReason.PERSON.value
    sighting.score, sighting.why = 1.0, SPLIT_REASON
    if sighting.place_id is not None:
        place = await session.get_one(Place, sighting.place_id)
        place.local_business_id = other.id
    await _store_apart_pair(session, actor, business, other)
    return other


async def _store_apart_pair(
    session: AsyncSession, actor: Actor, business: LocalBusiness, other: LocalBusiness
) -> None:
    left, right = order_pair(business.id, other.id)
    question = MergeCandidate(
        id=uuid7(), tenant_id=business.tenant_id, left_id=left, right_id=right, score=0.0
    )
    question.reasons = [SPLIT_REASON]
    _mark_apart(question, actor)
    session.add(question)
    await session.flush()


async def _lock_pair_for_merge(
    session: AsyncSession, actor: Actor, candidate_id: UUID
) -> MergeCandidate:
    """Lock the places first, as stages do when claiming, then take the resolution lock."""
    question = await _load_pair(session, actor, candidate_id)
    await _lock_places(session, _get_side_ids(question))
    await lock_resolution(session, actor.tenant_id)
    return await _load_pair(session, actor, candidate_id, lock=True)


def _get_side_ids(question: MergeCandidate) -> tuple[UUID, UUID]:
    return question.left_id, question.right_id


async def _lock_places(session: AsyncSession, businesses: Collection[UUID]) -> None:
    await session.execute(
        select(Place.id)
        .where(Place.local_business_id.in_(businesses))
        .order_by(Place.id)
        .with_for_update(key_share=True)
    )


async def _load_pair(
    session: AsyncSession, actor: Actor, candidate_id: UUID, *, lock: bool = False
) -> MergeCandidate:
    statement = select(MergeCandidate).where(
        MergeCandidate.id == candidate_id, MergeCandidate.tenant_id == actor.tenant_id
    )
    statement = statement.with_for_update() if lock else statement
    pair = await session.scalar(statement.execution_options(populate_existing=True))
    if pair is None:
        raise NotFound(f"There is no merge candidate {candidate_id}.")
    return pair


async def _lock_business(session: AsyncSession, actor: Actor, business_id: UUID) -> LocalBusiness:
    business = await session.scalar(
        select(LocalBusiness)
        .where(LocalBusiness.id == business_id, LocalBusiness.tenant_id == actor.tenant_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )
    if business is None:
        raise NotFound(f"There is no local business {business_id}.")
    return business
