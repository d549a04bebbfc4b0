"""The engine under faults: broken and half-open connections, poison rows, a stepped clock."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest
from sqlalchemy import Text, cast, func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.embedded import ServerAddress
from scrapersky.db.session import Database
from scrapersky.pipeline.engine import Engine, running_engine
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.tables import DeadLetter, Worker
from scrapersky.settings import Settings
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

    async def read_effects() -> dict[UUID, int]:
        async with database.reading() as session:
            found = await session.execute(select(NoopRow.id, NoopRow.effects))
            return {each.id: each.effects for each in found}

    stage = replace(NOOP, store=store, pace=replace(NOOP.pace, concurrency=6))
    async with running_engine(database, settings, [stage]) as engine:
        draining = asyncio.create_task(run_job_loop(engine.runner("noop")))
        await wait_until(lambda: are_done(database, len(innocents)))
        draining.cancel()
    assert await read_effects() == {poison: 0, **dict.fromkeys(innocents, 1)}


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
