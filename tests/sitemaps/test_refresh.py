"""A rescan reads only what has changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy import delete

from scrapersky.db.session import Database
from scrapersky.models import SitemapFile
from tests.app import ended, scan, serving
from tests.conftest import make_settings
from tests.fake_web import NAMESPACE, FakeWeb, index, urlset

SITE = "bakery.example"
BASE = f"http://{SITE}"
CHILDREN = 5


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        yield made


@pytest.fixture
async def client(url: str, web: FakeWeb) -> AsyncIterator[httpx.AsyncClient]:
    web.host(SITE)
    async with serving(make_settings(url, fetch_resolve=web.resolve)) as made:
        yield made


async def scanned(client: httpx.AsyncClient) -> dict[str, Any]:
    job = await ended(client, (await scan(client, SITE))["job_id"])
    assert job["status"] == "complete", job
    return job


def asked_since(web: FakeWeb, before: int) -> list[str]:
    return [each.path for each in web.host(SITE).seen[before:]]


def child(number: int, *, version: int = 1) -> str:
    return urlset(*(f"{BASE}/{number}/{version}/{page}" for page in range(3)))


def dated_index(lastmod: str) -> str:
    records = "".join(
        f"<sitemap><loc>{BASE}/{n}.xml</loc><lastmod>{lastmod}</lastmod></sitemap>"
        for n in range(CHILDREN)
    )
    return f'<sitemapindex xmlns="{NAMESPACE}">{records}</sitemapindex>'


async def test_an_unchanged_site_is_asked_once_per_sitemap_and_sends_no_bodies(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    host = web.host(SITE)
    host.conditional("/robots.txt", f"Sitemap: {BASE}/index.xml\n", etag='"r"')
    names = [f"{BASE}/{n}.xml" for n in range(CHILDREN)]
    host.conditional("/index.xml", index(*names), etag='"i"')
    for n in range(CHILDREN):
        host.conditional(f"/{n}.xml", child(n), etag=f'"{n}"')
    first = await scanned(client)
    before = len(host.seen)
    second = await scanned(client)

    asked = asked_since(web, before)
    assert len(asked) == 2 + CHILDREN
    assert all(each.headers.get("If-None-Match") for each in host.seen[before:])
    assert second["result_data"]["changes"] == {"added": 0, "changed": 0, "gone": 0}
    assert second["result_data"]["urls"] == first["result_data"]["urls"] == 3 * CHILDREN
    assert len(second["sitemaps"]) == 1 + CHILDREN


async def test_a_scan_that_was_killed_after_the_index_still_reads_every_child(
    client: httpx.AsyncClient, web: FakeWeb, database: Database
) -> None:
    host = web.host(SITE)
    host.xml("/sitemap.xml", index(*(f"{BASE}/{n}.xml" for n in range(CHILDREN))))
    for n in range(CHILDREN):
        host.xml(f"/{n}.xml", child(n))
    await scanned(client)
    async with database.transaction() as session:  # as if only two children had been stored
        for n in range(2, CHILDREN):
            await session.execute(delete(SitemapFile).where(SitemapFile.url == f"{BASE}/{n}.xml"))
    job = await scanned(client)

    assert job["result_data"]["urls"] == 3 * CHILDREN
    assert len(job["sitemaps"]) == 1 + CHILDREN


async def test_only_the_child_that_changed_is_read(client: httpx.AsyncClient, web: FakeWeb) -> None:
    host = web.host(SITE)
    host.conditional("/sitemap.xml", index(*(f"{BASE}/{n}.xml" for n in range(3))), etag='"i"')
    for n in range(3):
        host.conditional(f"/{n}.xml", child(n), etag=f'"{n}"')
    await scanned(client)
    host.conditional("/1.xml", child(1, version=2), etag='"1 again"')
    job = await scanned(client)

    assert job["result_data"]["changes"] == {"added": 3, "changed": 0, "gone": 3}
    assert job["result_data"]["urls"] == 9


async def test_the_same_bytes_without_validators_are_not_stored_again(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    web.host(SITE).xml("/sitemap.xml", child(0))
    await scanned(client)
    job = await scanned(client)

    assert job["result_data"]["changes"] == {"added": 0, "changed": 0, "gone": 0}
    assert [each["status"] for each in job["sitemaps"]] == ["ok"]


async def test_an_index_that_was_right_often_enough_is_believed(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    host = web.host(SITE)
    host.xml("/sitemap.xml", dated_index("2026-10-01"))
    for n in range(CHILDREN):
        host.xml(f"/{n}.xml", child(n))
    asked = []
    for _ in range(4):
        before = len(host.seen)
        await scanned(client)
        asked.append(
            sum(path in {f"/{n}.xml" for n in range(CHILDREN)} for path in asked_since(web, before))
        )

    assert asked == [CHILDREN, CHILDREN, CHILDREN, 0]


async def test_an_index_whose_lastmod_moves_has_its_children_read(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    host = web.host(SITE)
    host.xml("/sitemap.xml", dated_index("2026-10-01"))
    for n in range(CHILDREN):
        host.xml(f"/{n}.xml", child(n))
    for _ in range(4):
        await scanned(client)
    host.xml("/sitemap.xml", dated_index("2026-11-01"))
    host.xml("/0.xml", child(0, version=2))
    job = await scanned(client)

    assert job["result_data"]["changes"] == {"added": 3, "changed": 0, "gone": 3}


async def test_an_index_that_lied_is_not_believed_again_soon(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    host = web.host(SITE)
    host.xml("/sitemap.xml", dated_index("2026-10-01"))
    for n in range(CHILDREN):
        host.xml(f"/{n}.xml", child(n))
    await scanned(client)
    for version in (2, 3):
        host.xml("/0.xml", child(0, version=version))
        job = await scanned(client)
        assert job["result_data"]["changes"]["added"] == 3
    for _ in range(3):
        before = len(host.seen)
        await scanned(client)

    assert "/0.xml" in asked_since(web, before)
    assert "/1.xml" not in asked_since(web, before)
