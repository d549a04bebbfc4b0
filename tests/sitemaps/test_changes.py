"""New, changed and removed URLs of a rescan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from benchmarks import rescans
from scrapersky.db.session import Database
from scrapersky.sitemaps.rescans import (
    CHANGED_FACTOR,
    UNCHANGED_FACTOR,
    RescanPolicy,
    ScanChanges,
    get_failure_interval,
)
from tests.app import ended, scan, serving
from tests.conftest import make_settings
from tests.fake_web import FakeHost, FakeWeb, index, urlset

SITE = "bakery.example"
BASE = f"http://{SITE}"
DAY = timedelta(days=1)


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        yield made


@pytest.fixture
async def client(url: str, web: FakeWeb) -> AsyncIterator[httpx.AsyncClient]:
    web.host(SITE)
    async with serving(make_settings(url, fetch_resolve=web.resolve)) as made:
        yield made


def publish(host: FakeHost, *pages: str, lastmod: str | None = None) -> None:
    host.xml("/sitemap.xml", urlset(*(f"{BASE}/{page}" for page in pages), lastmod=lastmod))


async def scanned(client: httpx.AsyncClient) -> dict[str, Any]:
    job = await ended(client, (await scan(client, SITE))["job_id"])
    assert job["status"] == "complete", job
    return job


async def feed(client: httpx.AsyncClient, job: dict[str, Any], **more: Any) -> set[tuple[str, str]]:
    path = f"/api/v3/domains/{job['domain_id']}/changes"
    answer = await client.get(path, params={"since": "2020-01-01", **more})
    assert answer.status_code == 200, answer.text
    return {(each["kind"], each["url"].rpartition("/")[2]) for each in answer.json()["items"]}


async def domain_of(client: httpx.AsyncClient, job: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = (await client.get(f"/api/v3/domains/{job['domain_id']}")).json()
    return body


async def test_a_rescan_tells_new_changed_and_gone_urls(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    publish(web.host(SITE), "bread", "cake")
    first = await scanned(client)
    publish(web.host(SITE), "bread", "tart", lastmod="2026-11-01")
    second = await scanned(client)

    assert first["result_data"]["changes"] == {"added": 2, "changed": 0, "gone": 0}
    assert second["result_data"]["changes"] == {"added": 1, "changed": 1, "gone": 1}
    assert await feed(client, second, kind="gone") == {("gone", "cake")}
    assert await feed(client, second, kind="changed") == {("changed", "bread")}
    assert await feed(client, second, kind="new") == {
        ("new", "bread"),
        ("new", "cake"),
        ("new", "tart"),
    }
    listed = await client.get(f"/api/v3/domains/{second['domain_id']}/urls?format=txt")
    assert sorted(listed.text.split()) == [f"{BASE}/bread", f"{BASE}/tart"]


async def test_a_url_that_comes_back_is_there_again(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    for pages in (["bread", "cake"], ["bread"], ["bread", "cake"]):
        publish(web.host(SITE), *pages)
        job = await scanned(client)

    assert job["result_data"]["changes"] == {"added": 0, "changed": 1, "gone": 0}
    assert await feed(client, job, kind="gone") == set()


async def test_a_sitemap_that_was_cut_marks_nothing_gone(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    publish(web.host(SITE), "bread", "cake")
    await scanned(client)
    whole = urlset(f"{BASE}/bread", f"{BASE}/cake")
    web.host(SITE).xml("/sitemap.xml", whole[: whole.index("cake") - 20])
    job = await scanned(client)

    assert job["sitemaps"][0]["status"] == "partial"
    assert await feed(client, job, kind="gone") == set()


async def test_a_scan_with_fewer_max_pages_marks_nothing_gone(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    publish(web.host(SITE), "bread", "cake", "tart")
    await scanned(client)
    publish(web.host(SITE), "bread", "cake", "tart", "bun")
    job = await ended(client, (await scan(client, SITE, max_pages=1))["job_id"])

    assert job["result_data"]["truncated"]
    assert await feed(client, job, kind="gone") == set()


async def test_a_child_that_its_index_names_no_more_is_gone_with_its_urls(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    host = web.host(SITE)
    for child in ("old", "new"):
        host.xml(f"/{child}.xml", urlset(f"{BASE}/{child}-page"))
    host.xml("/sitemap.xml", index(f"{BASE}/old.xml", f"{BASE}/new.xml"))
    await scanned(client)
    host.xml("/sitemap.xml", index(f"{BASE}/new.xml"))
    job = await scanned(client)

    assert await feed(client, job, kind="gone") == {("gone", "old-page")}
    assert (await domain_of(client, job))["total_sitemaps"] == 2


async def test_a_child_that_cannot_be_had_is_not_gone(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    host = web.host(SITE)
    host.xml("/sitemap.xml", index(f"{BASE}/a.xml", f"{BASE}/b.xml"))
    host.xml("/a.xml", urlset(f"{BASE}/a"))
    host.xml("/b.xml", urlset(f"{BASE}/b"))
    await scanned(client)
    host.body("/b.xml", b"broken", status=500)
    job = await scanned(client)

    assert await feed(client, job, kind="gone") == set()


async def test_nothing_where_there_was_something_is_a_warning(
    client: httpx.AsyncClient, web: FakeWeb
) -> None:
    publish(web.host(SITE), "bread", "cake")
    await scanned(client)
    web.host(SITE).page("/sitemap.xml", "<!doctype html><title>Oops</title>")
    job = await scanned(client)
    domain = await domain_of(client, job)

    assert "found 2 URLs, this one none" in domain["scan_warning"]
    assert await feed(client, job, kind="gone") == set()


async def test_the_feed_pages_by_cursor(client: httpx.AsyncClient, web: FakeWeb) -> None:
    publish(web.host(SITE), *(str(number) for number in range(5)))
    job = await scanned(client)
    path, seen, cursor = f"/api/v3/domains/{job['domain_id']}/changes", [], None
    while True:
        given: dict[str, Any] = {"cursor": cursor} if cursor else {}
        page = (await client.get(path, params={"since": "2020-01-01", "limit": 2, **given})).json()
        seen += [each["url"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert sorted(seen) == [f"{BASE}/{number}" for number in range(5)]


RHYTHM = RescanPolicy(first=7 * DAY, shortest=DAY, longest=30 * DAY)


@pytest.mark.parametrize(
    ("previous", "changes", "expected"),
    [
        (8 * DAY, ScanChanges(added=1), 8 * DAY * CHANGED_FACTOR),
        (8 * DAY, ScanChanges(), 8 * DAY * UNCHANGED_FACTOR),
        (DAY, ScanChanges(gone=3), DAY),
        (29 * DAY, ScanChanges(), 30 * DAY),
    ],
)
def test_a_change_shortens_the_wait_and_a_look_in_vain_lengthens_it(
    previous: timedelta, changes: ScanChanges, expected: timedelta
) -> None:
    wait, why = RHYTHM.get_next_interval(previous, changes)
    assert wait == expected
    assert why.startswith("Next scan in ")
    assert ("changes" in why) == bool(changes)


def test_failures_double_the_wait_up_to_a_month() -> None:
    waits = [get_failure_interval(2 * DAY, failures)[0] / DAY for failures in range(1, 6)]
    assert waits == [4, 8, 16, 30, 30]


def test_ninety_days_of_looks_are_fresher_for_fewer_looks_than_a_fixed_rhythm() -> None:
    by_name = {habit.name: habit for habit in rescans.habits()}
    (_, adaptive, first), *fixed = rescans.policies()
    weekly = next(wait for name, wait, _ in fixed if name == "every 7 d")
    never, daily = by_name["never"], by_name["daily"]

    quiet = rescans.simulate(never, adaptive, first)
    assert quiet.looks < rescans.simulate(never, weekly, 7 * DAY).looks
    assert quiet.fresh == 1
    busy, rarely = (rescans.simulate(daily, wait, 7 * DAY) for wait in (adaptive, weekly))
    assert busy.fresh > 3 * rarely.fresh


async def test_the_domain_tells_when_the_next_look_is_and_why(
    client: httpx.AsyncClient, web: FakeWeb, database: Database
) -> None:
    publish(web.host(SITE), "bread")
    job = await scanned(client)
    first = await domain_of(client, job)
    await scanned(client)
    second = await domain_of(client, job)

    assert first["next_scan_why"] == "Next scan in 7 days, as after every first scan."
    assert second["next_scan_why"] == "Next scan in 9.5 days because nothing had changed."
