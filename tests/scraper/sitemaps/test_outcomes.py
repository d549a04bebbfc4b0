"""The reported outcome of a scan and of each sitemap, including empty and failed ones."""

from __future__ import annotations

import socket

import pytest

from scrapersky.errors import InvalidInput
from scrapersky.scraper import (
    Fetcher,
    ScanLimits,
    ScanOutcome,
    SitemapAnalyzer,
    SitemapFound,
    SitemapStatus,
)
from scrapersky.scraper.sitemaps.sitemap_analyzer import COMMON_PATHS
from tests.fake_web import FakeHost, FakeWeb, index, urlset
from tests.scraper.sites import SITE, Told, analyze

# Nothing, or nothing to be seen


async def test_soft_404_pages_are_no_sitemaps(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.soft_404()

    told = await analyze(web)

    assert told.analysis.outcome is ScanOutcome.NONE
    assert told.every(SitemapFound) == []
    assert told.refused["/sitemap.xml"] == "It is an HTML page, not a sitemap."
    assert len(told.analysis.refused) == len(told.refused) > 20


async def test_a_server_in_trouble_is_not_a_site_without_sitemaps(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.always(503, **{"Retry-After": "40"})

    told = await analyze(web)

    assert told.analysis.outcome is ScanOutcome.UNREACHABLE
    assert told.analysis.retry_after == 40
    assert not told.analysis.permanent
    assert "503" in told.analysis.errors[0]
    assert len(bakery.seen) < 8


async def test_an_announced_sitemap_that_fails_is_not_none_either(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.robots("Sitemap: /a.xml").body("/a.xml", "", status=500)

    told = await analyze(web)

    assert told.analysis.outcome is ScanOutcome.UNREACHABLE
    assert told.done["/a.xml"].status is SitemapStatus.ERROR
    assert told.done["/a.xml"].reason == "It answered 500."


async def test_an_announced_page_of_html_is_refused_and_the_usual_places_are_tried(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.robots("Sitemap: /a.xml").page("/a.xml", "<!doctype html><p>x")
    bakery.xml("/sitemap.xml", urlset(f"{SITE}/1"))

    told = await analyze(web)

    assert told.done["/a.xml"].status is SitemapStatus.REFUSED
    assert told.done["/sitemap.xml"].status is SitemapStatus.OK
    assert told.analysis.outcome is ScanOutcome.FOUND


async def test_a_name_that_does_not_exist_is_unreachable_for_good() -> None:
    async def lookup(name: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "no")

    async with Fetcher(user_agent="test", lookup=lookup) as fetch:
        stream = SitemapAnalyzer(fetch).analyze_domain_sitemaps("nowhere.example")
        told = Told([event async for event in stream])

    assert len(told.events) == 1
    assert (told.analysis.outcome, told.analysis.permanent) == (ScanOutcome.UNREACHABLE, True)
    assert told.analysis.errors == (
        "nowhere.example does not resolve (tried over https and http, with and without www).",
    )


async def test_nobody_at_home_is_unreachable_for_now(web: FakeWeb) -> None:
    told = await analyze(web, "127.0.0.1:1")

    assert (told.analysis.outcome, told.analysis.permanent) == (ScanOutcome.UNREACHABLE, False)


async def test_a_private_site_is_refused_before_anything_is_asked(web: FakeWeb) -> None:
    with pytest.raises(InvalidInput):
        await analyze(web, "10.0.0.1")


async def test_each_thing_that_went_wrong_is_said_once() -> None:
    async def lookup(name: str) -> list[str]:
        if name.startswith("www."):
            raise socket.gaierror(socket.EAI_NONAME, "no")
        return ["10.0.0.1"]

    async with Fetcher(user_agent="test", lookup=lookup) as fetch:
        stream = SitemapAnalyzer(fetch).analyze_domain_sitemaps("inside.example")
        told = Told([event async for event in stream])

    assert told.analysis.errors == (
        "inside.example resolves to an address that is not public. Use FETCH_ALLOW_NETWORKS to "
        "allow it (tried over https and http).",
        "inside.example does not resolve (tried over https and http).",
    )


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
async def test_closed_doors_are_not_a_site_without_sitemaps(
    web: FakeWeb, bakery: FakeHost, status: int
) -> None:
    bakery.always(status)

    told = await analyze(web)

    assert told.analysis.outcome is ScanOutcome.UNREACHABLE
    assert any(str(status) in error for error in told.analysis.errors)


@pytest.mark.parametrize("status", [404, 410, 400, 451])
async def test_where_everything_says_no_there_is_none(
    web: FakeWeb, bakery: FakeHost, status: int
) -> None:
    bakery.always(status)

    told = await analyze(web)

    assert (told.analysis.outcome, told.analysis.errors) == (ScanOutcome.NONE, ())


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_robots_txt_in_trouble_keeps_us_from_pages_and_from_saying_none(
    web: FakeWeb, bakery: FakeHost, status: int
) -> None:
    bakery.body("/robots.txt", "Sitemap: /a.xml", status=status)

    told = await analyze(web)

    assert told.analysis.outcome is ScanOutcome.UNREACHABLE
    assert told.analysis.errors[0].startswith(f"{SITE}/robots.txt answered {status}")
    assert bakery.count("/") == 0


async def test_a_robots_txt_in_trouble_does_not_hide_a_sitemap_in_its_usual_place(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.body("/robots.txt", "", status=500).xml("/sitemap.xml", urlset(f"{SITE}/1"))

    told = await analyze(web)

    assert (told.analysis.outcome, told.urls) == (ScanOutcome.FOUND, [f"{SITE}/1"])
    assert "robots.txt answered 500" in told.analysis.errors[0]


@pytest.mark.parametrize("status", [401, 403, 404, 410])
async def test_a_robots_txt_that_is_not_there_forbids_nothing(
    web: FakeWeb, bakery: FakeHost, status: int
) -> None:
    bakery.body("/robots.txt", "User-agent: *\nDisallow: /", status=status)
    bakery.page("/", '<link rel="sitemap" href="/a.xml">').xml("/a.xml", urlset(f"{SITE}/1"))

    told = await analyze(web)

    assert told.urls == [f"{SITE}/1"]


async def test_a_robots_txt_that_only_redirects_is_not_there(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.redirect("/robots.txt", "/robots.txt?again").redirect("/robots.txt?again", "/robots.txt")
    bakery.xml("/sitemap.xml", urlset(f"{SITE}/1"))

    told = await analyze(web, SITE)

    assert told.urls == [f"{SITE}/1"]


async def test_a_home_page_that_cannot_be_read_may_name_a_sitemap(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.body("/", "", status=403)

    told = await analyze(web)

    assert told.analysis.outcome is ScanOutcome.UNREACHABLE
    assert told.analysis.errors == (
        f"{SITE}/ could not be searched for sitemap links: It answered 403.",
    )


@pytest.mark.parametrize("way", ["hang", "closes"])
async def test_silence_is_not_a_site_without_sitemaps(
    web: FakeWeb, bakery: FakeHost, way: str
) -> None:
    for path in ("/", *(f"/{each}" for each in COMMON_PATHS)):
        getattr(bakery, way)(path)

    told = await analyze(web, fetching={"fetch_timeout_seconds": 0.2})

    assert told.analysis.outcome is ScanOutcome.UNREACHABLE
    assert len(bakery.seen) < len(COMMON_PATHS) / 2


async def test_bad_tls_everywhere_is_said_with_its_reason() -> None:
    async with FakeWeb(tls=True) as web:
        web.host("bakery.example")
        told = await analyze(web, "https://bakery.example")

    assert told.analysis.outcome is ScanOutcome.UNREACHABLE
    assert "failed: its certificate is not signed by a trusted authority" in told.analysis.errors[0]


# Verdicts


async def test_one_failing_sitemap_does_not_end_the_others(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.robots("\n".join(f"Sitemap: /{name}.xml" for name in "abcdef"))
    bakery.closes("/a.xml").redirect("/b.xml", "/b.xml").page("/c.xml", "<html>")
    bakery.redirect("/d.xml", "http://10.0.0.1/").breaks_off(
        "/e.xml", urlset(f"{SITE}/half").encode(), promised=9_999
    )
    bakery.xml("/f.xml", urlset(f"{SITE}/1"))

    told = await analyze(web)

    assert {url: str(done.status) for url, done in told.done.items()} == {
        "/a.xml": "error",
        "/b.xml": "error",
        "/c.xml": "refused",
        "/d.xml": "error",
        "/e.xml": "partial",
        "/f.xml": "ok",
    }
    assert sorted(told.urls) == [f"{SITE}/1", f"{SITE}/half"]


async def test_every_place_ends_with_a_verdict_and_all_but_good_ones_with_a_reason(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.robots("Sitemap: /i.xml\nSitemap: /empty.xml\nSitemap: /cut.xml\nSitemap: /pdf")
    bakery.xml("/i.xml", index(f"{SITE}/ok.xml", f"{SITE}/gone.xml", f"{SITE}/ok.xml?copy"))
    bakery.xml("/ok.xml", urlset(f"{SITE}/1")).xml("/ok.xml?copy", urlset(f"{SITE}/1"))
    bakery.xml("/empty.xml", "").xml("/cut.xml", urlset(f"{SITE}/2", f"{SITE}/3")[:-40])
    bakery.body("/pdf", b"%PDF-1.7\n\x00\xff", "application/pdf")

    told = await analyze(web, limits=ScanLimits(children_at_once=1))

    assert {url: (str(done.status), bool(done.reason)) for url, done in told.done.items()} == {
        "/i.xml": ("ok", False),
        "/empty.xml": ("refused", True),
        "/cut.xml": ("partial", True),
        "/pdf": ("refused", True),
        "/ok.xml": ("ok", False),
        "/gone.xml": ("error", True),
    }
    assert list(told.refused) == ["/ok.xml?copy"]
    assert set(told.done) == set(told.found)
