"""Hosts that accept requests and never finish answering do not delay pages of other hosts."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

import pytest
from sqlalchemy import func, select

from scrapersky.contacts.extraction import STAGE as PAGE
from scrapersky.db.session import Database
from scrapersky.models import Domain, Page
from scrapersky.models.stage_names import METADATA_STAGE, PAGE_STAGE
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.tables import Host
from scrapersky.scraper.http import limits
from tests.fake_web import FakeWeb
from tests.leads.stage_runs import Run, html, started

PITS, GOOD_HOSTS, PAGES = 20, 4, 5
SLOW_SLOTS = 4
FOR_EVER = {"robots_timeout_seconds": 3600, "fetch_timeout_seconds": 3600}
"""In a test's time: whatever a pit holds, it holds until the end."""
TWO_SLOTS = {"PAGE_CURATION_SCHEDULER_CONCURRENCY": "2", "DOMAIN_SCHEDULER_CONCURRENCY": "2"}


async def add_pits(run: Run, *, pages: int = 1) -> None:
    """Queued before everybody else, and first in the round of the hosts."""
    for number in range(PITS):
        pit = run.web.host(f"a-pit{number}.example")
        pit.drip("/robots.txt", b"User-agent: *", every_seconds=10)
        domain = await run.domain(pit.name)
        for page in range(pages):
            await run.page(domain, f"http://{pit.name}/{page}")


async def add_good_sites(run: Run) -> None:
    for number in range(GOOD_HOSTS):
        site = run.web.host(f"good{number}.example").page("/", html("Good day"))
        domain = await run.domain(site.name)
        for page in range(PAGES):
            site.page(f"/{page}", html(f"Page {page}"))
            await run.page(domain, f"http://{site.name}/{page}")


async def count_good(database: Database, status: str = "Complete") -> int:
    good = Page.host.startswith("good"), Page.page_processing_status == status
    async with database.reading() as session:
        return int(await session.scalar(select(func.count()).where(*good)) or 0)


async def test_pages_of_good_hosts_are_read_while_pits_hold_all_they_may(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        run = Run(None, database, web)  # type: ignore[arg-type]
        await add_pits(run, pages=3)
        await add_good_sites(run)
        more = {"slow_host_slots": SLOW_SLOTS, "environ": TWO_SLOTS, **FOR_EVER}
        # The good hosts have answered before; who has not waits for a slot among the pits.
        async with database.transaction() as session:
            for number in range(GOOD_HOSTS):
                session.add(Host(host=f"good{number}.example", is_proven=True))
        async with started(run, url, **more):
            runner = run.engine.runner(PAGE_STAGE)
            loop = asyncio.create_task(run_job_loop(runner))
            async with asyncio.timeout(120):
                while await count_good(database) < GOOD_HOSTS * PAGES:
                    await asyncio.sleep(0.05)
            pits = Counter(each.item.url for each in runner.held.values() if "pit" in each.item.url)
            loop.cancel()
            with suppress(asyncio.CancelledError):
                await loop

    assert pits.total() == SLOW_SLOTS


async def test_a_pit_is_left_alone_after_its_second_time_out(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        run = Run(None, database, web)  # type: ignore[arg-type]
        pit = web.host("pit.example").drip("/robots.txt", b"User-agent: *", every_seconds=10)
        domain = await run.domain(pit.name)
        for page in range(5):
            await run.page(domain, f"http://{pit.name}/{page}")
        async with started(run, url, robots_timeout_seconds=0.1), asyncio.timeout(120):
            await run.work(PAGE_STAGE)

        host = await run.one(Host)
        assert (pit.count("/robots.txt"), host.timeouts, host.is_proven) == (2, 2, False)
        assert "timed_out" in (host.circuit_reason or "")
        # The other rows were not even tried.
        assert Counter(await list_attempts(database)) == {1: 2, 0: 3}


async def list_attempts(database: Database) -> list[int]:
    async with database.reading() as session:
        return list(await session.scalars(select(PAGE.queue.attempts)))


async def test_home_pages_are_read_while_pits_keep_theirs(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stage that does not know its hosts before it asks them."""
    monkeypatch.setattr(limits, "SLOW_AFTER_SECONDS", 0.05)
    async with FakeWeb() as web:
        run = Run(None, database, web)  # type: ignore[arg-type]
        await add_pits(run, pages=0)
        await add_good_sites(run)
        more = {"slow_host_slots": PITS, "environ": {"DOMAIN_SCHEDULER_CONCURRENCY": "3"}}
        async with started(run, url, **more, **FOR_EVER):
            loop = asyncio.create_task(run_job_loop(run.engine.runner(METADATA_STAGE)))
            done = select(func.count()).where(Domain.status == "completed")
            async with asyncio.timeout(300):
                while True:
                    async with database.reading() as session:
                        if await session.scalar(done) == GOOD_HOSTS:
                            break
                    await asyncio.sleep(0.05)
            loop.cancel()
            with suppress(asyncio.CancelledError):
                await loop
