"""Many live pages in one browser do not block each other, and all stay up to date."""

from __future__ import annotations

import asyncio

from playwright.async_api import BrowserContext, Page, expect

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Job
from tests.browser.conftest import Site
from tests.stage_cases import OWNED

LIVE_PATHS = ("/", "/alerts", "/stages", "/workers", "/hosts", "/?over=hour", "/?over=week")
WAIT_SECONDS = 60.0


async def add_jobs(database: Database, count: int) -> list[Job]:
    jobs = [
        Job(id=uuid7(), job_type="sitemap", subject=f"{n}.example", status="pending", **OWNED)
        for n in range(count)
    ]
    async with database.transaction() as session:
        session.add_all(jobs)
    return jobs


async def set_status(database: Database, jobs: list[Job], status: str) -> None:
    async with database.transaction() as session:
        for each in jobs:
            job = await session.get(Job, each.id)
            assert job is not None
            job.status = status


async def open_tabs(window: BrowserContext, addresses: list[str]) -> list[Page]:
    tabs = []
    for address in addresses:
        tab = await window.new_page()
        await tab.goto(address)
        tabs.append(tab)
    return tabs


async def test_eight_live_tabs_load_answer_and_stay_true(
    site: Site, window: BrowserContext, database: Database
) -> None:
    jobs = await add_jobs(database, 8)
    tabs = await open_tabs(window, [f"{site.address}/jobs/{each.id}" for each in jobs])
    for tab in tabs:
        await expect(tab.locator("#job-state .badge")).to_have_text("pending")
    async with asyncio.timeout(WAIT_SECONDS):
        answered = await tabs[-1].evaluate("fetch('/api/v3/jobs').then((each) => each.status)")
    assert answered == 200

    await set_status(database, jobs, "failed")
    for tab in tabs:
        await expect(tab.locator("#job-state .badge")).to_have_text("failed")


async def test_different_kinds_of_live_pages_share_one_stream(
    site: Site, window: BrowserContext, database: Database
) -> None:
    await add_jobs(database, 1)
    tabs = await open_tabs(window, [f"{site.address}{each}" for each in LIVE_PATHS])
    for tab in tabs:
        await expect(tab.locator("#connection")).to_be_hidden()
        assert await tab.evaluate("fetch('/api/v3/jobs').then((each) => each.status)") == 200


async def test_tabs_of_the_same_page_all_follow_it_and_go_on_when_one_is_closed(
    site: Site, window: BrowserContext, database: Database
) -> None:
    (job,) = await add_jobs(database, 1)
    first, second = await open_tabs(window, [f"{site.address}/jobs/{job.id}"] * 2)
    await set_status(database, [job], "processing")
    for tab in (first, second):
        await expect(tab.locator("#job-state .badge")).to_have_text("processing")
    (third,) = await open_tabs(window, [f"{site.address}/jobs/{job.id}"])
    await first.close()
    await set_status(database, [job], "failed")
    for tab in (second, third):
        await expect(tab.locator("#job-state .badge")).to_have_text("failed")


async def test_a_tab_nobody_sees_leaves_the_stream_and_is_true_again_when_it_is_seen(
    site: Site, window: BrowserContext, database: Database
) -> None:
    (job,) = await add_jobs(database, 1)
    (tab,) = await open_tabs(window, [f"{site.address}/jobs/{job.id}"])
    await tab.evaluate(SHOW_AS, True)
    await set_status(database, [job], "failed")
    await tab.evaluate(SHOW_AS, False)
    await expect(tab.locator("#job-state .badge")).to_have_text("failed")


SHOW_AS = """
(hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}
"""
