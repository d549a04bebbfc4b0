"""A submitted sitemap is fetched and imported; the rest of its site is not scanned."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.models import Domain, Job, Page, SitemapFile
from scrapersky.settings import Settings
from scrapersky.sitemaps.rescans import queue_due_domains
from tests.app import ended, serving
from tests.fake_web import FakeWeb, index, urlset
from tests.import_files import import_csv, statuses, submit
from tests.waiting import PATIENCE_SECONDS

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
    async with asyncio.timeout(PATIENCE_SECONDS), database.reading() as session:
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


async def test_bad_rows_are_reported_and_good_ones_taken_once(
    client: httpx.AsyncClient, database: Database
) -> None:
    said = await hand_in(
        client, f"{SITE}/mine.xml", "bakery.example", "ftp://x.example/a.xml", f"{SITE}/mine.xml "
    )
    assert said["accepted"] == 1
    assert statuses(said) == [(1, "created"), (2, "invalid"), (3, "invalid"), (4, "duplicate")]
    assert said["results"][0]["already_active"] is False
    assert said["results"][3]["id"] == said["results"][0]["id"]
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(Job)) == 1


async def test_one_that_is_only_stored_is_read_when_it_is_handed_in_again(
    client: httpx.AsyncClient, database: Database, web: FakeWeb
) -> None:
    sent = {"urls": [f"{SITE}/mine.xml"]}
    [kept] = (await submit(client, "sitemap-files", **sent, queue=False))["results"]
    file = (await client.get(f"/api/v3/sitemap-files/{kept['id']}")).json()
    assert (kept["status"], kept["job_id"], kept["queued"]) == ("created", None, False)
    assert (file["status"], file["last_processed_at"]) == ("unread", None)
    assert web.host("bakery.example").paths == []

    [asked] = (await submit(client, "sitemap-files", **sent, queue=True))["results"]
    assert (asked["status"], asked["id"], asked["queued"]) == ("exists", kept["id"], True)
    await ended(client, asked["job_id"])
    file = (await client.get(f"/api/v3/sitemap-files/{kept['id']}")).json()
    assert (file["status"], file["type"]) == ("ok", "index")


async def test_a_site_that_is_only_known_by_a_sitemap_is_not_due_for_a_look(
    client: httpx.AsyncClient, database: Database, settings: Settings
) -> None:
    await submit(client, "sitemap-files", urls=[f"{SITE}/mine.xml"], queue=False)

    assert await queue_due_domains(database, settings) == 0


async def test_asking_for_one_that_is_being_read_answers_its_job(
    settings: Settings, web: FakeWeb
) -> None:
    quiet = {"fetch_resolve": web.resolve, "scheduler_enabled": False}
    async with serving(settings.model_copy(update=quiet)) as client:
        [first] = (await hand_in(client, f"{SITE}/mine.xml"))["results"]
        [again] = (await hand_in(client, f"{SITE}/mine.xml"))["results"]

    assert first["job_id"] == again["job_id"]
    assert (first["already_active"], again["already_active"]) == (False, True)
    assert (first["queued"], again["queued"]) == (True, False)


async def test_a_file_of_sitemaps_is_taken_as_a_list_is(
    client: httpx.AsyncClient, database: Database
) -> None:
    body = f"Shop|Sitemap URL\nBakery|{SITE}/mine.xml\nFlorist|florist.example\n"
    said = await import_csv(client, "sitemap-files", body)

    assert statuses(said) == [(2, "created"), (3, "invalid")]
    assert "Enter the full URL of the sitemap" in said["results"][1]["error"]
    assert (await ended(client, said["results"][0]["job_id"]))["status"] == "complete"
