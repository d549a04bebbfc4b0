"""The dates of an index are trusted for a while; then its sitemaps are requested anyway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, update

from scrapersky.db.session import Database
from scrapersky.models import SitemapFile
from tests.app import ended, scan, serving
from tests.conftest import make_settings
from tests.fake_web import NAMESPACE, FakeWeb, urlset

SITE = "bakery.example"
BASE = f"http://{SITE}"
CHILDREN = ("bread", "cake", "tart")
RECHECK = timedelta(days=14)


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        yield made


@pytest.fixture
async def client(url: str, web: FakeWeb) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a site whose index gives its children one date for ever, and is believed."""
    host = web.host(SITE)
    records = "".join(
        f"<sitemap><loc>{BASE}/{name}.xml</loc><lastmod>2026-10-01</lastmod></sitemap>"
        for name in CHILDREN
    )
    host.xml("/sitemap.xml", f'<sitemapindex xmlns="{NAMESPACE}">{records}</sitemapindex>')
    for name in CHILDREN:
        publish(web, name)
    settings = make_settings(
        url, fetch_resolve=web.resolve, sitemap_recheck_days=RECHECK / timedelta(days=1)
    )
    async with serving(settings) as made:
        for _ in range(3):
            await scanned(made)
        yield made


def publish(web: FakeWeb, name: str, *, version: int = 1) -> None:
    body = urlset(f"{BASE}/{name}/{version}")
    web.host(SITE).conditional(f"/{name}.xml", body, etag=f'"{name} {version}"')


async def scanned(client: httpx.AsyncClient) -> dict[str, Any]:
    job = await ended(client, (await scan(client, SITE))["job_id"])
    assert job["status"] == "complete", job
    return job


async def asked(client: httpx.AsyncClient, web: FakeWeb) -> list[str]:
    """Which children the next scan asks for."""
    before = len(web.host(SITE).seen)
    await scanned(client)
    paths = [each.path for each in web.host(SITE).seen[before:]]
    return sorted(name for name in CHILDREN if f"/{name}.xml" in paths)


async def time_passes(database: Database, wait: timedelta, *names: str) -> None:
    async with database.transaction() as session:
        await session.execute(
            update(SitemapFile)
            .where(SitemapFile.url.in_([f"{BASE}/{name}.xml" for name in names or CHILDREN]))
            .values(last_asked_at=SitemapFile.last_asked_at - wait)
        )


async def trust(database: Database) -> dict[str, int]:
    async with database.reading() as session:
        rows = await session.execute(
            select(SitemapFile.url, SitemapFile.lastmod_kept).where(
                SitemapFile.sitemap_type != "index"
            )
        )
        return {url.rpartition("/")[2].removesuffix(".xml"): kept for url, kept in rows}


async def test_a_believed_child_is_asked_for_again_after_a_while(
    client: httpx.AsyncClient, web: FakeWeb, database: Database
) -> None:
    assert await asked(client, web) == []
    await time_passes(database, RECHECK, "cake")
    assert await asked(client, web) == ["cake"]
    assert web.host(SITE).seen[-1].headers.get("If-None-Match") == '"cake 1"'
    assert await asked(client, web) == []


async def test_leaving_a_child_out_does_not_count_as_asking(
    client: httpx.AsyncClient, web: FakeWeb, database: Database
) -> None:
    for _ in range(2):
        await time_passes(database, RECHECK / 2 - timedelta(minutes=1))
        assert await asked(client, web) == []
    await time_passes(database, timedelta(minutes=3))
    assert await asked(client, web) == sorted(CHILDREN)


async def test_a_child_stored_by_an_older_version_is_asked_for(
    client: httpx.AsyncClient, web: FakeWeb, database: Database
) -> None:
    async with database.transaction() as session:
        await session.execute(update(SitemapFile).values(last_asked_at=None))
    assert await asked(client, web) == sorted(CHILDREN)
    async with database.reading() as session:
        unknown = select(func.count()).where(SitemapFile.last_asked_at.is_(None))
        assert await session.scalar(unknown) == 0


async def test_an_index_that_is_found_out_is_not_believed_about_any_child(
    client: httpx.AsyncClient, web: FakeWeb, database: Database
) -> None:
    publish(web, "cake", version=2)
    assert (await scanned(client))["result_data"]["changes"]["added"] == 0
    await time_passes(database, RECHECK, "cake")
    found_out = await scanned(client)

    assert found_out["result_data"]["changes"] == {"added": 1, "changed": 0, "gone": 1}
    kept = await trust(database)
    assert kept["cake"] < kept["bread"] == kept["tart"] == 0
    assert await asked(client, web) == sorted(CHILDREN)
