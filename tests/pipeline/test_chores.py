"""Housekeeping happens once, however many processes there are."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

import pytest

from scrapersky.db.session import Database
from scrapersky.pipeline import scheduler
from scrapersky.pipeline.chores import Chore, doing_chores, list_chore_failures, take_slot
from scrapersky.pipeline.scheduler import running_scheduler
from scrapersky.pipeline.tables import ChoreFailure
from scrapersky.settings import Settings
from tests.waiting import PATIENCE_SECONDS


async def nothing(database: Database, settings: Settings) -> None:
    return None


async def test_of_many_processes_one_gets_the_slot(database: Database) -> None:
    chore = Chore(name="tidy", does="Tidies.", every=timedelta(days=1), run=nothing)
    got = await asyncio.gather(*(take_slot(database, chore, uuid4()) for _ in range(10)))
    assert sorted(got) == [False] * 9 + [True]


async def test_the_next_slot_is_free_again(database: Database) -> None:
    chore = Chore(name="tidy", does="Tidies.", every=timedelta(milliseconds=50), run=nothing)
    assert await take_slot(database, chore, None)
    await asyncio.sleep(0.06)
    assert await take_slot(database, chore, None)


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
    async with running_scheduler(database, settings, [], [chore]):
        [failure] = await failures_when(database, failing=True)
        moody.fails = False
        await failures_when(database, failing=False)

    assert (failure.name, failure.error) == ("moody", "OSError: no luck")


async def test_a_process_without_a_scheduler_records_failures_too(
    database: Database, settings: Settings
) -> None:
    moody = Moody()
    async with doing_chores(database, settings, [moody.every(timedelta(seconds=0.2))]):
        await failures_when(database, failing=True)
        moody.fails = False
        await failures_when(database, failing=False)


async def test_a_rare_chore_that_failed_is_tried_again_in_its_slot(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "RETRY_CHORE_SECONDS", 0.05)
    moody = Moody()
    async with running_scheduler(database, settings, [], [moody.every(timedelta(days=1))]):
        await failures_when(database, failing=True)
        moody.fails = False
        await failures_when(database, failing=False)
    assert moody.runs >= 2
