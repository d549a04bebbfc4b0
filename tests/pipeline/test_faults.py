"""The engine under faults: broken and half-open connections, poison rows, a stepped clock."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest
from aiohttp import web as aiohttp_web
from sqlalchemy import Text, cast, func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts.service import system_actor
from scrapersky.db.base import uuid7
from scrapersky.db.embedded import ServerAddress
from scrapersky.db.session import Database
from scrapersky.models import Job
from scrapersky.pipeline.engine import Engine, running_engine
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.tables import DeadLetter, EventKind, StageEvent, Worker
from scrapersky.settings import Settings
from scrapersky.sitemaps.service import request_scan
from tests.fake_web import FakeWeb, urlset
from tests.noop import NOOP, NoopRow
from tests.processes import HASTY, Program, running
from tests.scale.cables import Cable, plugged_in
from tests.stage_cases import prepare
from tests.waiting import PATIENCE_SECONDS, wait_until

INNOCENTS = 40
CUTS = 15
LATENCY_SECONDS = 0.2
"""Of a round trip to the database."""
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
    server: ServerAddress, database: Database, *, round_trip_seconds: float = 0.0
) -> AsyncIterator[tuple[Cable, str]]:
    """A way to the database that can be slow, break, or go silent without being closed; and its
    URL."""
    path = f"{server.socket_dir}/.s.PGSQL.{server.port}"
    cable = Cable("127.0.0.1", ())
    async with plugged_in(cable, lambda: asyncio.open_unix_connection(path)) as (port,):
        cable.set_latency(round_trip_seconds)
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


async def test_broken_connections_at_200_ms_latency_cost_no_row_its_only_attempt(
    server: ServerAddress, database: Database, tmp_path: Path
) -> None:
    rows = await add_rows(database, 60)
    environ = {
        "NOOP_MAX_ATTEMPTS": "1",
        "NOOP_CONCURRENCY": "4",
        "NOOP_BATCH_SIZE": "4",
        "WORKER_DEAD_AFTER_SECONDS": "15",
    }
    async with (
        behind_a_relay(server, database, round_trip_seconds=LATENCY_SECONDS) as (cable, url),
        noop_worker(url, tmp_path / "worker.log", **environ),
    ):
        for _ in range(CUTS):
            await wait_until(lambda: are_processing(database))
            cable.abort()
        await wait_until(lambda: are_done(database, len(rows)), seconds=4 * PATIENCE_SECONDS)
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


async def test_200_ms_latency_makes_no_worker_look_dead(
    server: ServerAddress, database: Database, settings: Settings, tmp_path: Path
) -> None:
    """All stages, because it was their housekeeping that the heartbeat waited for."""
    dead_after = 10.0
    names = [f"site{number}.example" for number in range(6)]
    answers = asyncio.Event()

    async def answer(_: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
        await answers.wait()
        return aiohttp_web.Response(text=urlset("http://site/"), content_type="application/xml")

    async def are_held_by_both() -> bool:
        holders = select(func.count(Job.worker_id.distinct())).where(Job.status == "processing")
        async with database.reading() as session:
            return await session.scalar(holders) == 2

    async def are_complete() -> bool:
        complete = select(func.count()).where(Job.status == "complete")
        async with database.reading() as session:
            return await session.scalar(complete) == len(names)

    async with AsyncExitStack() as stack:
        relay = behind_a_relay(server, database, round_trip_seconds=LATENCY_SECONDS)
        _, url = await stack.enter_async_context(relay)
        web = await stack.enter_async_context(FakeWeb())
        for name in names:
            web.host(name).robots(f"Sitemap: http://{name}/s.xml\n").route("/s.xml", answer)
        environ = {
            **HASTY,
            **web.environ,
            "DATABASE_URL": url,
            "WORKER_BEAT_SECONDS": "1",
            "WORKER_DEAD_AFTER_SECONDS": str(dead_after),
            "FETCH_TIMEOUT_SECONDS": "600",
            "SITEMAP_SCHEDULER_CONCURRENCY": str(len(names) // 2),
            "SITEMAP_SCHEDULER_INTERVAL_MINUTES": "0.02",
        }
        async with database.transaction() as session:
            actor = await system_actor(session, settings)
            for name in names:
                await request_scan(session, actor, settings, name, None)
        for number in range(2):
            worker = running("worker", environ=environ, log=tmp_path / f"worker{number}.log")
            await stack.enter_async_context(worker)
        await wait_until(are_held_by_both)
        # Long enough for one that misses its beats to be taken for dead.
        await asyncio.sleep(2 * dead_after)
        answers.set()
        await wait_until(are_complete)
    async with database.reading() as session:
        rescued = select(func.count()).where(StageEvent.kind == EventKind.RESCUED)
        assert await session.scalar(rescued) == 0
    assert await read_letters(database) == []


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
