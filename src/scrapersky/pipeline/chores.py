"""Periodic tasks that run once per time slot across all processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.logging import get_logger
from scrapersky.pipeline.outcome import summarize_error
from scrapersky.pipeline.tables import ChoreFailure, ScheduleRun
from scrapersky.settings import Settings

SLOT_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
SLOT_SLACK_SECONDS = 0.5
"""Delay after the start of a slot.

Machines whose clocks differ slightly then agree on which slot it is.
"""

CLOCK_STEP_TOLERANCE = timedelta(seconds=10)
"""Slots further ahead than this were taken before the database's clock was set back.

NTP makes smaller corrections all the time. These must not make a chore run twice.
"""
SLOT_DEADLINE_SECONDS = 30.0
"""Deadline for claiming a slot and for recording how the chore ended."""
CHORE_DEADLINE_SECONDS = 600.0

log = get_logger(__name__)


@dataclass(frozen=True)
class Chore:
    """A task to run once per time slot, across all processes."""

    name: str
    does: str
    every: timedelta
    run: Callable[[Database, Settings], Awaitable[Any]]


async def claim_slot(database: Database, chore: Chore, worker_id: UUID | None) -> bool:
    """Claim the current slot of a chore. Returns True in exactly one process.

    After the database's clock was set back, the next slots have already been taken, and the chore
    would not run until the clock catches up. Slots ahead of the clock are therefore deleted. The
    comparison uses `clock_timestamp()`, not `now()`, which is the start of the transaction: a
    process that was delayed since then would mistake a slot claimed meanwhile for one in the
    future.
    """
    slot = func.date_bin(chore.every, func.now(), SLOT_EPOCH)
    is_ahead = ScheduleRun.slot > func.clock_timestamp() + CLOCK_STEP_TOLERANCE
    async with database.bounded_transaction(SLOT_DEADLINE_SECONDS) as session:
        await session.execute(delete(ScheduleRun).where(ScheduleRun.name == chore.name, is_ahead))
        claimed = await session.scalar(
            insert(ScheduleRun)
            .values(name=chore.name, slot=slot, worker_id=worker_id)
            .on_conflict_do_nothing()
            .returning(ScheduleRun.name)
        )
        return claimed is not None


async def run_chore(database: Database, settings: Settings, chore: Chore) -> None:
    """Run a chore whose slot this process has claimed, and record whether it failed.

    The record is stored in the database, because the process that answers health checks is often
    not the one that runs the chore.
    """
    try:
        await _run_in_time(database, settings, chore)
        await _clear_failure(database, chore)
    except Exception as error:
        await _record_failure(database, chore, error)
        raise


async def _run_in_time(database: Database, settings: Settings, chore: Chore) -> None:
    try:
        async with asyncio.timeout(CHORE_DEADLINE_SECONDS) as deadline:
            await chore.run(database, settings)
    except TimeoutError as error:
        if not deadline.expired():
            raise
        raise TimeoutError(f"timed out after {CHORE_DEADLINE_SECONDS:g} s") from error


async def _clear_failure(database: Database, chore: Chore) -> None:
    async with database.bounded_transaction(SLOT_DEADLINE_SECONDS) as session:
        await session.execute(delete(ChoreFailure).where(ChoreFailure.name == chore.name))


async def _record_failure(database: Database, chore: Chore, error: Exception) -> None:
    """Record a failure, if possible.

    When the database is away, the chore's own error is the one to raise.
    """
    text = summarize_error(error)
    try:
        async with database.bounded_transaction(SLOT_DEADLINE_SECONDS) as session:
            await session.execute(
                insert(ChoreFailure)
                .values(name=chore.name, error=text)
                .on_conflict_do_update(
                    index_elements=[ChoreFailure.name],
                    set_={
                        "error": text,
                        "failures": ChoreFailure.failures + 1,
                        "failed_at": func.now(),
                    },
                )
            )
    except Exception as unrecorded:
        log.warning("chore failure not recorded", chore=chore.name, error=str(unrecorded))


async def list_chore_failures(session: AsyncSession) -> Sequence[ChoreFailure]:
    """Return the recorded failures, at most one per chore."""
    return (await session.scalars(select(ChoreFailure).order_by(ChoreFailure.name))).all()


@asynccontextmanager
async def run_chores(
    database: Database, settings: Settings, chores: Sequence[Chore]
) -> AsyncIterator[None]:
    """Run chores for the duration of the block, in a process without a scheduler."""
    tasks = [asyncio.create_task(_run_periodically(database, settings, each)) for each in chores]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run_periodically(database: Database, settings: Settings, chore: Chore) -> None:
    """Run a chore at the start of each slot.

    A process that has just started leaves the current slot to those already running.
    """
    while True:
        await asyncio.sleep(seconds_to_next_slot(chore.every))
        try:
            if await claim_slot(database, chore, None):
                await run_chore(database, settings, chore)
        except Exception as error:
            log.error("chore failed", chore=chore.name, error=str(error), exc_info=error)


def seconds_to_next_slot(every: timedelta) -> float:
    """Return the seconds until the next slot, by this machine's clock.

    `claim_slot` uses the database's clock, so being slightly early or late does no harm.
    """
    return (every - (datetime.now(UTC) - SLOT_EPOCH) % every).total_seconds() + SLOT_SLACK_SECONDS
