"""The API and workers as real processes: woken, killed, stopped."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.models import Job, SitemapUrl
from scrapersky.pipeline.tables import StageEvent, Worker
from tests.app import ended, scan
from tests.fake_web import FakeWeb, index, urlset
from tests.processes import HASTY, api, running
from tests.waiting import PATIENCE_SECONDS

NO_TICKS = {
    "SITEMAP_SCHEDULER_INTERVAL_MINUTES": "600",
    "DOMAIN_SITEMAP_SCHEDULER_INTERVAL_MINUTES": "600",
}
"""So that only a wake-up can start anything."""


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        host = made.host("bakery.example")
        host.xml("/sitemap.xml", urlset(*(f"http://bakery.example/{n}" for n in range(50))))
        yield made


def environ(url: str, web: FakeWeb, **more: str) -> dict[str, str]:
    return {**HASTY, **web.environ, "DATABASE_URL": url, **more}


async def until(condition: Any, seconds: float = PATIENCE_SECONDS) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.02)


async def job_of(database: Database, job_id: str) -> Job:
    async with database.reading() as session:
        return await session.get_one(Job, job_id)


async def count(database: Database, model: Any) -> int:
    async with database.reading() as session:
        return int(await session.scalar(select(func.count()).select_from(model)) or 0)


async def test_a_post_wakes_the_scheduler_of_the_same_process(
    url: str, web: FakeWeb, tmp_path: Path
) -> None:
    async with api(environ(url, web, **NO_TICKS), tmp_path / "api.log") as client:
        job = await ended(client, (await scan(client, "bakery.example"))["job_id"])
    assert (job["status"], job["result_data"]["urls"]) == ("complete", 50)


async def test_a_post_wakes_a_worker_in_another_process(
    url: str, web: FakeWeb, tmp_path: Path, database: Database
) -> None:
    ours = environ(url, web, **NO_TICKS)
    async with (
        running("worker", environ=ours, log=tmp_path / "worker.log"),
        api({**ours, "SCHEDULER_ENABLED": "false"}, tmp_path / "api.log") as client,
    ):
        await until(lambda: _ticked(database))
        job = await ended(client, (await scan(client, "bakery.example"))["job_id"])
    assert job["status"] == "complete"


async def _ticked(database: Database, workers: int = 1) -> bool:
    """Workers that has had its first look: from now on only a wake-up makes it look again."""
    async with database.reading() as session:
        found = (await session.scalars(select(Worker))).all()
    ticked = [any(each.get("last_tick") for each in one.stages.values()) for one in found]
    return sum(ticked) >= workers


async def test_a_worker_killed_in_the_middle_loses_nothing_and_the_next_one_takes_over_at_once(
    url: str, web: FakeWeb, tmp_path: Path, database: Database
) -> None:
    host = web.host("slow.example")
    body = urlset(*(f"http://slow.example/{n}" for n in range(100))).encode()
    host.drip("/sitemap.xml", body, every_seconds=0.02, size=100)
    # Silence alone would take an hour to notice: only the dead process can give it away.
    ours = environ(url, web, WORKER_DEAD_AFTER_SECONDS="3600")
    async with api({**ours, "SCHEDULER_ENABLED": "false"}, tmp_path / "api.log") as client:
        asked = await scan(client, "slow.example")
        async with running("worker", environ=ours, log=tmp_path / "first.log") as first:
            await until(lambda: _is(database, asked["job_id"], "processing"))
            first.send(signal.SIGKILL)
            await first.ended()
        left = await job_of(database, asked["job_id"])
        async with running("worker", environ=ours, log=tmp_path / "second.log"):
            job = await ended(client, asked["job_id"])

    assert left.status == "processing"
    assert (job["status"], job["attempts"]) == ("complete", 1)  # the row is not to blame
    assert await _event_kinds(database) == {"rescued", "completed"}
    assert await count(database, SitemapUrl) == 100


async def _is(database: Database, job_id: str, status: str) -> bool:
    return (await job_of(database, job_id)).status == status


async def test_a_worker_told_to_stop_hands_its_row_back(
    url: str, web: FakeWeb, tmp_path: Path, database: Database
) -> None:
    web.host("slow.example").hang("/robots.txt")
    ours = environ(url, web)
    async with api({**ours, "SCHEDULER_ENABLED": "false"}, tmp_path / "api.log") as client:
        asked = await scan(client, "slow.example")
        async with running("worker", environ=ours, log=tmp_path / "worker.log") as worker:
            await until(lambda: _is(database, asked["job_id"], "processing"))
            worker.send(signal.SIGTERM)
            code = await worker.ended()
    job = await job_of(database, asked["job_id"])

    assert code == 0
    assert (job.status, job.attempts, job.lease_token) == ("pending", 0, None)
    assert await count(database, Worker) == 0


async def test_a_worker_that_was_stopped_past_its_lease_cannot_store_over_the_new_owner(
    url: str, web: FakeWeb, tmp_path: Path, database: Database
) -> None:
    host = web.host("slow.example")
    body = urlset(*(f"http://slow.example/{n}" for n in range(100))).encode()
    host.drip("/sitemap.xml", body, every_seconds=0.05, size=100)
    ours = environ(url, web)
    async with api({**ours, "SCHEDULER_ENABLED": "false"}, tmp_path / "api.log") as client:
        asked = await scan(client, "slow.example")
        async with running("worker", environ=ours, log=tmp_path / "first.log") as frozen:
            await until(lambda: _is(database, asked["job_id"], "processing"))
            frozen.send(signal.SIGSTOP)
            async with running("worker", environ=ours, log=tmp_path / "second.log"):
                await until(lambda: _is_held_after_rescue(database, asked["job_id"]))
                frozen.send(signal.SIGCONT)
                job = await ended(client, asked["job_id"])

    kinds = await _event_kinds(database)
    assert (job["status"], job["attempts"]) == ("complete", 1)
    assert await count(database, SitemapUrl) == 100
    assert "rescued" in kinds
    assert kinds <= {"rescued", "completed", "fenced"}


async def _is_held_after_rescue(database: Database, job_id: str) -> bool:
    job = await job_of(database, job_id)
    return job.rescues > 0 and job.status == "processing"


async def _event_kinds(database: Database) -> set[str]:
    async with database.reading() as session:
        return set(await session.scalars(select(StageEvent.kind)))


async def test_two_workers_together_keep_a_hosts_pace_as_its_server_counts_it(
    url: str, web: FakeWeb, tmp_path: Path, database: Database
) -> None:
    host = web.host("calm.example")
    base = "http://calm.example"
    host.robots(f"User-agent: *\nCrawl-delay: 0.3\nSitemap: {base}/index.xml\n")
    host.xml("/index.xml", index(*(f"{base}/{n}.xml" for n in range(6))))
    for n in range(6):
        host.xml(f"/{n}.xml", urlset(f"{base}/page/{n}"))
    ours = environ(url, web, SITEMAP_SCHEDULER_CONCURRENCY="1", SITEMAP_SCHEDULER_BATCH_SIZE="1")
    async with (
        running("worker", environ=ours, log=tmp_path / "one.log"),
        running("worker", environ=ours, log=tmp_path / "two.log"),
        api({**ours, "SCHEDULER_ENABLED": "false"}, tmp_path / "api.log") as client,
    ):
        await until(lambda: _ticked(database, workers=2))
        began = monotonic()
        asked = [await scan(client, f"calm.example/{part}") for part in ("a", "b")]
        jobs = [await ended(client, each["job_id"]) for each in asked]

    times = sorted(each.at for each in host.seen if each.path.endswith(".xml"))
    assert [job["status"] for job in jobs] == ["complete", "complete"]
    assert len(times) >= 7
    # A request may be late on its way and so come closer to the next one, but none is early.
    assert times[-1] - began > 0.3 * (len(times) - 1), times
    assert host.most_in_flight <= 4
