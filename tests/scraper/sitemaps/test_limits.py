"""The limits of a scan, and its rate limits."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import aclosing

from aiohttp.web import BaseRequest, Response, StreamResponse

from scrapersky.scraper import (
    Fetcher,
    LocalGate,
    ScanLimits,
    ScanOutcome,
    SitemapAnalyzer,
    SitemapDone,
    SitemapFound,
    SitemapStatus,
    UrlsFound,
)
from tests.fake_web import FakeHost, FakeWeb, index, urlset
from tests.scraper.sites import SITE, analyze

# Limits


async def test_events_of_a_sitemap_keep_their_order_and_size(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.robots("\n".join(f"Sitemap: /{n}.xml" for n in range(4)))
    for n in range(4):
        bakery.gz(f"/{n}.xml", urlset(*(f"{SITE}/{n}/{page}" for page in range(12_000))))

    told = await analyze(web)

    assert told.analysis.urls == len(set(told.urls)) == 48_000
    assert max(len(event.entries) for event in told.every(UrlsFound)) <= 5_000
    for n in range(4):
        url = f"{SITE}/{n}.xml"
        kinds = [
            type(event)
            for event in told.events
            if url in (getattr(event, "url", None), getattr(event, "sitemap_url", None))
        ]
        assert kinds == [SitemapFound, UrlsFound, UrlsFound, UrlsFound, SitemapDone]
        assert told.done[f"/{n}.xml"].url_count == 12_000


async def test_the_limit_of_urls_truncates_and_says_so(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.robots("Sitemap: /i.xml").xml("/i.xml", index(*(f"{SITE}/{n}.xml" for n in range(9))))
    for n in range(9):
        bakery.xml(f"/{n}.xml", urlset(*(f"{SITE}/{n}/{page}" for page in range(100))))

    told = await analyze(web, max_urls=150, limits=ScanLimits(children_at_once=1))

    assert len(told.urls) == told.analysis.urls == 150
    assert told.analysis.truncated_why == "The limit of 150 URLs was reached."
    assert told.done["/1.xml"].status is SitemapStatus.PARTIAL
    assert bakery.count("/2.xml") == 0


async def test_exactly_as_many_urls_as_allowed_is_not_truncated(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.xml("/sitemap.xml", urlset(f"{SITE}/1", f"{SITE}/2"))

    told = await analyze(web, max_urls=2)

    assert (told.analysis.urls, told.analysis.truncated) == (2, False)


async def test_the_limits_of_depth_and_files_truncate(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.xml("/sitemap.xml", index(f"{SITE}/1.xml"))
    for n in range(1, 9):
        bakery.xml(f"/{n}.xml", index(f"{SITE}/{n + 1}.xml"))

    deep = await analyze(web, limits=ScanLimits(max_depth=3))
    many = await analyze(web, limits=ScanLimits(max_files=2))

    assert deep.analysis.sitemaps == 4
    assert "more than 3 levels" in (deep.analysis.truncated_why or "")
    assert many.analysis.sitemaps == 2
    assert "2 sitemaps" in (many.analysis.truncated_why or "")


async def test_too_large_a_sitemap_is_partial_with_what_was_read(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.xml("/sitemap.xml", urlset(*(f"{SITE}/{n}" for n in range(9_000))))

    told = await analyze(web, limits=ScanLimits(max_bytes=100_000))

    done = told.done["/sitemap.xml"]
    assert done.status is SitemapStatus.PARTIAL
    assert "larger than 100000 bytes" in (done.reason or "")
    assert 1_000 < done.url_count == len(told.urls) < 9_000
    assert done.content_hash is None
    assert told.analysis.truncated


async def test_when_time_is_over_the_scan_ends_with_what_it_has(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.robots("Sitemap: /a.xml\nSitemap: /slow.xml")
    bakery.xml("/a.xml", urlset(f"{SITE}/1")).hang("/slow.xml").hang("/")

    told = await analyze(web, limits=ScanLimits(max_seconds=4))

    assert told.urls == [f"{SITE}/1"]
    assert told.done["/slow.xml"].status is SitemapStatus.ERROR
    assert told.analysis.outcome is ScanOutcome.FOUND
    assert "time" in (told.analysis.truncated_why or "")


async def test_unpacking_too_much_truncates(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.gz("/sitemap.xml", urlset(*(f"{SITE}/{n}" for n in range(9_000))))

    told = await analyze(web, limits=ScanLimits(max_decompressed_bytes=100_000))

    assert told.done["/sitemap.xml"].status is SitemapStatus.PARTIAL
    assert "more than 100000 bytes" in (told.analysis.truncated_why or "")
    assert 1_000 < len(told.urls) < 9_000


async def test_bombs_on_either_layer_are_cut_and_reported(web: FakeWeb, bakery: FakeHost) -> None:
    bomb = gzip.compress(b"<urlset>" + b" " * 40_000_000)
    bakery.robots("Sitemap: /file.xml.gz\nSitemap: /coded.xml\nSitemap: /both.xml")
    bakery.body("/file.xml.gz", bomb, "application/gzip")
    bakery.body("/coded.xml", bomb + b" ", headers={"Content-Encoding": "gzip"})
    bakery.body("/both.xml", gzip.compress(bomb), headers={"Content-Encoding": "gzip"})

    told = await analyze(web)

    assert told.analysis.truncated
    for path in ("/file.xml.gz", "/coded.xml", "/both.xml"):
        assert "times its size" in (told.done[path].reason or "")
        assert told.done[path].status is not SitemapStatus.OK


async def test_a_scan_that_has_no_time_at_all_ends(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.hang("/robots.txt")

    told = await analyze(web, limits=ScanLimits(max_seconds=0.2))

    assert told.analysis.outcome is ScanOutcome.UNREACHABLE
    assert "within 0.2 s" in told.analysis.errors[0]


async def test_an_index_that_names_itself_in_ever_new_ways_ends_at_the_limit(
    web: FakeWeb, bakery: FakeHost
) -> None:
    async def endless(request: BaseRequest) -> StreamResponse:
        number = int(request.query.get("n", 0))
        return Response(
            text=index(*(f"{SITE}/sitemap.xml?n={number * 5 + n}" for n in range(1, 6)))
        )

    bakery.otherwise = endless
    bakery.robots("Sitemap: /sitemap.xml").page("/", "hello")

    told = await analyze(web, limits=ScanLimits(max_files=30, max_depth=20))

    assert told.analysis.sitemaps == 30
    assert "30 sitemaps" in (told.analysis.truncated_why or "")


# Manners


async def test_no_more_than_four_requests_are_under_way(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.robots("Sitemap: /i.xml").xml("/i.xml", index(*(f"{SITE}/{n}.xml" for n in range(12))))
    for n in range(12):
        bakery.drip(f"/{n}.xml", urlset(f"{SITE}/{n}").encode(), every_seconds=0.01, size=60)

    told = await analyze(web)

    assert told.analysis.urls == 12
    assert 2 <= bakery.most_in_flight <= 4


async def test_the_crawl_delay_of_robots_reaches_the_gate(web: FakeWeb, bakery: FakeHost) -> None:
    asked: list[tuple[str, float]] = []

    class Gate(LocalGate):
        async def set_crawl_delay(self, host: str, seconds: float) -> None:
            asked.append((host, seconds))

    bakery.robots("User-agent: *\nCrawl-delay: 90")
    async with Fetcher.from_settings(web.settings(), Gate()) as fetch:
        async for _ in SitemapAnalyzer(fetch).analyze_domain_sitemaps("bakery.example"):
            pass

    assert asked == [("bakery.example", 30.0)]


async def test_a_page_that_robots_forbids_is_not_read(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.robots("User-agent: *\nDisallow: /").xml("/sitemap.xml", urlset(f"{SITE}/1"))

    told = await analyze(web)

    assert bakery.count("/") == 0
    assert told.analysis.urls == 1


async def test_stopping_early_leaves_nothing_running(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.robots("\n".join(f"Sitemap: /{n}.xml" for n in range(6)))
    bakery.xml("/0.xml", urlset(f"{SITE}/1"))
    for n in range(1, 6):
        bakery.hang(f"/{n}.xml")

    async with Fetcher.from_settings(web.settings()) as fetch:
        stream = SitemapAnalyzer(fetch).analyze_domain_sitemaps("bakery.example")
        async with aclosing(stream):
            async for event in stream:
                if isinstance(event, UrlsFound):
                    break
        running = [
            task for task in asyncio.all_tasks() if "_visit" in repr(task) and not task.done()
        ]

    assert running == []
