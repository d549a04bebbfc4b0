"""Rows are settled despite transient failures."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from sqlalchemy import select, update

from scrapersky.db.session import Database
from scrapersky.pipeline import workers
from scrapersky.pipeline.loop import StageRunner, run_job_loop
from scrapersky.pipeline.outcome import build_completed
from scrapersky.pipeline.stage import Tools
from scrapersky.pipeline.tables import EventKind
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.settings import Settings
from tests.noop import NOOP, NoopRow
from tests.stage_cases import CASES, prepare
from tests.waiting import PATIENCE_SECONDS, lose_a_deadlock


async def test_rows_that_somebody_locked_crosswise_are_settled_all_the_same(
    database: Database, settings: Settings
) -> None:
    """The other one waits for our first row and holds our second; we are made to give way."""
    await prepare(database)
    async with database.transaction() as session:
        first, second = sorted(await CASES[NOOP.name].make_due(session, 2))
    both_begun, go_on = asyncio.Barrier(3), asyncio.Event()
    runner = await _runner(database, settings, both_begun, go_on)
    run = asyncio.create_task(run_job_loop(runner))
    await both_begun.wait()

    async def settle() -> None:
        go_on.set()
        await run

    await lose_a_deadlock(
        database,
        settle,
        first=update(NoopRow).where(NoopRow.id == first).values(effects=0),
        last=update(NoopRow).where(NoopRow.id == second).values(effects=0),
    )

    async with database.reading() as session:
        assert set(await session.scalars(select(NoopRow.status))) == {NOOP.words.done}


async def test_a_row_put_in_as_the_settler_leaves_is_settled_too(
    database: Database, settings: Settings
) -> None:
    await prepare(database)
    async with database.transaction() as session:
        await CASES[NOOP.name].make_due(session, 2)
    runner = await _runner(database, settings, asyncio.Barrier(1), asyncio.Event())
    first, second = await runner.claim(2)

    await runner.settler.put(build_completed(first.claim))
    # Whoever waited for the first goes on before the settler's end is known to anybody.
    kind = await asyncio.wait_for(
        runner.settler.put(build_completed(second.claim)), PATIENCE_SECONDS
    )

    assert kind is EventKind.COMPLETED


async def _runner(
    database: Database, settings: Settings, begun: asyncio.Barrier, go_on: asyncio.Event
) -> StageRunner:
    async def work(item: Any, tools: Tools) -> Any:
        await begun.wait()
        await go_on.wait()
        return item

    worker = WorkerIdentity()
    async with database.transaction() as session:
        await workers.record_heartbeat(session, worker)
    return StageRunner(
        replace(NOOP, work=work),
        database=database,
        worker=worker,
        tools=Tools(fetch=None, settings=settings),  # type: ignore[arg-type]
        settings=settings,
    )
