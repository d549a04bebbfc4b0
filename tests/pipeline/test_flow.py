"""A stage follows the pace set by operators and the backpressure of its successors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update
from structlog.testing import capture_logs

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.errors import InvalidInput
from scrapersky.models import DEFAULT_TENANT_ID, Actor, Domain
from scrapersky.operations import service
from scrapersky.pipeline.engine import Engine, run_engine
from scrapersky.pipeline.flow import Valve, build_valve
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.scheduler import run_scheduler
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.vitals import DatabaseClock
from scrapersky.settings import Settings
from scrapersky.sitemaps import submission
from tests.noop import NOOP, NoopRow
from tests.stage_cases import CASES, prepare
from tests.waiting import PATIENCE_SECONDS

MARK = 10
NEXT: AnyStage = replace(submission.STAGE, pace=replace(submission.STAGE.pace, high_water=MARK))
FIRST: AnyStage = replace(NOOP, feeds=(NEXT.name,))


@pytest.fixture
async def engine(database: Database, settings: Settings) -> AsyncIterator[Engine]:
    await prepare(database)
    async with run_engine(database, settings, [FIRST], known=[NEXT]) as running:
        yield running


def fresh_valve(database: Database, settings: Settings) -> Valve:
    return build_valve(FIRST, {NEXT.name: NEXT}, database=database, settings=settings)


async def add_rows(database: Database, count: int) -> None:
    async with database.transaction() as session:
        session.add_all([NoopRow(id=uuid7()) for _ in range(count)])


async def queue_behind(database: Database, count: int) -> None:
    async with database.transaction() as session:
        await CASES[NEXT.name].make_due(session, count)


async def take_away(database: Database, count: int) -> None:
    """As if the stage behind had worked so many."""
    async with database.transaction() as session:
        some = select(Domain.id).where(Domain.sitemap_analysis_status == "queued").limit(count)
        await session.execute(
            update(Domain)
            .where(Domain.id.in_(some))
            .values(sitemap_analysis_status="submitted")
            .execution_options(synchronize_session=False)
        )


def look_again(valve: Valve) -> None:
    """The depth measured a moment ago is not believed any longer."""
    valve._measured_at = float("-inf")


async def found(engine: Engine) -> int:
    runner = engine.runner("noop")
    look_again(runner.valve)
    report = await run_job_loop(runner)
    assert report is not None
    return report.found


async def test_a_stage_claims_nothing_while_what_it_feeds_is_full(
    engine: Engine, database: Database
) -> None:
    await add_rows(database, 5)
    await queue_behind(database, MARK)
    with capture_logs() as logs:
        assert await found(engine) == 0
        assert await found(engine) == 0
    said = [each for each in logs if each["event"] == "stage limited by backpressure"]
    assert len(said) == 1
    assert NEXT.name in said[0]["why"]
    assert engine.state(DatabaseClock(0.0))["noop"]["held_back"] == said[0]["why"]


async def test_a_held_back_stage_goes_on_at_seventy_percent_and_not_before(
    engine: Engine, database: Database
) -> None:
    await add_rows(database, 5)
    await queue_behind(database, MARK)
    assert await found(engine) == 0
    await take_away(database, 2)
    assert await found(engine) == 0
    await take_away(database, 1)
    assert await found(engine) == 5
    assert engine.state(DatabaseClock(0.0))["noop"]["held_back"] is None


async def test_between_the_marks_a_stage_claims_less(
    database: Database, settings: Settings
) -> None:
    valve = fresh_valve(database, settings)
    await queue_behind(database, 7)
    assert await valve.admit(9) == 9
    await queue_behind(database, 1)
    look_again(valve)
    assert await valve.admit(9) == 6
    await queue_behind(database, 1)
    look_again(valve)
    assert await valve.admit(9) == 3
    assert valve.held_back is not None
    assert "claiming fewer rows" in valve.held_back


async def test_rows_that_wait_for_their_time_hold_nobody_back(
    database: Database, settings: Settings
) -> None:
    await queue_behind(database, MARK)
    async with database.transaction() as session:
        later = func.now() + timedelta(hours=1)
        await session.execute(update(Domain).values(sitemap_analysis_due_at=later))
    assert await fresh_valve(database, settings).admit(9) == 9


async def test_a_held_back_stage_looks_again_by_itself(
    database: Database, settings: Settings
) -> None:
    await prepare(database)
    await queue_behind(database, MARK)
    await add_rows(database, 3)
    rarely = replace(FIRST, pace=replace(FIRST.pace, interval_minutes=600))
    async with run_scheduler(database, settings, [rarely], [], known=[NEXT]) as scheduler:
        runner = scheduler.engine.runner("noop")
        await until(lambda: _is(lambda: runner.valve.is_closed and not runner.runs))
        await take_away(database, MARK)
        await until(lambda: _all_done(database))
        assert not runner.valve.is_closed


async def _is(condition: Callable[[], bool]) -> bool:
    return condition()


async def _all_done(database: Database) -> bool:
    async with database.reading() as session:
        return not await session.scalar(select(func.count()).where(NoopRow.status != "done"))


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await condition():
            await asyncio.sleep(0.02)


# Pace


def actor(settings: Settings) -> Actor:
    return Actor(user_id=settings.scheduler_system_user_id, tenant_id=DEFAULT_TENANT_ID)


async def change(database: Database, settings: Settings, **changes: Any) -> None:
    async with database.transaction() as session:
        await service.change_pace(session, actor(settings), NOOP, changes)


async def test_a_changed_pace_reaches_a_running_process_and_can_be_taken_back(
    database: Database, settings: Settings
) -> None:
    await prepare(database)
    quick = settings.model_copy(update={"worker_beat_seconds": 0.05})
    async with run_engine(database, quick, [NOOP]) as engine:
        runner = engine.runner("noop")
        await change(database, settings, concurrency=3, batch_size=2)
        await until(lambda: _is(lambda: runner.pace.concurrency == 3))
        assert (runner.free_slots, runner.pace.batch_size) == (3, 2)
        await change(database, settings, concurrency=None)
        await until(lambda: _is(lambda: runner.pace.concurrency == NOOP.pace.concurrency))
        assert (runner.free_slots, runner.pace.batch_size) == (NOOP.pace.concurrency, 2)


async def test_a_process_that_starts_later_takes_the_changed_pace(
    database: Database, settings: Settings
) -> None:
    await prepare(database)
    await change(database, settings, concurrency=1)
    async with run_engine(database, settings, [NOOP]) as engine:
        assert engine.runner("noop").pace.concurrency == 1


async def test_a_changed_interval_moves_the_next_tick(
    database: Database, settings: Settings
) -> None:
    await prepare(database)
    quick = settings.model_copy(update={"worker_beat_seconds": 0.05})
    rarely: AnyStage = replace(NOOP, pace=replace(NOOP.pace, interval_minutes=600))
    async with run_scheduler(database, quick, [rarely], []) as scheduler:
        runner = scheduler.engine.runner("noop")
        await until(lambda: _is(lambda: runner.last_tick is not None and not runner.runs))
        await change(database, settings, interval_minutes=0.001)
        await add_rows(database, 1)
        await until(lambda: _all_done(database))
        assert runner.pace.interval_minutes == 0.001


@pytest.mark.parametrize(
    "changes",
    [{"concurrency": 0}, {"batch_size": -1}, {"concurrency": 10**6}, {"timeout_seconds": 3}, {}],
)
async def test_an_impossible_pace_is_refused(
    database: Database, settings: Settings, changes: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        await change(database, settings, **changes)
