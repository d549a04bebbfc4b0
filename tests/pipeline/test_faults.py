"""The engine under faults: broken and half-open connections, poison rows, a stepped clock."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest
from aiohttp import web as aiohttp_web
from sqlalchemy import Text, cast, func, literal, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth.service import get_system_actor
from scrapersky.cli.errors import ExitCode
from scrapersky.cli.signals import EXIT_SLACK_SECONDS
from scrapersky.db.base import uuid7
from scrapersky.db.embedded import EmbeddedPostgres, ServerAddress
from scrapersky.db.embedded import server as starting
from scrapersky.db.embedded.account import build_clean_env
from scrapersky.db.migrate import upgrade
from scrapersky.db.outages import MAX_ROW_INTERRUPTIONS
from scrapersky.db.session import (
    COMMAND_TIMEOUT_SECONDS,
    DIRECT_TIMEOUT_SECONDS,
    KEEPALIVE_OPTIONS,
    Database,
)
from scrapersky.errors import DatabaseUnavailable
from scrapersky.models import Job
from scrapersky.pipeline import chores, flow, settle, settler, workers
from scrapersky.pipeline import engine as pipeline_engine
from scrapersky.pipeline.chores import Chore, claim_slot, run_chore
from scrapersky.pipeline.engine import Engine, run_engine
from scrapersky.pipeline.flow import Successor, Valve
from scrapersky.pipeline.hosts import HostGate
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.scheduler import Scheduler, run_scheduler
from scrapersky.pipeline.stage import Tools
from scrapersky.pipeline.tables import (
    DeadLetter,
    EventKind,
    HostSlot,
    ScheduleRun,
    StageEvent,
    Worker,
)
from scrapersky.pipeline.vitals import DatabaseClock, ResourceMonitor, WorkerVitals
from scrapersky.pipeline.wake import NOTIFY
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.settings import Settings
from scrapersky.sitemaps.service import request_scan
from tests.app import serving
from tests.conftest import make_settings
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
        # Ten times what is promised, because the machine may be busy; a hang takes longer.
        promised = float(HASTY["SHUTDOWN_GRACE_SECONDS"]) + EXIT_SLACK_SECONDS
        code = await program.ended(10 * promised)
        # It ended by itself, or its timer ended it; a crash would say something else.
        was_ended = "Not stopped within" in program.said()
        assert code == (ExitCode.FAILED if was_ended else ExitCode.OK), program.said()


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


async def test_every_connection_has_keepalive_and_a_command_timeout(
    server: ServerAddress, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket file has no keepalive, so the connections lead through a relay."""
    opened: list[Any] = []
    really = asyncpg.connect

    async def connect(*arguments: Any, **options: Any) -> Any:
        opened.append(await really(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(asyncpg, "connect", connect)
    async with behind_a_relay(server, database) as (_, url):
        ours = Database(url)
        settings = make_settings(url)
        try:
            async with run_scheduler(ours, settings, [NOOP], []) as scheduler:
                await wait_until(lambda: is_listening(scheduler))
                await ours.direct.fetch(NOTIFY, {"payloads": []})
                await run_job_loop(scheduler.engine.runner("noop"))
                async with ours.reading() as session:
                    await session.execute(text("SELECT 1"))
                # The pool sets the options of a connection a few round trips after it was opened,
                # and housekeeping may be opening one right now.
                await wait_until(lambda: have_keepalive(opened))
                found = [each for each in opened if not each.is_closed()]
                kinds = {describe(each) for each in found}
                timeouts = [each._config.command_timeout for each in found]
        finally:
            await ours.close()

    assert kinds == {
        ("scrapersky", "on"),  # the pool, the heartbeat, wake-ups and settling
        ("scrapersky", "off"),  # claims
        ("scrapersky listener", "on"),
    }
    assert {COMMAND_TIMEOUT_SECONDS, DIRECT_TIMEOUT_SECONDS} <= set(timeouts)
    assert all(timeouts)


async def is_listening(scheduler: Scheduler) -> bool:
    return scheduler.engine.wakeups.listener.up


async def have_keepalive(opened: list[Any]) -> bool:
    expected = {"SO_KEEPALIVE": 1, **KEEPALIVE_OPTIONS}
    return all(read_socket_options(each) == expected for each in opened if not each.is_closed())


def describe(connection: Any) -> tuple[str, str]:
    """The name under which the server knows it, and whether commits wait for the disk."""
    given = connection._params.server_settings
    return given["application_name"], given.get("synchronous_commit", "on")


def read_socket_options(connection: Any) -> dict[str, int]:
    link = connection._transport.get_extra_info("socket")
    return {
        "SO_KEEPALIVE": link.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
        **{
            name: link.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
            for name in KEEPALIVE_OPTIONS
        },
    }


async def look_through_the_valve(engine: Engine) -> None:
    valve = Valve(NOOP, engine.database, (Successor(NOOP, high_water=10),))
    await valve.admit(1)


async def take_a_slot(engine: Engine) -> None:
    chore = Chore(name="tidy", does="Tidies.", every=timedelta(days=1), run=do_nothing)
    await claim_slot(engine.database, chore, None)


async def end_a_chore(engine: Engine) -> None:
    chore = Chore(name="tidy", does="Tidies.", every=timedelta(days=1), run=do_nothing)
    await run_chore(engine.database, engine.settings, chore)


async def do_nothing(database: Database, settings: Settings) -> None:
    return None


@pytest.mark.parametrize(
    ("table", "call"),
    [
        ("noop_rows", look_through_the_valve),
        ("schedule_runs", take_a_slot),
        ("chore_failures", end_a_chore),
        ("stage_controls", Engine._apply_pace_changes),
    ],
)
async def test_a_call_that_is_not_answered_ends_by_its_deadline(
    table: str,
    call: Callable[[Engine], Awaitable[None]],
    database: Database,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with run_engine(database, settings, [NOOP]) as engine:
        for module, name in (
            (flow, "LOOK_DEADLINE_SECONDS"),
            (chores, "SLOT_DEADLINE_SECONDS"),
            (pipeline_engine, "PACES_DEADLINE_SECONDS"),
        ):
            monkeypatch.setattr(module, name, 0.2)
        async with database.transaction() as session:
            await session.execute(text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
            with pytest.raises(DatabaseUnavailable):
                await asyncio.wait_for(call(engine), PATIENCE_SECONDS)


# Time


async def test_a_heartbeat_does_not_wait_for_housekeeping(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = asyncio.Event()

    async def hang(_engine: Engine) -> None:
        started.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Engine, "_do_housekeeping", hang)
    async with run_engine(database, settings, []):
        await started.wait()
        await wait_for_beat(database)


async def wait_for_beat(database: Database) -> None:
    """Wait until the only worker has sent a heartbeat."""
    before = await read_beat(database)

    async def has_beaten() -> bool:
        return await read_beat(database) != before

    await wait_until(has_beaten)


async def read_beat(database: Database) -> str | None:
    async with database.reading() as session:
        return await session.scalar(select(cast(Worker.beat_at, Text)))


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
            actor = await get_system_actor(session, settings)
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
    url: str, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are stored without a wake-up, so that only a tick finds them."""
    monkeypatch.setattr("scrapersky.stages.STAGES", (NOOP,))
    await add_rows(database, 1)
    offset = tmp_path / "offset"
    offset.write_text("+0")
    async with (
        noop_worker(url, tmp_path / "worker.log", **fake_clock(offset)) as program,
        serving(make_settings(url, scheduler_enabled=False)) as client,
    ):
        await wait_until(lambda: are_done(database, 1))
        for step in ("-1h", "+1h"):
            offset.write_text(step)
            await wait_until(lambda: has_said(program, "the system clock was stepped"))
            await add_rows(database, 1)
            total = 2 if step == "-1h" else 3
            await wait_until(lambda total=total: are_done(database, total))  # type: ignore[misc]
            # The second heartbeat from here tells of a tick after the step.
            for _ in range(2):
                await wait_for_beat(database)
            health = await client.get("/health/schedulers")
            assert health.status_code == 200, health.text
    assert await read_letters(database) == []


def test_a_deaf_worker_reports_since_when_in_database_time(tmp_path: Path) -> None:
    wakeups: Any = SimpleNamespace(is_listening=True, listener=SimpleNamespace(up=False))
    vitals = WorkerVitals(wakeups, tmp_path, ResourceMonitor())
    first = vitals.read(DatabaseClock(1_000.0))["deaf_since"]
    an_hour_later = vitals.read(DatabaseClock(4_600.0))["deaf_since"]

    assert 1_000 <= first < 1_000 + PATIENCE_SECONDS
    assert an_hour_later - first == pytest.approx(3_600, abs=PATIENCE_SECONDS)


def fake_clock(offset: Path) -> dict[str, str]:
    """The environment of a process whose wall clock is off by what stands in the file."""
    return {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_NO_CACHE": "1",
    }


@asynccontextmanager
async def server_with_fake_clock(offset: Path) -> AsyncIterator[str]:
    """A PostgreSQL of the test's own, migrated, with the no-op stage's table; its URL."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            starting, "build_clean_env", lambda: {**build_clean_env(), **fake_clock(offset)}
        )
        postgres = EmbeddedPostgres(offset.parent / "data")
        address = await asyncio.to_thread(postgres.acquire)
        try:
            database = Database(address.url)
            await upgrade(database)
            await prepare(database)
            await database.close()
            yield address.url
        finally:
            await asyncio.to_thread(postgres.release)
            await asyncio.to_thread(postgres.destroy)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the server's user may enter, which pytest's own are not."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.skipif(FAKETIME is None, reason="Debian's package libfaketime is not installed")
async def test_a_database_clock_stepped_by_an_hour_loses_no_row_and_does_none_twice(
    open_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each step a worker dies whose last heartbeat, after a step back, lies in the future."""
    monkeypatch.setattr("scrapersky.stages.STAGES", (NOOP,))
    offset = open_folder / "offset"
    offset.write_text("+0")
    async with (
        server_with_fake_clock(offset) as url,
        noop_worker(url, tmp_path / "worker.log"),
        serving(make_settings(url, scheduler_enabled=False)) as client,
    ):
        database = Database(url)
        await add_rows(database, 1)
        await wait_until(lambda: are_done(database, 1))
        total = 1
        for step in ("-1h", "+1h"):
            await fill_slots_of_the_last_hour(database)
            await hold_by_a_dead_worker(database)
            offset.write_text(step)
            total += 1
            await wait_until(lambda total=total: are_done(database, total))  # type: ignore[misc]
            await wait_until(lambda: is_healthy(client))
        completed = await count_completed(database)
        letters = await read_letters(database)
        await database.close()
    assert completed == total
    assert letters == []


async def fill_slots_of_the_last_hour(database: Database) -> None:
    """As an hour of rescues would have left them."""
    every = timedelta(seconds=float(HASTY["WORKER_BEAT_SECONDS"]))
    now = func.date_bin(every, func.now(), chores.SLOT_EPOCH)
    slots = func.generate_series(now - timedelta(hours=1, minutes=1), now, every)
    filled = insert(ScheduleRun).from_select(
        ["name", "slot"], select(literal("rescue_lost_leases"), slots)
    )
    async with database.transaction() as session:
        await session.execute(filled.on_conflict_do_nothing())


async def hold_by_a_dead_worker(database: Database) -> None:
    dead = WorkerIdentity(boot_id="another machine")
    async with database.transaction() as session:
        await workers.record_heartbeat(session, dead)
        session.add(
            NoopRow(
                status="processing",
                lease_token=uuid7(),
                lease_expires_at=func.now() + timedelta(hours=3),
                worker_id=dead.id,
            )
        )


async def is_healthy(client: httpx.AsyncClient) -> bool:
    return (await client.get("/health/schedulers")).status_code == 200


async def count_completed(database: Database) -> int:
    """Rows completed since the beginning, each as often as it was."""
    counted = select(func.sum(StageEvent.rows)).where(StageEvent.kind == EventKind.COMPLETED)
    async with database.reading() as session:
        return int(await session.scalar(counted) or 0)
