"""Rows that kill their worker or their connection, and outages that are not the row's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.outages import MAX_ROW_INTERRUPTIONS
from scrapersky.db.session import (
    Database,
)
from scrapersky.pipeline import settle, settler
from scrapersky.pipeline.engine import run_engine
from scrapersky.pipeline.hosts import HostGate
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.stage import Tools
from scrapersky.pipeline.tables import (
    EventKind,
    HostSlot,
)
from scrapersky.settings import Settings
from tests.conftest import make_settings
from tests.effort import choose
from tests.fake_web import FakeWeb
from tests.noop import NOOP, NoopRow
from tests.pipeline.faults import (
    add_rows,
    are_done,
    noop_worker,
    read_letters,
)
from tests.stage_cases import prepare
from tests.waiting import PATIENCE_SECONDS, wait_until

INNOCENTS = choose(8, 40)


@pytest.fixture(autouse=True)
async def _tables(database: Database) -> None:
    await prepare(database)


async def test_innocent_rows_survive_beside_one_that_kills_its_worker(
    url: str, database: Database, tmp_path: Path
) -> None:
    poison, *_ = await add_rows(database, INNOCENTS + 1)
    ended = asyncio.Event()

    async def supervise() -> None:
        """As systemd would: one worker, started again whenever it dies."""
        while not ended.is_set():
            environ = {
                "POISON_ROW": str(poison),
                "NOOP_CONCURRENCY": "50",
                "NOOP_BATCH_SIZE": "50",
                "NOOP_MAX_ATTEMPTS": "2",
            }
            async with noop_worker(url, tmp_path / "worker.log", **environ) as program:
                while program.process.poll() is None and not ended.is_set():
                    await asyncio.sleep(0.05)

    async def is_over() -> bool:
        return await are_done(database, INNOCENTS) and bool(await read_letters(database))

    supervising = asyncio.create_task(supervise())
    try:
        await wait_until(is_over, seconds=4 * PATIENCE_SECONDS)
    finally:
        ended.set()
        await supervising
    (letter,) = await read_letters(database)
    assert (letter.row_id, letter.error_class) == (poison, "WorkerDied")


async def test_a_row_that_breaks_its_connection_does_not_take_its_batch_with_it(
    database: Database, settings: Settings
) -> None:
    poison, *innocents = await add_rows(database, 6)

    async def store(session: AsyncSession, row: NoopRow, result: UUID) -> None:
        if row.id == poison:
            await session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
        row.effects += 1

    stage = replace(NOOP, store=store, pace=replace(NOOP.pace, concurrency=6))
    async with run_engine(database, settings, [stage]) as engine:
        draining = asyncio.create_task(run_job_loop(engine.runner("noop")))
        await wait_until(lambda: are_done(database, len(innocents)))
        await wait_until(lambda: is_interrupted(database, poison))
        draining.cancel()
    assert await read_effects(database) == {poison: 0, **dict.fromkeys(innocents, 1)}


async def read_effects(database: Database) -> dict[UUID, int]:
    async with database.reading() as session:
        found = await session.execute(select(NoopRow.id, NoopRow.effects))
        return {each.id: each.effects for each in found}


async def count_interruptions(database: Database) -> dict[UUID, int]:
    async with database.reading() as session:
        found = await session.execute(select(NoopRow.id, NOOP.queue.interruptions))
        return {each.id: each.interruptions for each in found}


async def is_interrupted(database: Database, row_id: UUID) -> bool:
    return (await count_interruptions(database))[row_id] > 0


@pytest.mark.parametrize("sets_timeout", [True, False], ids=["server limit", "our limit"])
async def test_a_row_whose_store_times_out_keeps_no_other_from_being_stored(
    database: Database,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    sets_timeout: bool,
) -> None:
    """The server's statement timeout ends the store, or else our deadline for the batch."""
    slow, *innocents = await add_rows(database, 6)
    monkeypatch.setattr(settle, "CAREFUL_STATEMENT_MS", 100)
    if not sets_timeout:
        monkeypatch.setattr(settler, "BATCH_DEADLINE_SECONDS", 1.0)

    async def store(session: AsyncSession, row: NoopRow, result: UUID) -> None:
        if row.id == slow:
            if sets_timeout:
                await session.execute(text("SET LOCAL statement_timeout = 100"))
            await session.execute(text("SELECT pg_sleep(3600)"))
        row.effects += 1

    stage = replace(NOOP, store=store, pace=replace(NOOP.pace, concurrency=6))
    async with run_engine(database, settings, [stage]) as engine:
        report = await run_job_loop(engine.runner("noop"))

    assert report is not None
    assert report.ended == {EventKind.COMPLETED: 5, EventKind.INTERRUPTED: 1}
    assert await read_effects(database) == {slow: 0, **dict.fromkeys(innocents, 1)}
    assert await count_interruptions(database) == {slow: 1, **dict.fromkeys(innocents, 0)}


async def test_rows_that_all_time_out_are_not_suspected(
    database: Database, settings: Settings
) -> None:
    rows = await add_rows(database, 4)

    async def store(session: AsyncSession, row: NoopRow, result: UUID) -> None:
        await session.execute(text("SET LOCAL statement_timeout = 50"))
        await session.execute(text("SELECT pg_sleep(3600)"))

    stage = replace(NOOP, store=store)
    async with run_engine(database, settings, [stage]) as engine:
        report = await run_job_loop(engine.runner("noop"))

    assert report is not None
    assert report.ended == {EventKind.INTERRUPTED: 4}
    assert await count_interruptions(database) == dict.fromkeys(rows, 0)


# Outages that are not the row's


class Interruption:
    """Ends the connection of the first so many sessions that ask it to."""

    def __init__(self, times: int) -> None:
        self.left = times

    async def strike(self, session: AsyncSession) -> None:
        if self.left:
            self.left -= 1
            await session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))


async def test_a_chunk_whose_connection_is_lost_is_stored_again_and_the_work_goes_on(
    database: Database, settings: Settings
) -> None:
    (row_id,) = await add_rows(database, 1)
    interruption, began = Interruption(MAX_ROW_INTERRUPTIONS - 1), 0

    async def work(item: UUID, tools: Tools) -> AsyncIterator[UUID]:
        nonlocal began
        began += 1
        for _ in range(3):
            yield item

    async def store(session: AsyncSession, row: NoopRow, result: UUID) -> None:
        row.effects += 1
        await interruption.strike(session)

    stage = replace(NOOP, work=work, store=store)
    async with run_engine(database, settings, [stage]) as engine:
        report = await run_job_loop(engine.runner("noop"))

    assert report is not None
    assert report.ended == {EventKind.COMPLETED: 1}
    assert (began, await read_effects(database)) == (1, {row_id: 3})


async def test_a_chunk_that_always_loses_its_connection_counts_as_an_interruption(
    database: Database, settings: Settings
) -> None:
    (row_id,) = await add_rows(database, 1)

    async def work(item: UUID, tools: Tools) -> AsyncIterator[UUID]:
        yield item
        yield item

    async def store(session: AsyncSession, row: NoopRow, result: UUID) -> None:
        await session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    stage = replace(NOOP, work=work, store=store)
    async with run_engine(database, settings, [stage]) as engine:
        report = await run_job_loop(engine.runner("noop"))

    assert report is not None
    assert report.ended == {EventKind.INTERRUPTED: 1}
    assert await count_interruptions(database) == {row_id: 1}


async def test_the_work_goes_on_when_the_host_gate_loses_its_connection(
    database: Database, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every transaction of the gate that a request needs is interrupted; the row is not."""
    (row_id,) = await add_rows(database, 1)
    interruption = Interruption(3)
    take_slot = HostGate._try_reserve

    async def interrupted(gate: HostGate, session: AsyncSession, *given: Any, **more: Any) -> Any:
        taken = await take_slot(gate, session, *given, **more)
        await session.flush()
        await interruption.strike(session)
        return taken

    async def work(item: UUID, tools: Tools) -> UUID:
        await tools.fetch.get("http://a.example/")
        return item

    monkeypatch.setattr(HostGate, "_try_reserve", interrupted)
    async with FakeWeb() as web:
        host = web.host("a.example").body("/", "x")
        settings = make_settings(url, fetch_resolve=web.resolve)
        async with run_engine(database, settings, [replace(NOOP, work=work)]) as engine:
            report = await run_job_loop(engine.runner("noop"))
            async with database.reading() as session:
                slots = await session.scalar(select(func.count()).select_from(HostSlot))

    assert report is not None
    assert report.ended == {EventKind.COMPLETED: 1}
    assert (len(host.seen), slots, interruption.left) == (1, 0, 0)
    assert await count_interruptions(database) == {row_id: 0}


async def test_rows_that_cannot_be_stored_for_want_of_disk_space_are_handed_back(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = await add_rows(database, 3)
    monkeypatch.setattr(settler, "OUTAGE_TIMEOUT_SECONDS", 0.1)

    async def store(session: AsyncSession, row: NoopRow, result: UUID) -> None:
        raise DBAPIError("INSERT", None, asyncpg.DiskFullError("could not extend file"))

    async with run_engine(database, settings, [replace(NOOP, store=store)]) as engine:
        for _ in range(2):
            async with database.transaction() as session:
                await session.execute(update(NoopRow).values(due_at=func.now()))
            report = await run_job_loop(engine.runner("noop"))
            assert report is not None
            assert report.ended == {EventKind.HANDED_BACK: 3}
        reached = engine.own_limits.read()

    async with database.reading() as session:
        found = list(await session.scalars(select(NoopRow)))
        wait = await session.scalar(select(func.min(NOOP.queue.due_at) - func.now()))
    states = [NOOP.queue.of(each) for each in found]
    assert {(each.status, each.attempts, each.interruptions) for each in states} == {
        ("queued", 0, 0)
    }
    assert {each.error for each in states} == {
        "The database's disk is full. Free some space on it."
    }
    assert reached == {"disk_space": "The database's disk is full. Free some space on it."}
    assert len(rows) == len(found)
    assert wait is not None
    assert wait.total_seconds() > 0
    assert await read_letters(database) == []
