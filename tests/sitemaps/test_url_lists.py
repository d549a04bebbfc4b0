"""A domain lists each of its URLs once, however many sitemaps contain it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from scrapersky.db.session import Database
from scrapersky.models import SitemapFile, SitemapUrl
from tests.app import ended, scan, serving
from tests.conftest import make_settings
from tests.fake_web import FakeWeb, index, urlset

SITE = "bakery.example"
BASE = f"http://{SITE}"


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        yield made


@pytest.fixture
async def client(url: str, web: FakeWeb) -> AsyncIterator[httpx.AsyncClient]:
    web.host(SITE)
    async with serving(make_settings(url, fetch_resolve=web.resolve)) as made:
        yield made


def publish(web: FakeWeb, **children: str) -> None:
    """An index of children, each with the pages named."""
    host = web.host(SITE)
    host.xml("/sitemap.xml", index(*(f"{BASE}/{name}.xml" for name in children)))
    for name, pages in children.items():
        host.xml(f"/{name}.xml", urlset(*(f"{BASE}/{page}" for page in pages.split())))


async def scanned(client: httpx.AsyncClient) -> dict[str, Any]:
    job = await ended(client, (await scan(client, SITE))["job_id"])
    assert job["status"] == "complete", job
    return job


async def listed(client: httpx.AsyncClient, job: dict[str, Any], **asked: Any) -> list[str]:
    """The domain's URLs, page by page."""
    path, seen = f"/api/v3/domains/{job['domain_id']}/urls", []
    more: dict[str, str] = {}
    while True:
        answer = await client.get(path, params={**asked, **more})
        assert answer.status_code == 200, answer.text
        body = answer.json()
        seen += [each["url"].rpartition("/")[2] for each in body["items"]]
        if body["next_cursor"] is None:
            return seen
        more = {"cursor": body["next_cursor"]}


async def test_a_url_in_two_sitemaps_is_listed_once_in_every_format(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    publish(web, a="bread cake", b="cake tart", c="cake bread")
    job = await scanned(client)
    path = f"/api/v3/domains/{job['domain_id']}/urls"
    plain = (await client.get(path, params={"format": "txt"})).text.split()
    table = (await client.get(path, params={"format": "csv"})).text.splitlines()[1:]

    assert sorted(await listed(client, job)) == ["bread", "cake", "tart"]
    assert sorted(plain) == [f"{BASE}/{page}" for page in ("bread", "cake", "tart")]
    assert sorted(line.partition(",")[0] for line in table) == sorted(plain)


async def test_pages_of_any_size_miss_nothing_and_repeat_nothing(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    children = {f"c{n}": " ".join(str(page) for page in range(n, n + 4)) for n in range(12)}
    publish(web, **children)
    job = await scanned(client)

    expected = sorted(str(page) for page in range(15))
    for limit in (1, 2, 7, 100):
        assert sorted(await listed(client, job, limit=limit)) == expected


async def test_a_sitemap_still_lists_what_another_lists_too(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    publish(web, a="bread cake", b="cake tart")
    job = await scanned(client)
    for file in job["sitemaps"]:
        if file["type"] != "index":
            answer = await client.get(f"/api/v3/sitemap-files/{file['id']}/urls")
            assert len(answer.json()["items"]) == 2


async def test_a_url_that_a_later_scan_finds_in_a_second_sitemap_is_listed_once(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    publish(web, a="bread", b="cake")
    await scanned(client)
    publish(web, a="bread cake", b="cake", c="bread bun")
    job = await scanned(client)
    assert sorted(await listed(client, job)) == ["bread", "bun", "cake"]


async def test_when_the_first_sitemap_drops_it_the_second_stands_for_it(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    for a, b in (("bread cake", "cake"), ("bread", "cake"), ("bread cake", "cake")):
        publish(web, a=a, b=b)
        job = await scanned(client)
        assert sorted(await listed(client, job)) == ["bread", "cake"]
    publish(web, a="bread", b="bread")
    job = await scanned(client)
    assert sorted(await listed(client, job)) == ["bread"]


async def test_a_first_scan_knows_what_only_one_sitemap_lists(
    client: httpx.AsyncClient, web: FakeWeb, database: Database
) -> None:
    publish(web, a="bread cake", b="cake tart")
    await scanned(client)
    async with database.reading() as session:
        rows = await session.execute(select(SitemapUrl.url, SitemapUrl.may_repeat))
        found = sorted((url.rpartition("/")[2], may_repeat) for url, may_repeat in rows)
    assert found == [("bread", False), ("cake", False), ("cake", True), ("tart", False)]


async def test_rows_of_which_nothing_is_known_are_compared_when_listed(
    client: httpx.AsyncClient, web: FakeWeb, database: Database
) -> None:
    publish(web, a="bread cake", b="cake tart", c="bread cake")
    job = await scanned(client)
    async with database.transaction() as session:  # as rows stored by an older version are
        await session.execute(update(SitemapUrl).values(may_repeat=True))
    assert sorted(await listed(client, job)) == ["bread", "cake", "tart"]


async def test_what_another_domain_lists_does_not_matter(
    client: httpx.AsyncClient, web: FakeWeb, database: Database
) -> None:
    publish(web, a="bread cake")
    job = await scanned(client)
    async with database.transaction() as session:
        await session.execute(update(SitemapUrl).values(may_repeat=True))
        files = await session.scalars(select(SitemapFile).where(SitemapFile.url.endswith("a.xml")))
        assert len(files.all()) == 1
    assert sorted(await listed(client, job)) == ["bread", "cake"]


@pytest.mark.parametrize("cursor", ["17", "zz", "00", "ab" * 15])
async def test_a_cursor_that_is_not_ours_is_refused(
    client: httpx.AsyncClient, web: FakeWeb, cursor: str
) -> None:
    publish(web, a="bread")
    job = await scanned(client)
    answer = await client.get(f"/api/v3/domains/{job['domain_id']}/urls", params={"cursor": cursor})
    assert answer.status_code in (400, 422), answer.text
