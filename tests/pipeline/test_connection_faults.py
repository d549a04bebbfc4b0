"""Broken, slow and half-open connections to the database."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from scrapersky.cli.errors import ExitCode
from scrapersky.cli.signals import EXIT_SLACK_SECONDS
from scrapersky.db.embedded import ServerAddress
from scrapersky.db.session import (
    COMMAND_TIMEOUT_SECONDS,
    DIRECT_TIMEOUT_SECONDS,
    KEEPALIVE_OPTIONS,
    Database,
)
from scrapersky.errors import DatabaseUnavailable
from scrapersky.pipeline import chores, flow
from scrapersky.pipeline import engine as pipeline_engine
from scrapersky.pipeline.chores import Chore, claim_slot, run_chore
from scrapersky.pipeline.engine import Engine, run_engine
from scrapersky.pipeline.flow import Successor, Valve
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.scheduler import Scheduler, run_scheduler
from scrapersky.pipeline.wake import NOTIFY
from scrapersky.settings import Settings
from tests.conftest import make_settings
from tests.effort import choose
from tests.noop import NOOP
from tests.pipeline.faults import (
    LATENCY_SECONDS,
    add_rows,
    are_done,
    are_processing,
    behind_a_relay,
    has_said,
    noop_worker,
    read_letters,
)
from tests.processes import HASTY
from tests.stage_cases import prepare
from tests.waiting import PATIENCE_SECONDS, wait_until

CUTS = choose(5, 15)


@pytest.fixture(autouse=True)
async def _tables(database: Database) -> None:
    await prepare(database)


async def test_broken_connections_cost_no_row_its_only_attempt(
    url: str, database: Database, tmp_path: Path
) -> None:
    rows = await add_rows(database, choose(40, 150))
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
    rows = await add_rows(database, choose(24, 60))
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
        await wait_until(lambda: has_said(program, "dropping all claimed rows"))
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
            (flow, "MEASURE_DEADLINE_SECONDS"),
            (chores, "SLOT_DEADLINE_SECONDS"),
            (pipeline_engine, "PACES_DEADLINE_SECONDS"),
        ):
            monkeypatch.setattr(module, name, 0.2)
        async with database.transaction() as session:
            await session.execute(text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
            with pytest.raises(DatabaseUnavailable):
                await asyncio.wait_for(call(engine), PATIENCE_SECONDS)
