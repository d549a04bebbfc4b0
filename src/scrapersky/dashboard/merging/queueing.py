"""The pairs that wait for a person, the likeliest first, and the place of one among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import Actor, MergeCandidate, MergeState


@dataclass(frozen=True)
class Turn:
    """A pair with its neighbours."""

    question: MergeCandidate
    position: int
    total: int
    before: UUID | None
    following: UUID | None


def _open(actor: Actor) -> Select[MergeCandidate]:
    return select(MergeCandidate).where(
        MergeCandidate.tenant_id == actor.tenant_id, MergeCandidate.state == MergeState.OPEN
    )


async def turn_of(session: AsyncSession, actor: Actor, wanted: UUID | None) -> Turn | None:
    """The pair that is wanted; the first one where that waits no more. Nothing where none does."""
    question = await _chosen(session, actor, wanted)
    if question is None:
        return None
    return await _placed(session, actor, question)


async def _chosen(
    session: AsyncSession, actor: Actor, wanted: UUID | None
) -> MergeCandidate | None:
    order = [MergeCandidate.score.desc(), MergeCandidate.id]
    if wanted is not None:
        order.insert(0, (MergeCandidate.id == wanted).desc())
    found: MergeCandidate | None = await session.scalar(_open(actor).order_by(*order).limit(1))
    return found


async def _placed(session: AsyncSession, actor: Actor, question: MergeCandidate) -> Turn:
    earlier, later = _earlier(question), _later(question)
    there = _open(actor)
    previous = _first(there.where(earlier), MergeCandidate.score, MergeCandidate.id.desc())
    following = _first(there.where(later), MergeCandidate.score.desc(), MergeCandidate.id)
    counted = select(
        func.count(),
        func.count().filter(earlier),
        previous.scalar_subquery(),
        following.scalar_subquery(),
    ).where(MergeCandidate.tenant_id == actor.tenant_id, MergeCandidate.state == MergeState.OPEN)
    total, ahead, before, after = (await session.execute(counted)).one()
    return Turn(question, ahead + 1, total, before, after)


def _first(wanted: Select[MergeCandidate], *order: Any) -> Select[UUID]:
    return wanted.with_only_columns(MergeCandidate.id).order_by(*order).limit(1)


def _earlier(question: MergeCandidate) -> ColumnElement[bool]:
    score, key = MergeCandidate.score, MergeCandidate.id
    return or_(score > question.score, and_(score == question.score, key < question.id))


def _later(question: MergeCandidate) -> ColumnElement[bool]:
    score, key = MergeCandidate.score, MergeCandidate.id
    return or_(score < question.score, and_(score == question.score, key > question.id))
