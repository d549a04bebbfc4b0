"""Housekeeping: things done once in a while, by one process, however many there are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func
from sqlalchemy.dialects.postgresql import insert

from scrapersky.db.session import Database
from scrapersky.pipeline.tables import ScheduleRun
from scrapersky.pipeline.workers import forget_silent
from scrapersky.settings import Settings

SLOTS_BEGIN = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Chore:
    """Something to be done once in every slot of time, across all processes."""

    name: str
    does: str
    every: timedelta
    run: Callable[[Database, Settings], Awaitable[Any]]


async def take_slot(database: Database, chore: Chore, worker_id: UUID | None) -> bool:
    """True for the one process that may do the chore in the present slot."""
    slot = func.date_bin(chore.every, func.now(), SLOTS_BEGIN)
    async with database.transaction() as session:
        taken = await session.scalar(
            insert(ScheduleRun)
            .values(name=chore.name, slot=slot, worker_id=worker_id)
            .on_conflict_do_nothing()
            .returning(ScheduleRun.name)
        )
        return taken is not None


async def sweep(database: Database, settings: Settings) -> None:
    """Delete the engine's own leftovers: old slots and long-dead workers."""
    dead_after = timedelta(seconds=settings.worker_dead_after_seconds)
    async with database.transaction() as session:
        yesterday = func.now() - timedelta(days=1)
        await session.execute(delete(ScheduleRun).where(ScheduleRun.started_at < yesterday))
        await forget_silent(session, dead_after=dead_after)


SWEEP = Chore(
    name="sweep",
    does="Delete the engine's own leftovers.",
    every=timedelta(minutes=5),
    run=sweep,
)
