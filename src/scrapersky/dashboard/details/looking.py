"""What several detail pages show: what happened to a row, its open dead letter, people's names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.live import Looked, Parts, View
from scrapersky.dashboard.rendering import render
from scrapersky.errors import NotFound
from scrapersky.models import User
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState, StageEvent

EVENTS_SHOWN = 15


async def events_of(session: AsyncSession, stage: str, row_id: UUID) -> Sequence[StageEvent]:
    """Newest first. The row was shown to be the reader's own before."""
    found = await session.scalars(
        select(StageEvent)
        .where(StageEvent.row_id == row_id, StageEvent.stage == stage)
        .order_by(StageEvent.id.desc())
        .limit(EVENTS_SHOWN)
    )
    return found.all()


async def open_letter(session: AsyncSession, stage: str, row_id: UUID) -> UUID | None:
    found: UUID | None = await session.scalar(
        select(DeadLetter.id).where(
            DeadLetter.stage == stage,
            DeadLetter.row_id == row_id,
            DeadLetter.state == DeadLetterState.OPEN,
        )
    )
    return found


async def names_of(session: AsyncSession, people: Collection[UUID | None]) -> dict[UUID, str]:
    wanted = [each for each in set(people) if each is not None]
    if not wanted:
        return {}
    found = await session.execute(select(User.id, User.name).where(User.id.in_(wanted)))
    return dict(found.all())


def unless_gone(parts: View, head: str) -> View:
    """Where the row was deleted while it was looked at, the page's head says so."""

    async def parts_or_gone(looked: Looked) -> Parts:
        try:
            return await parts(looked)
        except NotFound:
            return {head: render("details/gone.html", {})}

    return parts_or_gone


def subject_of(looked: Looked) -> UUID:
    """The row the page is about."""
    try:
        return UUID(looked.subject)
    except ValueError:
        raise NotFound("This stream names no row.") from None


def is_as_before(looked: Looked, stamp: Any) -> bool:
    """Whether the last look of the same stream saw the same; the first one never did."""
    state = looked.show.request.state
    before = getattr(state, "seen_before", None)
    state.seen_before = stamp
    return bool(before == stamp)
