"""A person decides: two businesses are one, or are not, or one was two all along."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.entities.joining import join, prefer
from scrapersky.entities.locking import resolve_alone
from scrapersky.entities.questions import in_order
from scrapersky.entities.sightings import refresh_business, sightings_of
from scrapersky.errors import Conflict, NotFound
from scrapersky.models import Actor, Place, record
from scrapersky.models.businesses import (
    BusinessSighting,
    LocalBusiness,
    MatchedBy,
    MergeCandidate,
    MergeState,
)
from scrapersky.models.places import NOT_QUEUED
from scrapersky.pipeline.bulk_acts import patiently

Side = Literal["left", "right"]
SPLIT_OFF = "A person said that it is a business of its own."


async def merge(
    session: AsyncSession, actor: Actor, candidate_id: UUID, *, keep: Side | None = None
) -> LocalBusiness:
    """Of the two the one that is kept: as the person says, or else the one that was decided about,
    or else the older. Who asks again finds the question gone with the one that was given up."""
    return await patiently(session, lambda: _merge(session, actor, candidate_id, keep))


async def _merge(
    session: AsyncSession, actor: Actor, candidate_id: UUID, keep: Side | None
) -> LocalBusiness:
    question = await _alone_with(session, actor, candidate_id)
    if question.state == MergeState.APART:
        raise Conflict("Somebody decided that these are two businesses.")
    pair = [await session.get_one(LocalBusiness, each) for each in _sides(question)]
    kept, given_up = _chosen(pair, keep)
    details = {
        "kept": str(kept.id),
        "given_up": str(given_up.id),
        "name": kept.business_name,
        "other_name": given_up.business_name,
        "sightings": [str(each.id) for each in await sightings_of(session, given_up.id)],
        "status_before": [kept.status, given_up.status],
    }
    await join(session, keep=kept, give_up=given_up)
    await refresh_business(session, kept, extract=kept.domain_extraction_status != NOT_QUEUED)
    record(session, actor, "merge_candidate.merge", candidate_id, **details)
    return kept


def _chosen(pair: list[LocalBusiness], keep: Side | None) -> tuple[LocalBusiness, LocalBusiness]:
    left, right = pair
    if keep is not None:
        return (left, right) if keep == "left" else (right, left)
    return prefer(left, right)


async def keep_apart(session: AsyncSession, actor: Actor, candidate_id: UUID) -> MergeCandidate:
    """They are two, whatever providers say later."""
    question = await _question(session, actor, candidate_id, lock=True)
    if question.state != MergeState.APART:
        _decide(question, actor)
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


def _decide(question: MergeCandidate, actor: Actor) -> None:
    question.state, question.decided_at = MergeState.APART.value, func.now()
    question.decided_by = actor.user_id


async def split(
    session: AsyncSession, actor: Actor, business_id: UUID, sighting_id: UUID
) -> LocalBusiness:
    """The business that the sighting makes by itself; the two are apart from now on."""
    return await patiently(session, lambda: _split(session, actor, business_id, sighting_id))


async def _split(
    session: AsyncSession, actor: Actor, business_id: UUID, sighting_id: UUID
) -> LocalBusiness:
    await _hold(session, [business_id])
    await resolve_alone(session, actor.tenant_id)
    business = await _business(session, actor, business_id)
    sightings = {each.id: each for each in await sightings_of(session, business_id)}
    sighting = sightings.pop(sighting_id, None)
    if sighting is None:
        raise NotFound(f"Business {business_id} has no sighting {sighting_id}.")
    if not sightings:
        raise Conflict("It is the only sighting of this business: nothing would be left.")
    other = await _part_with(session, actor, business, sighting)
    was_extracted = business.domain_extraction_status != NOT_QUEUED
    await refresh_business(session, business, extract=was_extracted)
    await refresh_business(session, other, extract=was_extracted)
    details = {"sighting": str(sighting_id), "other": str(other.id), "provider": sighting.provider}
    record(session, actor, "local_business.split", business_id, **details)
    return other


async def _part_with(
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
    sighting.business_id, sighting.matched_by = other.id, MatchedBy.PERSON.value
    sighting.score, sighting.why = 1.0, SPLIT_OFF
    if sighting.place_id is not None:
        place = await session.get_one(Place, sighting.place_id)
        place.local_business_id = other.id
    await _apart_from_now_on(session, actor, business, other)
    return other


async def _apart_from_now_on(
    session: AsyncSession, actor: Actor, business: LocalBusiness, other: LocalBusiness
) -> None:
    left, right = in_order(business.id, other.id)
    question = MergeCandidate(
        id=uuid7(), tenant_id=business.tenant_id, left_id=left, right_id=right, score=0.0
    )
    question.reasons = [SPLIT_OFF]
    _decide(question, actor)
    session.add(question)
    await session.flush()


async def _alone_with(session: AsyncSession, actor: Actor, candidate_id: UUID) -> MergeCandidate:
    """The rows that stages claim are locked first, as stages do; then nobody else resolves."""
    question = await _question(session, actor, candidate_id)
    await _hold(session, _sides(question))
    await resolve_alone(session, actor.tenant_id)
    return await _question(session, actor, candidate_id, lock=True)


def _sides(question: MergeCandidate) -> tuple[UUID, UUID]:
    return question.left_id, question.right_id


async def _hold(session: AsyncSession, businesses: Collection[UUID]) -> None:
    await session.execute(
        select(Place.id)
        .where(Place.local_business_id.in_(businesses))
        .order_by(Place.id)
        .with_for_update(key_share=True)
    )


async def _question(
    session: AsyncSession, actor: Actor, candidate_id: UUID, *, lock: bool = False
) -> MergeCandidate:
    wanted = select(MergeCandidate).where(
        MergeCandidate.id == candidate_id, MergeCandidate.tenant_id == actor.tenant_id
    )
    wanted = wanted.with_for_update() if lock else wanted
    found = await session.scalar(wanted.execution_options(populate_existing=True))
    if found is None:
        raise NotFound(f"There is no merge candidate {candidate_id}.")
    return found


async def _business(session: AsyncSession, actor: Actor, business_id: UUID) -> LocalBusiness:
    found = await session.scalar(
        select(LocalBusiness)
        .where(LocalBusiness.id == business_id, LocalBusiness.tenant_id == actor.tenant_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )
    if found is None:
        raise NotFound(f"There is no local business {business_id}.")
    return found
