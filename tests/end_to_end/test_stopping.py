"""A worker that is stopped logs no errors, whatever it is doing at the moment."""

from __future__ import annotations

import re
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import Job
from scrapersky.stages import STAGES
from tests.app import scan, serving
from tests.conftest import make_settings
from tests.fake_web import FakeWeb, urlset
from tests.processes import HASTY, Program, running
from tests.waiting import wait_until

NOISE = re.compile(
    r"Traceback|CancelledError|garbage collector|non-checked-in|Event loop is closed"
    r"|never retrieved|never awaited|destroyed but it is pending|connection was closed"
    r"|\bPool\b|Invalidate connection|Warning:"
)
OFTEN = {f"{each.prefix}_INTERVAL_MINUTES": "0.001" for each in STAGES}
"""With ticks this close together, several runs are under way at any moment."""
SITES = [f"site{number}.example" for number in range(8)]

Moment = Callable[[Program, FakeWeb, Database], Awaitable[bool]]


async def has_started(worker: Program, web: FakeWeb, database: Database) -> bool:
    return "scheduler started" in worker.said()


async def is_reading_sites(worker: Program, web: FakeWeb, database: Database) -> bool:
    return web.host(SITES[0]).in_flight > 0


async def has_nothing_to_do(worker: Program, web: FakeWeb, database: Database) -> bool:
    async with database.reading() as session:
        return set(await session.scalars(select(Job.status))) == {"complete"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
@pytest.mark.parametrize("moment", [has_started, is_reading_sites, has_nothing_to_do])
async def test_a_worker_that_is_stopped_makes_no_noise(
    moment: Moment, number: signal.Signals, url: str, database: Database, tmp_path: Path
) -> None:
    async with FakeWeb() as web:
        for name in SITES:
            host = web.host(name)
            if moment is has_nothing_to_do:
                host.xml("/sitemap.xml", urlset(f"http://{name}/"))
            else:
                host.hang("/robots.txt")
        async with serving(make_settings(url, scheduler_enabled=False)) as client:
            for name in SITES:
                await scan(client, name)
        environ = {
            **HASTY,
            **OFTEN,
            **web.environ,
            "DATABASE_URL": url,
            "WORKER_BEAT_SECONDS": "0.05",
            "WORKER_DEAD_AFTER_SECONDS": "600",
            "LOG_LEVEL": "info",
        }
        async with running("worker", environ=environ, log=tmp_path / "log") as worker:
            await wait_until(lambda: moment(worker, web, database))
            worker.send(number)
            code = await worker.ended()
            said = worker.said()

    assert code == 0
    assert "scheduler stopped" in said
    assert [line for line in said.splitlines() if NOISE.search(line)] == []
