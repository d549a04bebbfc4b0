"""Housekeeping: things done once in a while, by one process, however many there are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.dialects.postgresql import insert

from scrapersky.db.session import Database
from scrapersky.logging import get_logger
from scrapersky.pipeline.tables import ScheduleRun
from scrapersky.settings import Settings

SLOTS_BEGIN = datetime(2000, 1, 1, tzinfo=UTC)
SLOT_SLACK_SECONDS = 0.5
"""So that the clocks of machines that are a little apart agree on which slot it is."""

log = get_logger(__name__)


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


@asynccontextmanager
async def doing_chores(
    database: Database, settings: Settings, chores: Sequence[Chore]
) -> AsyncIterator[None]:
    """For a process without a scheduler: these chores, for as long as the block lasts."""
    tasks = [asyncio.create_task(_repeat(database, settings, each)) for each in chores]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _repeat(database: Database, settings: Settings, chore: Chore) -> None:
    """At the beginning of each slot. A process that has just started leaves the present one to
    those that were there before: what it has to say can wait until the next."""
    while True:
        await asyncio.sleep(_seconds_to_next_slot(chore.every))
        try:
            if await take_slot(database, chore, None):
                await chore.run(database, settings)
        except Exception as error:
            log.error("chore failed", chore=chore.name, error=str(error), exc_info=error)


def _seconds_to_next_slot(every: timedelta) -> float:
    """By this machine's clock; `take_slot` goes by the database's, so being early does no harm
    and being late by a moment neither."""
    return (every - (datetime.now(UTC) - SLOTS_BEGIN) % every).total_seconds() + SLOT_SLACK_SECONDS
