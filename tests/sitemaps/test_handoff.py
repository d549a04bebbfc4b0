"""Automatic hand-offs of a scan."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.models import Page, SitemapFile
from tests.app import ended, scan, serving
from tests.conftest import make_settings
from tests.fake_web import FakeWeb, urlset
from tests.waiting import PATIENCE_SECONDS


@pytest.mark.parametrize(("policy", "pages"), [(True, 3), (False, 0)])
async def test_the_policy_decides_whether_a_scan_ends_in_pages(
    url: str, database: Database, policy: bool, pages: int
) -> None:
    async with FakeWeb() as web:
        host = web.host("bakery.example")
        host.xml("/sitemap.xml", urlset(*(f"http://bakery.example/{n}" for n in range(3))))
        settings = make_settings(url, fetch_resolve=web.resolve, auto_import_sitemaps=policy)
        async with serving(settings) as client:
            job = await ended(client, (await scan(client, "bakery.example"))["job_id"])
            await _settled(database)

    async with database.reading() as session:
        stored = await session.scalar(select(func.count()).select_from(Page))
    assert (job["status"], stored) == ("complete", pages)


async def _settled(database: Database) -> None:
    """No import waits or is under way."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with database.reading() as session:
                states = set(await session.scalars(select(SitemapFile.sitemap_import_status)))
            if not states & {"Queued", "Processing"}:
                return
            await asyncio.sleep(0.05)
