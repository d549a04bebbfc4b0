"""The engine under faults: broken and half-open connections, poison rows, a stepped clock."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from sqlalchemy import Text, cast, func, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.away import MAX_ROW_INTERRUPTIONS
from scrapersky.db.base import uuid7
from scrapersky.db.embedded import ServerAddress
from scrapersky.db.session import Database
from scrapersky.pipeline import settle, settler
from scrapersky.pipeline.engine import Engine, running_engine
from scrapersky.pipeline.hosts import HostGate
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.stage import Tools
from scrapersky.pipeline.tables import DeadLetter, EventKind, HostSlot, Worker
from scrapersky.settings import Settings
from tests.conftest import make_settings
from tests.fake_web import FakeWeb
from tests.noop import NOOP, NoopRow
from tests.processes import HASTY, Program, running
from tests.scale.cables import Cable, plugged_in
from tests.stage_cases import prepare
from tests.waiting import PATIENCE_SECONDS, wait_until

INNOCENTS = 40
CUTS = 15
FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


@pytest.fixture(autouse=True)
async def _tables(database: Database) -> None:
    await prepare(database)


async def add_rows(database: Database, count: int) -> list[UUID]:
    ids = [uuid7() for _ in range(count)]
    async with database.transaction() as session:
        session.add_all(NoopRow(id=each) for each in ids)
    return ids


async def count_rows(database: Database, status: str) -> int:
    async with database.reading() as session:
        counted = select(func.count()).where(NoopRow.status == status)
        return int(await session.scalar(counted) or 0)


async def read_letters(database: Database) -> list[DeadLetter]:
    async with database.reading() as session:
        return list(await session.scalars(select(DeadLetter)))


async def are_done(database: Database, count: int) -> bool:
    return await count_rows(database, "done") == count


async def are_processing(database: Database) -> bool:
    return await count_rows(database, "processing") > 0


@asynccontextmanager
async def noop_worker(url: str, log: Path, **environ: str) -> AsyncIterator[Program]:
    given = {**HASTY, "DATABASE_URL": url, "NOOP_INTERVAL_MINUTES": "0.02", **environ}
    async with running(environ=given, log=log, module="tests.noop_worker") as program:
        yield program


@asynccontextmanager
async def behind_a_relay(
    server: ServerAddress, database: Database
) -> AsyncIterator[tuple[Cable, str]]:
    """A way to the database that can go silent without being closed, and its URL."""
    path = f"{server.socket_dir}/.s.PGSQL.{server.port}"
    cable = Cable("127.0.0.1", ())
    async with plugged_in(cable, lambda: asyncio.open_unix_connection(path)) as (port,):
        yield cable, f"postgresql://{server.user}@127.0.0.1:{port}/{database.url.database}"
        cable.heal()


async def has_said(program: Program, words: str) -> bool:
    return words in program.said()


# Poison


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
    async with running_engine(database, settings, [stage]) as engine:
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
    async with running_engine(database, settings, [stage]) as engine:
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
    async with running_engine(database, settings, [stage]) as engine:
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
    async with running_engine(database, settings, [stage]) as engine:
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
    async with running_engine(database, settings, [stage]) as engine:
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
    take_slot = HostGate._try

    async def interrupted(gate: HostGate, session: AsyncSession, *given: Any, **more: Any) -> Any:
        taken = await take_slot(gate, session, *given, **more)
        await session.flush()
        await interruption.strike(session)
        return taken

    async def work(item: UUID, tools: Tools) -> UUID:
        await tools.fetch.get("http://a.example/")
        return item

    monkeypatch.setattr(HostGate, "_try", interrupted)
    async with FakeWeb() as web:
        host = web.host("a.example").body("/", "x")
        settings = make_settings(url, fetch_resolve=web.resolve)
        async with running_engine(database, settings, [replace(NOOP, work=work)]) as engine:
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
    monkeypatch.setattr(settler, "DATABASE_PATIENCE_SECONDS", 0.1)

    async def store(session: AsyncSession, row: NoopRow, result: UUID) -> None:
        raise DBAPIError("INSERT", None, asyncpg.DiskFullError("could not extend file"))

    async with running_engine(database, settings, [replace(NOOP, store=store)]) as engine:
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
    assert {each.error for each in states} == {"The database's disk is full. Make room on it."}
    assert reached == {"disk_space": "The database's disk is full. Make room on it."}
    assert len(rows) == len(found)
    assert wait is not None
    assert wait.total_seconds() > 0
    assert await read_letters(database) == []


# Connections


async def test_broken_connections_cost_no_row_its_only_attempt(
    url: str, database: Database, tmp_path: Path
) -> None:
    rows = await add_rows(database, 150)
    environ = {"NOOP_MAX_ATTEMPTS": "1", "NOOP_CONCURRENCY": "4", "NOOP_BATCH_SIZE": "4"}
    async with noop_worker(url, tmp_path / "worker.log", **environ):
        for _ in range(CUTS):
            await wait_until(lambda: has_connection(are_processing(database)))
            await cut_connections(url)
        await wait_until(lambda: has_connection(are_done(database, len(rows))))
    assert await read_letters(database) == []


async def has_connection(condition: Awaitable[bool]) -> bool:
    """The test's own connections are cut too; then it looks again."""
    try:
        return await condition
    except DBAPIError:
        return False


async def cut_connections(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    finally:
        await connection.close()


async def test_a_worker_that_was_cut_off_drops_its_rows_and_works_again_when_the_link_is_back(
    server: ServerAddress, database: Database, tmp_path: Path
) -> None:
    rows = await add_rows(database, 5)
    hold = tmp_path / "hold"
    async with (
        behind_a_relay(server, database) as (cable, url),
        noop_worker(url, tmp_path / "worker.log", HOLD_FILE=str(hold)) as program,
    ):
        await wait_until(lambda: are_processing(database))
        cable.cut()
        await wait_until(lambda: has_said(program, "cut off from the database"))
        hold.touch()
        cable.heal()
        await wait_until(lambda: are_done(database, len(rows)))
    assert await read_letters(database) == []


async def test_sigterm_ends_a_worker_whose_connections_are_half_open(
    server: ServerAddress, database: Database, tmp_path: Path
) -> None:
    await add_rows(database, 5)
    async with (
        behind_a_relay(server, database) as (cable, url),
        noop_worker(url, tmp_path / "worker.log", HOLD_FILE=str(tmp_path / "never")) as program,
    ):
        await wait_until(lambda: are_processing(database))
        cable.cut()
        program.send(signal.SIGTERM)
        await program.ended(PATIENCE_SECONDS)


async def test_a_worker_that_cannot_reach_the_database_for_too_long_exits_with_a_reason(
    server: ServerAddress, database: Database, tmp_path: Path
) -> None:
    await add_rows(database, 1)
    async with (
        behind_a_relay(server, database) as (cable, url),
        noop_worker(url, tmp_path / "worker.log", WORKER_EXIT_AFTER_SECONDS="4") as program,
    ):
        await wait_until(lambda: are_done(database, 1))
        cable.cut()
        assert await program.ended(PATIENCE_SECONDS) == 1
        assert "WORKER_EXIT_AFTER_SECONDS" in program.said()


# Time


async def test_a_heartbeat_does_not_wait_for_housekeeping(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = asyncio.Event()

    async def hang(_engine: Engine) -> None:
        started.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Engine, "_look_after_everything", hang)
    beats = select(cast(Worker.beat_at, Text))

    async with running_engine(database, settings, []):
        await started.wait()
        async with database.reading() as session:
            before = await session.scalar(beats)

        async def has_beaten() -> bool:
            async with database.reading() as session:
                return await session.scalar(beats) != before

        await wait_until(has_beaten)


@pytest.mark.skipif(FAKETIME is None, reason="Debian's package libfaketime is not installed")
async def test_a_clock_set_back_by_an_hour_does_not_stop_the_ticks(
    url: str, database: Database, tmp_path: Path
) -> None:
    """The rows are stored without a wake-up, so that only a tick finds them."""
    await add_rows(database, 1)
    offset = tmp_path / "offset"
    offset.write_text("+0")
    environ = {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_NO_CACHE": "1",
    }
    async with noop_worker(url, tmp_path / "worker.log", **environ) as program:
        await wait_until(lambda: are_done(database, 1))
        for step in ("-1h", "+1h"):
            offset.write_text(step)
            await wait_until(lambda: has_said(program, "the system clock was stepped"))
            await add_rows(database, 1)
            total = 2 if step == "-1h" else 3
            await wait_until(lambda total=total: are_done(database, total))  # type: ignore[misc]
    assert await read_letters(database) == []
