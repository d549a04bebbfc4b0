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
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from sqlalchemy import column, func, select
from sqlalchemy.exc import DBAPIError
from structlog.testing import capture_logs

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.errors import SettingsError
from scrapersky.pipeline import scheduler as scheduler_module
from scrapersky.pipeline.claims import get_statements
from scrapersky.pipeline.health import HealthIssueKind
from scrapersky.pipeline.loop import StageRunner, run_job_loop
from scrapersky.pipeline.report import StageReport, report_stage
from scrapersky.pipeline.rescue import Rescuer
from scrapersky.pipeline.scheduler import Scheduler, run_scheduler
from scrapersky.pipeline.stage import AnyStage, Tools
from scrapersky.pipeline.tables import Worker
from scrapersky.pipeline.wake import Wakeups, wake_after_commit
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.settings import Pace, Settings
from scrapersky.stages import STAGES
from tests.noop import NOOP, NoopRow
from tests.stage_cases import prepare
from tests.waiting import PATIENCE_SECONDS

RARELY = Pace(interval_minutes=600, batch_size=10, concurrency=8)


@asynccontextmanager
async def scheduling(
    database: Database, settings: Settings, **changes: Any
) -> AsyncIterator[Scheduler]:
    await prepare(database)
    stage: AnyStage = replace(NOOP, **{"pace": RARELY, **changes})
    async with run_scheduler(database, settings, [stage], []) as scheduler:
        await until(lambda: _idle(scheduler))
        yield scheduler


async def _idle(scheduler: Scheduler) -> bool:
    """The first tick, at the start, is over."""
    runner = scheduler.engine.runner("noop")
    return runner.last_tick is not None and runner.runs == 0


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
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
        async with run_scheduler(database, settings, [NOOP], []):
            pass
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(Worker)) == 0


async def test_a_stop_waits_until_what_it_cancels_has_given_its_connection_back(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepare(database)
    monkeypatch.setattr(scheduler_module, "STOP_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr(scheduler_module, "CANCEL_TIMEOUT_SECONDS", PATIENCE_SECONDS)
    looking = asyncio.Event()

    async def look_slowly(_runner: Any) -> float | None:
        async with database.reading() as session:
            await session.execute(select(1))
            looking.set()
            try:
                await asyncio.sleep(3600)
            finally:
                await asyncio.sleep(0)  # as closing a connection does, it takes a turn of the loop
        return None

    monkeypatch.setattr(StageRunner, "seconds_to_next_due", look_slowly)
    async with run_scheduler(database, settings, [NOOP], []):
        await looking.wait()

    assert database.checked_out() == 0


# What fails is told to the other processes


async def report_of(database: Database, settings: Settings) -> StageReport:
    """As another process sees it."""
    async with database.reading() as session:
        return await report_stage(session, replace(NOOP, pace=RARELY), settings)


async def is_failing(database: Database, settings: Settings, wanted: bool) -> bool:
    return (await report_of(database, settings)).failing is wanted


async def test_a_stage_whose_claim_raises_is_failing_until_a_claim_succeeds(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_module, "RETRY_RUN_SECONDS", 0.05)
    async with scheduling(database, settings) as scheduler:
        runner = scheduler.engine.runner("noop")

        async def refuse(*_arguments: Any) -> list[Any]:
            raise RuntimeError("the claim is refused\nwith details below")

        monkeypatch.setattr(runner, "claim", refuse)
        scheduler.wake("noop")
        await until(lambda: is_failing(database, settings, True))
        [problem] = (await report_of(database, settings)).problems
        monkeypatch.undo()
        await until(lambda: is_failing(database, settings, False))

    assert problem.endswith("RuntimeError: the claim is refused")
    assert scheduler.engine.worker.readable in problem


async def test_a_run_that_goes_on_after_a_failed_claim_is_not_failing(
    database: Database, settings: Settings
) -> None:
    go_on = asyncio.Event()

    async def work(item: UUID, tools: Tools) -> UUID:
        await go_on.wait()
        return item

    async with scheduling(database, settings, work=work) as scheduler:
        runner = scheduler.engine.runner("noop")
        runner.last_error = "RuntimeError: the claim before was refused"
        await add(database)
        await until(lambda: _holds(scheduler, 1))
        error = runner.last_error
        go_on.set()
    assert error is None


async def test_a_stage_that_cannot_store_its_results_is_failing(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scheduling(database, settings) as scheduler:
        settler = scheduler.engine.runner("noop").settler

        async def refuse(*_: Any, **__: Any) -> Any:
            raise RuntimeError("the disk is full")

        monkeypatch.setattr(settler, "_settle_once", refuse)
        await add(database)
        await until(lambda: is_failing(database, settings, True))
        monkeypatch.undo()
        await add(database)
        await until(lambda: is_failing(database, settings, False))


@pytest.mark.parametrize("step", ["add_job", "subscribe"])
async def test_a_stage_that_failed_to_register_is_no_consumer(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    await prepare(database)
    usual = AsyncIOScheduler.add_job

    def refuse(self: Any, *arguments: Any, **named: Any) -> Any:
        if step == "add_job" and named.get("id") != "noop":
            return usual(self, *arguments, **named)
        raise RuntimeError("its trigger is odd")

    monkeypatch.setattr(AsyncIOScheduler if step == "add_job" else Wakeups, step, refuse)
    stage: AnyStage = replace(NOOP, pace=RARELY)
    async with run_scheduler(database, settings, [stage], []) as scheduler:
        await add(database, wake=False)
        report = await report_of(database, settings)
        left = scheduler._ticking.get_job("noop")

    kinds = [each.kind for each in report.troubles]
    assert kinds == [HealthIssueKind.NOT_REGISTERED, HealthIssueKind.NO_CONSUMER]
    assert (report.consumers, left) == (0, None)


# Rescue


async def hold(database: Database, model: Any, **values: Any) -> None:
    """A row in processing whose worker is gone."""
    async with database.transaction() as session:
        row = {"status": "processing", "attempts": 1, "worker_id": uuid7(), **values}
        session.add(model(id=uuid7(), **row))


async def is_queued_again(database: Database) -> bool:
    async with database.reading() as session:
        return await session.scalar(select(NoopRow.status)) == "queued"


async def test_a_worker_of_other_stages_rescues_the_rows_of_all(
    database: Database, settings: Settings
) -> None:
    """One process rescues in each slot; which one must not matter."""
    await prepare(database)
    other: AnyStage = replace(STAGES[0], name="other")
    async with run_scheduler(database, settings, [other], [], known=[NOOP]):
        await hold(database, NoopRow, lease_token=uuid7())
        await until(lambda: is_queued_again(database))


async def test_a_row_set_to_processing_by_hand_is_rescued(
    database: Database, settings: Settings
) -> None:
    await prepare(database)
    await hold(database, NoopRow, worker_id=None)
    rescuer = Rescuer(database, settings, [NOOP], WorkerIdentity())
    assert await rescuer.rescue() == 1
    assert await is_queued_again(database)


async def test_a_stage_that_cannot_be_rescued_keeps_no_other_from_it(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepare(database)
    await hold(database, NoopRow, lease_token=uuid7())
    broken: AnyStage = replace(STAGES[0], name="broken")
    rescuer = Rescuer(database, settings, [broken, NOOP], WorkerIdentity())
    monkeypatch.setattr(get_statements(broken), "lost", select(column("no_such_column")))
    with pytest.raises(DBAPIError, match="no_such_column"):
        await rescuer.rescue()
    assert await is_queued_again(database)


async def test_a_claim_clears_the_error_of_the_attempt_before(
    database: Database, settings: Settings
) -> None:
    go_on = asyncio.Event()

    async def work(item: UUID, tools: Tools) -> UUID:
        await go_on.wait()
        return item

    async with scheduling(database, settings, work=work) as scheduler:
        await add(database, error="It broke the last time.")
        await until(lambda: _holds(scheduler, 1))
        async with database.reading() as session:
            row = await session.scalar(select(NoopRow))
        go_on.set()
    assert row is not None
    assert (row.status, row.error) == ("processing", None)


def test_an_impossible_pace_names_its_variable(settings: Settings) -> None:
    for text in ("0", "-1", "many"):
        bad = settings.model_copy(update={"environ": {"NOOP_BATCH_SIZE": text}})
        with pytest.raises(SettingsError, match="NOOP_BATCH_SIZE"):
            NOOP.get_pace(bad)
