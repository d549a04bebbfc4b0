"""A URL that is listed twice counts once in every total."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from scrapersky.models import domains
from scrapersky.sitemaps import scan_buffer
from tests.app import ended, scan, serving
from tests.conftest import make_settings
from tests.fake_web import FakeWeb, index, urlset

NAME = "bakery.example"
BASE = f"http://{NAME}"


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        host = made.host(NAME)
        host.robots(f"Sitemap: {BASE}/index.xml\n")
        host.xml("/index.xml", index(f"{BASE}/a.xml", f"{BASE}/b.xml", f"{BASE}/a.xml"))
        write_sitemaps(made)
        yield made


def pages(*numbers: int) -> list[str]:
    return [f"{BASE}/{each}" for each in numbers]


def write_sitemaps(web: FakeWeb, *more: int) -> None:
    """Five different pages: `a` lists two of its three twice, and one of them is in `b`, too."""
    host = web.host(NAME)
    host.xml("/a.xml", urlset(*pages(1, 2, 3, 1, 2, *more)))
    host.xml("/b.xml", urlset(*pages(3, 4, 5)))


async def totals_of(client: httpx.AsyncClient, job: dict[str, Any]) -> dict[str, Any]:
    domain = (await client.get(f"/api/v3/domains/{job['domain_id']}")).json()
    listed = await client.get(f"/api/v3/domains/{job['domain_id']}/urls?format=txt")
    overview = (await client.get("/")).text
    page = (await client.get(f"/jobs/{job['job_id']}")).text
    return {
        "files": {each["url"].rpartition("/")[2]: each["url_count"] for each in job["sitemaps"]},
        "job": job["result_data"]["urls"],
        "domain": domain["sitemap_urls"],
        "listed": len(listed.text.split()),
        "overview": '<dd class="number">5</dd>' in overview,
        "job page": "<dt>URLs</dt><dd>5</dd>" in page,
    }


FIVE = {
    "files": {"index.xml": 2, "a.xml": 3, "b.xml": 3},
    "job": 5,
    "domain": 5,
    "listed": 5,
    "overview": True,
    "job page": True,
}


@pytest.mark.parametrize("at_once", [1_000, 1])
async def test_a_url_listed_twice_counts_once_in_every_total(
    url: str, web: FakeWeb, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Also where the two entries are read in different handfuls."""
    monkeypatch.setattr("scrapersky.scraper.sitemaps.crawl.URLS_PER_CHUNK", at_once)
    monkeypatch.setattr(scan_buffer, "STORE_EVERY_URLS", at_once)
    async with serving(make_settings(url, fetch_resolve=web.resolve)) as client:
        job = await ended(client, (await scan(client, NAME))["job_id"])
        assert await totals_of(client, job) == FIVE

        again = await ended(client, (await scan(client, NAME))["job_id"])
        assert await totals_of(client, again) == FIVE

        write_sitemaps(web, 4)  # it is in the other one already
        third = await ended(client, (await scan(client, NAME))["job_id"])
        expected = {**FIVE, "files": {"index.xml": 2, "a.xml": 4, "b.xml": 3}}
        assert await totals_of(client, third) == expected

        write_sitemaps(web)
        fourth = await ended(client, (await scan(client, NAME))["job_id"])
        assert await totals_of(client, fourth) == FIVE


async def test_a_site_too_large_to_be_counted_shows_an_upper_bound(
    url: str, web: FakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domains, "MAX_COUNTED_URLS", 5)
    async with serving(make_settings(url, fetch_resolve=web.resolve)) as client:
        job = await ended(client, (await scan(client, NAME))["job_id"])
        domain = (await client.get(f"/api/v3/domains/{job['domain_id']}")).json()
        shown = [
            (await client.get(path)).text
            for path in (f"/domains/{job['domain_id']}", f"/jobs/{job['job_id']}", "/domains", "/")
        ]
    total = sum(each["url_count"] for each in job["sitemaps"] if each["type"] != "index")
    assert domain["sitemap_urls"] == total == 8
    assert ["at most 8" in each for each in shown] == [True] * 4


async def test_a_scan_of_a_part_of_a_large_site_is_counted(
    url: str, web: FakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domains, "MAX_COUNTED_URLS", 5)
    async with serving(make_settings(url, fetch_resolve=web.resolve)) as client:
        await ended(client, (await scan(client, NAME))["job_id"])
        write_sitemaps(web, 4)
        one = {"urls": [f"{BASE}/a.xml"]}
        answer = await client.post("/api/v3/sitemap-files/direct-submit", json=one)
        job = await ended(client, answer.json()["results"][0]["job_id"])
    assert job["result_data"]["urls"] == 4
