"""Chores run once per slot, however many processes there are."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import func, insert, literal, select

from scrapersky.db.session import Database
from scrapersky.pipeline import chores, scheduler
from scrapersky.pipeline.chores import (
    SLOT_EPOCH,
    Chore,
    claim_slot,
    list_chore_failures,
    run_chores,
)
from scrapersky.pipeline.scheduler import run_scheduler
from scrapersky.pipeline.tables import ChoreFailure, ScheduleRun
from scrapersky.settings import Settings
from tests.waiting import PATIENCE_SECONDS, wait_until


async def nothing(database: Database, settings: Settings) -> None:
    return None


async def test_of_many_processes_one_gets_the_slot(database: Database) -> None:
    chore = Chore(name="tidy", does="Tidies.", every=timedelta(days=1), run=nothing)
    got = await asyncio.gather(*(claim_slot(database, chore, uuid4()) for _ in range(10)))
    assert sorted(got) == [False] * 9 + [True]


async def test_the_next_slot_is_free_again(database: Database) -> None:
    chore = Chore(name="tidy", does="Tidies.", every=timedelta(milliseconds=50), run=nothing)
    assert await claim_slot(database, chore, None)
    await asyncio.sleep(0.06)
    assert await claim_slot(database, chore, None)


async def fill_slots(database: Database, chore: Chore, *, until: timedelta) -> None:
    """Take every slot from now on, as they are left when the database's clock is set back."""
    now = func.date_bin(chore.every, func.now(), SLOT_EPOCH)
    slots = select(literal(chore.name), func.generate_series(now, now + until, chore.every))
    async with database.transaction() as session:
        await session.execute(insert(ScheduleRun).from_select(["name", "slot"], slots))


async def test_a_database_clock_set_back_does_not_stop_a_chore(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chores, "CLOCK_STEP_TOLERANCE", timedelta(0))
    chore = Chore(name="tidy", does="Tidies.", every=timedelta(seconds=1), run=nothing)
    await fill_slots(database, chore, until=timedelta(hours=1))

    await wait_until(lambda: claim_slot(database, chore, None), seconds=600)


async def test_a_clock_corrected_by_seconds_frees_no_slot(database: Database) -> None:
    chore = Chore(name="tidy", does="Tidies.", every=timedelta(seconds=1), run=nothing)
    other = Chore(name="sweep", does="Sweeps.", every=timedelta(seconds=1), run=nothing)
    await fill_slots(database, chore, until=timedelta(seconds=5))
    await fill_slots(database, other, until=timedelta(hours=1))

    await claim_slot(database, chore, None)

    async with database.reading() as session:
        counted = select(ScheduleRun.name, func.count()).group_by(ScheduleRun.name)
        found = {each[0]: each[1] for each in await session.execute(counted)}
    assert found["tidy"] >= 6
    assert found["sweep"] == 3601


@dataclass
class Moody:
    """A chore that fails for as long as it is told to."""

    fails: bool = True
    runs: int = 0

    async def __call__(self, database: Database, settings: Settings) -> None:
        self.runs += 1
        if self.fails:
            raise OSError("no luck\nwith a secret on the second line")

    def every(self, every: timedelta) -> Chore:
        return Chore(name="moody", does="Fails.", every=every, run=self)


async def failures_when(database: Database, *, failing: bool) -> Sequence[ChoreFailure]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with database.reading() as session:
                found = await list_chore_failures(session)
            if bool(found) == failing:
                return found
            await asyncio.sleep(0.02)


async def test_a_chore_that_fails_is_recorded_until_it_succeeds(
    database: Database, settings: Settings
) -> None:
    moody = Moody()
    chore = moody.every(timedelta(seconds=0.2))
    async with run_scheduler(database, settings, [], [chore]):
        [failure] = await failures_when(database, failing=True)
        moody.fails = False
        await failures_when(database, failing=False)

    assert (failure.name, failure.error) == ("moody", "OSError: no luck")


async def test_a_process_without_a_scheduler_records_failures_too(
    database: Database, settings: Settings
) -> None:
    moody = Moody()
    async with run_chores(database, settings, [moody.every(timedelta(seconds=0.2))]):
        await failures_when(database, failing=True)
        moody.fails = False
        await failures_when(database, failing=False)


async def test_a_chore_that_hangs_is_ended_and_recorded_without_a_scheduler_too(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(database: Database, settings: Settings) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(chores, "CHORE_DEADLINE_SECONDS", 0.05)
    chore = Chore(name="tidy", does="Hangs.", every=timedelta(seconds=0.2), run=hang)
    async with run_chores(database, settings, [chore]):
        [failure] = await failures_when(database, failing=True)

    assert (failure.name, failure.error) == ("tidy", "TimeoutError: timed out after 0.05 s")


async def test_a_rare_chore_that_failed_is_tried_again_in_its_slot(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "RETRY_CHORE_SECONDS", 0.05)
    moody = Moody()
    async with run_scheduler(database, settings, [], [moody.every(timedelta(days=1))]):
        await failures_when(database, failing=True)
        moody.fails = False
        await failures_when(database, failing=False)
    assert moody.runs >= 2
