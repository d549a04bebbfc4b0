"""From `POST /api/v3/sitemap/scan` to stored URLs, through the running scheduler."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.models import Domain, Job, SitemapFile, SitemapUrl
from scrapersky.pipeline.tables import DeadLetter
from tests.app import ended, scan, serving
from tests.conftest import make_settings
from tests.fake_web import FakeWeb, index, urlset


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        yield made


def settings_for(url: str, web: FakeWeb, **more: Any) -> Any:
    return make_settings(url, fetch_resolve=web.resolve, **more)


def bakery(web: FakeWeb, *, pages: int = 3) -> str:
    name = "bakery.example"
    base = f"http://{name}"
    host = web.host(name)
    host.robots(f"User-agent: *\nSitemap: {base}/index.xml\n")
    host.xml("/index.xml", index(f"{base}/bread.xml.gz", f"{base}/cake.xml"))
    host.gz("/bread.xml.gz", urlset(*(f"{base}/bread/{n}" for n in range(pages))))
    host.xml("/cake.xml", urlset(*(f"{base}/cake/{n}" for n in range(pages))))
    return name


async def counted(database: Database, model: Any) -> int:
    async with database.reading() as session:
        return int(await session.scalar(select(func.count()).select_from(model)) or 0)


async def test_a_scan_ends_in_stored_sitemaps_and_urls(
    url: str, web: FakeWeb, database: Database
) -> None:
    site = bakery(web)
    async with serving(settings_for(url, web)) as client:
        asked = await scan(client, site, max_pages=100)
        job = await ended(client, asked["job_id"])
        domain = (await client.get(f"/api/v3/domains/{job['domain_id']}")).json()
        listed = await client.get(f"/api/v3/domains/{job['domain_id']}/urls?format=txt")

    assert (job["status"], job["progress"], job["error"]) == ("complete", 1.0, None)
    assert {(each["type"], each["url_count"], each["status"]) for each in job["sitemaps"]} == {
        ("index", 2, "ok"),
        ("standard", 3, "ok"),
    }
    assert sorted(listed.text.split()) == sorted(
        f"http://{site}/{kind}/{n}" for kind in ("bread", "cake") for n in range(3)
    )
    assert (domain["sitemap_urls"], domain["total_sitemaps"]) == (6, 3)
    assert domain["last_sitemap_job_id"] == asked["job_id"]
    assert domain["next_scan_at"] > domain["last_scan"]
    assert domain["base_url"] == f"http://{site}"


async def test_a_second_scan_adds_nothing(url: str, web: FakeWeb, database: Database) -> None:
    site = bakery(web)
    async with serving(settings_for(url, web)) as client:
        for _ in range(2):
            await ended(client, (await scan(client, site))["job_id"])

    assert await counted(database, Job) == 2
    assert await counted(database, Domain) == 1
    assert await counted(database, SitemapFile) == 3
    assert await counted(database, SitemapUrl) == 6


async def test_asking_again_while_a_scan_is_active_answers_the_same_job(
    url: str, web: FakeWeb, database: Database
) -> None:
    async with serving(settings_for(url, web, scheduler_enabled=False)) as client:
        first = await scan(client, "bakery.example")
        again = await scan(client, "https://WWW.Bakery.example/")
        other = await scan(client, "bakery.example/shop")

    assert again["job_id"] == first["job_id"]
    assert again["already_active"]
    assert other["job_id"] != first["job_id"]


async def test_the_row_is_there_when_the_answer_comes(
    url: str, web: FakeWeb, database: Database
) -> None:
    async with serving(settings_for(url, web, scheduler_enabled=False)) as client:
        asked = await scan(client, "bakery.example")
        async with database.reading() as session:
            job = await session.get_one(Job, asked["job_id"])

    assert (job.status, job.params["domain"]) == ("pending", "bakery.example")


async def test_max_pages_caps_what_is_stored_and_says_so(
    url: str, web: FakeWeb, database: Database
) -> None:
    site = bakery(web, pages=50)
    async with serving(settings_for(url, web)) as client:
        job = await ended(client, (await scan(client, site, max_pages=10))["job_id"])

    assert await counted(database, SitemapUrl) == 10
    assert job["result_data"]["truncated"]
    assert "10" in job["result_data"]["truncated_why"]


async def test_a_site_without_a_sitemap_is_a_result_and_not_a_failure(
    url: str, web: FakeWeb
) -> None:
    web.host("quiet.example").page("/", "<h1>Hello</h1>")
    async with serving(settings_for(url, web)) as client:
        job = await ended(client, (await scan(client, "quiet.example"))["job_id"])
        domain = (await client.get(f"/api/v3/domains/{job['domain_id']}")).json()

    assert (job["status"], job["result_data"]["outcome"]) == ("complete", "none")
    assert "no sitemap" in domain["last_scan_error"]


async def test_a_soft_404_site_gives_no_sitemaps(
    url: str, web: FakeWeb, database: Database
) -> None:
    web.host("soft.example").soft_404()
    async with serving(settings_for(url, web)) as client:
        job = await ended(client, (await scan(client, "soft.example"))["job_id"])

    assert job["result_data"]["outcome"] == "none"
    assert job["result_data"]["refused_count"] > 0
    assert await counted(database, SitemapFile) == 0


async def test_a_name_that_does_not_resolve_fails_at_once_with_a_dead_letter(
    url: str, web: FakeWeb, database: Database
) -> None:
    async with serving(settings_for(url, web)) as client:
        job = await ended(client, (await scan(client, "nowhere.invalid"))["job_id"])
        domain = (await client.get(f"/api/v3/domains/{job['domain_id']}")).json()
        letters = (await client.get("/api/v3/dead-letters")).json()["items"]

    assert (job["status"], job["attempts"]) == ("failed", 1)
    assert "nowhere.invalid" in job["error"]
    assert domain["last_scan_error"] == job["error"]
    assert domain["scan_failures"] == 1
    assert [letter["row_id"] for letter in letters] == [job["job_id"]]


async def test_a_host_that_drops_connections_is_retried_and_then_given_up(
    url: str, web: FakeWeb
) -> None:
    host = web.host("broken.example")
    for path in ("/", "/robots.txt"):
        host.closes(path)
    # Its circuit opens on the way: that must not keep the row from running out of attempts.
    async with serving(settings_for(url, web, retry_base_seconds=0.01)) as client:
        job = await ended(client, (await scan(client, "broken.example"))["job_id"])

    assert (job["status"], job["attempts"]) == ("failed", 5)


async def test_a_job_whose_data_does_not_fit_fails_alone(
    url: str, web: FakeWeb, database: Database
) -> None:
    site = bakery(web)
    async with serving(settings_for(url, web, scheduler_enabled=False)) as client:
        good = await scan(client, site)
        bad = await scan(client, "other.example")
        async with database.transaction() as session:
            job = await session.get_one(Job, bad["job_id"])
            job.params = {"max_pages": "many"}
    async with serving(settings_for(url, web)) as client:
        assert (await ended(client, good["job_id"]))["status"] == "complete"
        failed = await ended(client, bad["job_id"])

    assert (failed["status"], failed["error"]) == ("failed", "The job names no domain.")


async def test_a_cancelled_scan_stops_and_does_not_come_back(
    url: str, web: FakeWeb, database: Database
) -> None:
    host = web.host("slow.example")
    host.hang("/robots.txt")
    async with serving(settings_for(url, web)) as client:
        asked = await scan(client, "slow.example")
        await _until_status(client, asked["job_id"], "processing")
        answer = await client.post(f"/api/v3/jobs/{asked['job_id']}/cancel")
        again = await client.post(f"/api/v3/jobs/{asked['job_id']}/cancel")
        job = await ended(client, asked["job_id"])
        domain = (await client.get(f"/api/v3/domains/{job['domain_id']}")).json()

    assert (answer.status_code, again.status_code) == (200, 409)
    assert job["status"] == "cancelled"
    assert domain["next_scan_at"] is not None


async def test_a_failed_job_is_retried_from_the_start_on_request(
    url: str, web: FakeWeb, database: Database
) -> None:
    async with serving(settings_for(url, web)) as client:
        asked = await scan(client, "late.example")  # nothing there yet: the name is unknown
        assert (await ended(client, asked["job_id"]))["status"] == "failed"
    host = web.host("late.example")
    host.xml("/sitemap.xml", urlset("http://late.example/a"))
    async with serving(settings_for(url, web)) as client:
        answer = await client.post(f"/api/v3/jobs/{asked['job_id']}/retry")
        job = await ended(client, asked["job_id"])

    assert answer.status_code == 202
    assert (job["status"], job["result_data"]["urls"]) == ("complete", 1)
    async with database.reading() as session:
        assert await session.scalar(select(DeadLetter.state)) == "replayed"


async def _until_status(client: httpx.AsyncClient, job_id: str, status: str) -> None:
    while (await client.get(f"/api/v3/jobs/{job_id}")).json()["status"] != status:
        pass
