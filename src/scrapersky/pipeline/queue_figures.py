"""What waits and what is being worked in every stage at once: one statement, a line for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, extract, func, literal, or_, select, true, union_all
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.direct import written_out
from scrapersky.pipeline.claims import claims_of
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState
from scrapersky.settings import Settings


@dataclass(frozen=True)
class QueueFigures:
    """One stage's queue at one moment."""

    stage: str
    now: datetime
    queued: int
    due: int
    oldest_due_seconds: float | None
    oldest_ready_seconds: float | None
    next_due_at: datetime | None
    in_flight: int
    overdue: int
    dead_letters: int


async def queue_figures(
    session: AsyncSession, stages: Sequence[AnyStage], settings: Settings
) -> dict[str, QueueFigures]:
    grace = timedelta(seconds=settings.lease_grace_seconds)
    places = settings.host_concurrency
    found = await session.execute(union_all(*(_of_stage(each, grace, places) for each in stages)))
    return {row.stage: QueueFigures(**_plain(row._mapping)) for row in found}


def _plain(row: Any) -> dict[str, Any]:
    oldest = row["oldest_due_seconds"]
    return {**row, "oldest_due_seconds": None if oldest is None else float(oldest)}


def _of_stage(stage: AnyStage, grace: timedelta, places: int) -> Select[Any]:
    """The two parts have one line each, so that joining them gives one line."""
    waiting, held = _waiting(stage).subquery(), _held(stage, grace).subquery()
    letters = (
        select(func.count())
        .where(
            DeadLetter.stage == literal(stage.name),
            DeadLetter.state == written_out(DeadLetterState.OPEN.value),
        )
        .scalar_subquery()
    )
    return select(
        literal(stage.name).label("stage"),
        func.now().label("now"),
        *waiting.c,
        claims_of(stage).ready_seconds(places).label("oldest_ready_seconds"),
        *held.c,
        letters.label("dead_letters"),
    ).select_from(waiting.join(held, true()))


def _waiting(stage: AnyStage) -> Select[Any]:
    claims, due_at = claims_of(stage), stage.queue.due_at
    is_due = due_at <= func.now()
    oldest = extract("epoch", func.now() - func.min(due_at).filter(is_due))
    columns: Sequence[Any] = (
        func.count().label("queued"),
        func.count().filter(is_due).label("due"),
        oldest.label("oldest_due_seconds"),
        func.min(due_at).filter(~is_due).label("next_due_at"),
    )
    return select(*columns).where(claims.is_queued(), *claims.only())


def _held(stage: AnyStage, grace: timedelta) -> Select[Any]:
    claims, queue = claims_of(stage), stage.queue
    overdue = or_(
        queue.lease_token.is_(None),
        queue.lease_expires_at.is_(None),
        queue.lease_expires_at < func.now() + grace,
    )
    columns: Sequence[Any] = (
        func.count().label("in_flight"),
        func.count().filter(overdue).label("overdue"),
    )
    return select(*columns).where(claims.is_processing(), *claims.only())
