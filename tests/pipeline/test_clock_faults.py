"""Heartbeats at high latency, and clocks that are stepped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import httpx
import pytest
from aiohttp import web as aiohttp_web
from sqlalchemy import Text, cast, func, literal, select
from sqlalchemy.dialects.postgresql import insert

from scrapersky.auth.service import get_system_actor
from scrapersky.db.base import uuid7
from scrapersky.db.embedded import EmbeddedPostgres, ServerAddress
from scrapersky.db.embedded import server as starting
from scrapersky.db.embedded.account import build_clean_env
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import (
    Database,
)
from scrapersky.models import Job
from scrapersky.pipeline import chores, workers
from scrapersky.pipeline.engine import Engine, run_engine
from scrapersky.pipeline.tables import (
    EventKind,
    ScheduleRun,
    StageEvent,
    Worker,
)
from scrapersky.pipeline.vitals import DatabaseClock, ResourceMonitor, WorkerVitals
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.settings import Settings
from scrapersky.sitemaps.service import request_scan
from tests.app import serving
from tests.conftest import make_settings
from tests.fake_web import FakeWeb, urlset
from tests.noop import NOOP, NoopRow
from tests.pipeline.faults import (
    LATENCY_SECONDS,
    add_rows,
    are_done,
    behind_a_relay,
    has_said,
    noop_worker,
    read_letters,
)
from tests.processes import HASTY, running
from tests.stage_cases import prepare
from tests.waiting import PATIENCE_SECONDS, wait_until

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


@pytest.fixture(autouse=True)
async def _tables(database: Database) -> None:
    await prepare(database)


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
        await wait_for_beats(database)


async def wait_for_beats(database: Database) -> None:
    """Wait until every worker has sent a heartbeat."""
    before = await read_beats(database)

    async def have_beaten() -> bool:
        return not before & await read_beats(database)

    await wait_until(have_beaten)


async def read_beats(database: Database) -> set[tuple[UUID, str]]:
    async with database.reading() as session:
        found = await session.execute(select(Worker.id, cast(Worker.beat_at, Text)))
        return {(each.id, each.beat_at) for each in found}


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
        # One that is silent for too long between two heartbeats is taken for dead by the other.
        for _ in range(3):
            await wait_for_beats(database)
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
                await wait_for_beats(database)
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
