"""Ticks, wake-ups and alarms over a no-op stage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select
from structlog.testing import capture_logs

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.errors import SettingsError
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.scheduler import Scheduler, running_scheduler
from scrapersky.pipeline.stage import AnyStage, Tools
from scrapersky.pipeline.tables import Worker
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.settings import Pace, Settings
from tests.noop import NOOP, NoopRow
from tests.stage_cases import prepare

RARELY = Pace(interval_minutes=600, batch_size=10, concurrency=8)


@asynccontextmanager
async def scheduling(
    database: Database, settings: Settings, **changes: Any
) -> AsyncIterator[Scheduler]:
    await prepare(database)
    stage: AnyStage = replace(NOOP, **{"pace": RARELY, **changes})
    async with running_scheduler(database, settings, [stage], []) as scheduler:
        await until(lambda: _idle(scheduler))
        yield scheduler


async def _idle(scheduler: Scheduler) -> bool:
    """The first tick, at the start, is over."""
    runner = scheduler.engine.runner("noop")
    return runner.last_tick is not None and runner.runs == 0


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not await condition():
            await asyncio.sleep(0.01)


async def add(database: Database, *, wake: bool = True, **facts: Any) -> UUID:
    async with database.transaction() as session:
        row = NoopRow(id=uuid7(), **facts)
        session.add(row)
        if wake:
            wake_after_commit(session, "noop")
        return row.id


async def done(database: Database) -> int:
    async with database.reading() as session:
        counted = select(func.count()).where(NoopRow.status == "done")
        return int(await session.scalar(counted) or 0)


async def test_a_committed_row_is_worked_without_a_tick(
    database: Database, settings: Settings
) -> None:
    async with scheduling(database, settings):
        await add(database)
        await until(lambda: _is_done(database, 1))
    assert await done(database) == 1


async def _is_done(database: Database, wanted: int) -> bool:
    return await done(database) == wanted


async def test_without_a_wake_up_the_tick_finds_the_row(
    database: Database, settings: Settings
) -> None:
    often = replace(RARELY, interval_minutes=0.2 / 60)
    async with scheduling(database, settings, pace=often):
        await add(database, wake=False)
        await until(lambda: _is_done(database, 1))
    assert await done(database) == 1


async def test_a_row_that_waits_for_its_time_is_started_then(
    database: Database, settings: Settings
) -> None:
    async with scheduling(database, settings):
        await add(database, due_at=func.now() + timedelta(seconds=0.5))
        await until(lambda: _is_done(database, 1))
    assert await done(database) == 1


async def test_a_row_that_becomes_due_while_the_run_ends_is_not_left_for_the_next_tick(
    database: Database, settings: Settings
) -> None:
    async with scheduling(database, settings) as scheduler:
        await add(database, wake=False)  # due now, but the run has looked already
        await scheduler._set_alarm(scheduler.engine.runner("noop"))
        await until(lambda: _is_done(database, 1))
    assert await done(database) == 1


async def test_a_wake_up_during_a_run_makes_it_look_again(
    database: Database, settings: Settings
) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    async def work(item: UUID, tools: Tools) -> UUID:
        started.set()
        await go_on.wait()
        return item

    async with scheduling(database, settings, work=work) as scheduler:
        await add(database)
        await started.wait()
        runner = scheduler.engine.runner("noop")
        for _ in range(3):
            await add(database)
        await until(lambda: _holds(scheduler, 4))
        runs = runner.runs
        go_on.set()
        await until(lambda: _is_done(database, 4))
    assert runs == 1


async def _holds(scheduler: Scheduler, rows: int) -> bool:
    return len(scheduler.engine.runner("noop").held) == rows


async def test_a_tick_of_a_full_stage_is_skipped_at_debug(
    database: Database, settings: Settings
) -> None:
    go_on = asyncio.Event()

    async def work(item: UUID, tools: Tools) -> UUID:
        await go_on.wait()
        return item

    async with scheduling(database, settings, work=work) as scheduler:
        await add(database)
        await until(lambda: _holds(scheduler, 1))
        with capture_logs() as logs:
            skipped = await run_job_loop(scheduler.engine.runner("noop"))
        go_on.set()
        await until(lambda: _is_done(database, 1))
    assert skipped is None
    assert [each["log_level"] for each in logs] == ["debug"]


async def test_a_second_start_is_a_warning_and_changes_nothing(
    database: Database, settings: Settings
) -> None:
    async with scheduling(database, settings) as scheduler:
        with capture_logs() as logs:
            await scheduler.start()
        async with database.reading() as session:
            workers = await session.scalar(select(func.count()).select_from(Worker))
    assert [(each["log_level"], workers) for each in logs] == [("warning", 1)]


async def test_a_failed_start_takes_down_what_had_begun(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepare(database)

    def explode(*_: Any) -> None:
        raise RuntimeError("no chores today")

    monkeypatch.setattr(Scheduler, "_register_chore", explode)
    with pytest.raises(RuntimeError, match="no chores today"):
        async with running_scheduler(database, settings, [NOOP], []):
            pass
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(Worker)) == 0


def test_an_impossible_pace_names_its_variable(settings: Settings) -> None:
    for text in ("0", "-1", "many"):
        bad = settings.model_copy(update={"environ": {"NOOP_BATCH_SIZE": text}})
        with pytest.raises(SettingsError, match="NOOP_BATCH_SIZE"):
            NOOP.paced(bad)
