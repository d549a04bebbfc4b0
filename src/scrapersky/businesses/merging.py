"""Pairs that may be one business, with both sides for whoever decides."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.merge_listing import MERGE_CANDIDATES
from scrapersky.businesses.merge_schemas import MergeCandidateOut, Side
from scrapersky.businesses.schemas import BusinessOut
from scrapersky.errors import NotFound
from scrapersky.http.lists import Asked, Listed
from scrapersky.models import Actor, BusinessSighting, LocalBusiness, MergeCandidate


async def list_candidates(
    session: AsyncSession, actor: Actor, asked: Asked
) -> Listed[MergeCandidateOut]:
    shown = await MERGE_CANDIDATES.show(session, actor, asked)
    sides = await _sides(session, shown.rows)
    return shown.listed(lambda each: _out(each, sides))


async def candidate_of(
    session: AsyncSession, actor: Actor, candidate_id: UUID
) -> MergeCandidateOut:
    found = await session.scalar(
        select(MergeCandidate).where(
            MergeCandidate.id == candidate_id, MergeCandidate.tenant_id == actor.tenant_id
        )
    )
    if found is None:
        raise NotFound(f"There is no merge candidate {candidate_id}.")
    return _out(found, await _sides(session, [found]))


async def _sides(
    session: AsyncSession, candidates: Sequence[MergeCandidate]
) -> Mapping[UUID, Side]:
    ids = {id_ for each in candidates for id_ in (each.left_id, each.right_id)}
    told_by = await _told_by(session, ids)
    rows = await session.scalars(select(LocalBusiness).where(LocalBusiness.id.in_(ids)))
    return {each.id: _side(each, told_by.get(each.id, [])) for each in rows}


async def _told_by(session: AsyncSession, ids: Collection[UUID]) -> Mapping[UUID, list[str]]:
    found = await session.execute(
        select(BusinessSighting.business_id, BusinessSighting.provider)
        .where(BusinessSighting.business_id.in_(ids))
        .distinct()
    )
    told: dict[UUID, list[str]] = {}
    for business_id, provider in found:
        told.setdefault(business_id, []).append(provider)
    return told


def _side(business: LocalBusiness, told_by: Sequence[str]) -> Side:
    known = BusinessOut.model_validate(business).model_dump()
    return Side(**known, told_by=sorted(told_by))


def _out(candidate: MergeCandidate, sides: Mapping[UUID, Side]) -> MergeCandidateOut:
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
