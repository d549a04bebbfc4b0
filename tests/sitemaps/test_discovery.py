"""From `POST /api/v3/sitemap/scan` to stored URLs, through the running scheduler."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.errors import NotFound, Rejected
from scrapersky.models import Actor, Domain, Job, SitemapFile, SitemapUrl
from scrapersky.models.stage_names import METADATA_STAGE
from scrapersky.pipeline.engine import run_engine
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.pipeline.wake import Wakeups
from scrapersky.sitemaps import discovery, outcome
from scrapersky.sitemaps.batches import request_batch
from scrapersky.sitemaps.service import request_scan
from tests.app import ended, scan, serving
from tests.auth.accounts import add_user
from tests.conftest import make_settings
from tests.fake_web import FakeWeb, index, urlset
from tests.stage_cases import OWNED


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
    assert "No sitemap was found" in domain["last_scan_error"]


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

    assert (failed["status"], failed["error"]) == ("failed", "The job has no domain.")


async def test_a_job_row_without_domain_id_fails_with_a_sentence(
    url: str, web: FakeWeb, database: Database
) -> None:
    """As an integrator may insert it, past the API."""
    site = bakery(web)
    async with database.transaction() as session:
        job = Job(
            job_type="sitemap", subject=site, params={"domain": site, "max_pages": 9}, **OWNED
        )
        session.add(job)
        await session.flush()
        job_id = str(job.id)
    with pytest.raises(Rejected, match="has no domain_id"):
        discovery.read(job)
    async with serving(settings_for(url, web)) as client:
        failed = await ended(client, job_id)
        (letter,) = (await client.get("/api/v3/dead-letters")).json()["items"]

    assert (failed["status"], failed["attempts"]) == ("failed", 1)
    assert letter["row_id"] == job_id
    assert failed["error"] == (
        f"The job for {site} has no domain_id. Request the scan with "
        "POST /api/v3/sitemap/scan, or set domain_id to the ID of the domain."
    )


@pytest.mark.parametrize("path", ["sitemap/status", "jobs"])
async def test_a_finished_job_lists_its_sitemaps(url: str, web: FakeWeb, path: str) -> None:
    site = bakery(web)
    async with serving(settings_for(url, web)) as client:
        job = await ended(client, (await scan(client, site))["job_id"])
        files = {each["url"]: each for each in job["sitemaps"]}
        answer = (await client.get(f"/api/v3/{path}/{job['job_id']}")).json()

    result = answer["result_data"]
    assert result["sitemaps_count"] == 3
    assert [(each["url"], each["type"], each["url_count"]) for each in result["sitemaps"]] == [
        (f"http://{site}/index.xml", "index", 2),
        (f"http://{site}/bread.xml.gz", "standard", 3),
        (f"http://{site}/cake.xml", "standard", 3),
    ]
    assert all(each["id"] == files[each["url"]]["id"] for each in result["sitemaps"])
    assert all(set(each) == {"id", "url", "type", "url_count"} for each in result["sitemaps"])


async def test_the_list_of_a_large_site_is_cut_and_counted(
    url: str, web: FakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcome, "MAX_SITEMAPS_LISTED", 2)
    site = bakery(web)
    async with serving(settings_for(url, web)) as client:
        job = await ended(client, (await scan(client, site))["job_id"])

    assert job["result_data"]["sitemaps_count"] == len(job["sitemaps"]) == 3
    assert len(job["result_data"]["sitemaps"]) == 2


async def test_a_scan_and_a_batch_wake_the_stage_that_reads_home_pages(
    url: str, web: FakeWeb, database: Database
) -> None:
    settings = settings_for(url, web)
    woken = asyncio.Event()
    wakeups = Wakeups(database)
    wakeups.subscribe(METADATA_STAGE, woken.set)
    actor = Actor(OWNED["created_by"], OWNED["tenant_id"])

    async with database.transaction() as session:
        await request_scan(session, actor, settings, "bakery.example", None)
        assert not woken.is_set(), "not before the commit"
    assert woken.is_set()
    woken.clear()
    async with database.transaction() as session:
        await request_scan(session, actor, settings, "bakery.example/shop", None)
    assert not woken.is_set(), "the domain was known, nothing was queued"
    async with database.transaction() as session:
        await request_batch(session, actor, settings, ["bakery.example", "florist.example"], None)
    assert woken.is_set()
    await wakeups.close()


@pytest.mark.parametrize("who", ["nobody", "the system user", "the owner", "a stranger"])
async def test_a_job_is_worked_at_once_for_its_owner_and_for_the_system_user(
    url: str, web: FakeWeb, database: Database, who: str
) -> None:
    site, settings = bakery(web), settings_for(url, web)
    owner, stranger = await add_user(database, "owner"), await add_user(database, "stranger")
    async with database.transaction() as session:
        job, _ = await request_scan(session, owner, settings, site, 100)
    user_id = {
        "nobody": None,
        "the system user": settings.scheduler_system_user_id,
        "the owner": owner.user_id,
        "a stranger": stranger.user_id,
    }[who]

    async with run_engine(database, settings, [discovery.STAGE]) as engine:
        asked = discovery.process_domain_with_own_session(job.id, site, user_id, engine=engine)
        if who == "a stranger":
            with pytest.raises(NotFound):
                await asked
            return
        assert await asked == "completed"
    assert await counted(database, SitemapUrl) == 6


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
