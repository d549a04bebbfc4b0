"""A sitemap that is handed in is fetched, then imported; the rest of its site is left alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select
from tests.app import ended, serving
from tests.fake_web import FakeWeb, index, urlset

from scrapersky.db.session import Database
from scrapersky.models import Domain, Job, Page, SitemapFile
from scrapersky.settings import Settings

SITE = "http://bakery.example"


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as web:
        bakery = web.host("bakery.example")
        bakery.robots(f"Sitemap: {SITE}/everything.xml")
        bakery.xml("/everything.xml", urlset(f"{SITE}/other"))
        bakery.xml("/mine.xml", index(f"{SITE}/a.xml")).xml("/a.xml", urlset(f"{SITE}/1"))
        bakery.page("/page.html", "<html><body>no sitemap</body></html>")
        yield web


@pytest.fixture
async def client(settings: Settings, web: FakeWeb) -> AsyncIterator[httpx.AsyncClient]:
    changed = {"fetch_resolve": web.resolve, "auto_import_sitemaps": False}
    async with serving(settings.model_copy(update=changed)) as client:
        yield client


async def hand_in(client: httpx.AsyncClient, *urls: str) -> dict[str, Any]:
    answer = await client.post("/api/v3/sitemap-files/direct-submit", json={"urls": list(urls)})
    assert answer.status_code == 202, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def test_it_is_fetched_with_its_children_and_becomes_pages(
    client: httpx.AsyncClient, database: Database, web: FakeWeb
) -> None:
    [result] = (await hand_in(client, f"{SITE}/mine.xml"))["results"]
    job = await ended(client, result["job_id"])

    assert job["status"] == "complete", job
    async with asyncio.timeout(20), database.reading() as session:
        while not await session.scalar(select(func.count()).select_from(Page)):
            await asyncio.sleep(0.05)
        assert list(await session.scalars(select(Page.url))) == [f"{SITE}/1"]
        methods = dict(
            (await session.execute(select(SitemapFile.url, SitemapFile.discovery_method))).all()
        )
    assert methods == {f"{SITE}/mine.xml": "manual", f"{SITE}/a.xml": "sitemap_index"}
    assert "/everything.xml" not in web.host("bakery.example").paths


async def test_it_is_no_look_at_the_site(client: httpx.AsyncClient, database: Database) -> None:
    [result] = (await hand_in(client, f"{SITE}/mine.xml"))["results"]
    await ended(client, result["job_id"])
    async with database.reading() as session:
        domain = (await session.scalars(select(Domain))).one()
    assert (domain.sitemap_urls, domain.last_scan) == (1, None)


async def test_what_is_no_sitemap_is_said_to_be_none(client: httpx.AsyncClient) -> None:
    [result] = (await hand_in(client, f"{SITE}/page.html"))["results"]
    job = await ended(client, result["job_id"])
    assert job["result_data"]["outcome"] == "none"
    [sitemap] = job["sitemaps"]
    assert sitemap["status"] == "refused"
    assert sitemap["reason"]


async def test_bad_lines_are_reported_and_good_ones_taken_once(
    client: httpx.AsyncClient, database: Database
) -> None:
    said = await hand_in(
        client, f"{SITE}/mine.xml", "bakery.example", "ftp://x.example/a.xml", f"{SITE}/mine.xml "
    )
    assert said["accepted"] == 1
    assert [each["error"] is None for each in said["results"]] == [True, False, False]
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(Job)) == 1
