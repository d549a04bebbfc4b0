"""What is found on sites of all kinds, and what is said where nothing is."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest

from scrapersky.errors import InvalidInput
from scrapersky.scraper import (
    Analysis,
    BaseFound,
    Event,
    Fetcher,
    Limits,
    LocalGate,
    Method,
    Outcome,
    Refused,
    SitemapAnalyzer,
    SitemapDone,
    SitemapFound,
    SitemapStatus,
    SitemapType,
    UrlsFound,
)
from tests.fake_web import FakeHost, FakeWeb, index, urlset

SITE = "http://bakery.example"


@dataclass
class Told:
    """All that an analysis told, sorted."""

    events: list[Event] = field(default_factory=list)

    def every(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def analysis(self) -> Analysis:
        assert len(self.every(Analysis)) == 1
        last = self.events[-1]
        assert isinstance(last, Analysis)
        return last

    @property
    def urls(self) -> list[str]:
        return [entry.loc for event in self.every(UrlsFound) for entry in event.entries]

    @property
    def found(self) -> dict[str, SitemapFound]:
        return {event.url.removeprefix(SITE): event for event in self.every(SitemapFound)}

    @property
    def done(self) -> dict[str, SitemapDone]:
        return {event.url.removeprefix(SITE): event for event in self.every(SitemapDone)}

    @property
    def refused(self) -> dict[str, str]:
        return {event.url.removeprefix(SITE): event.reason for event in self.every(Refused)}


async def analyze(
    web: FakeWeb,
    site: str = "bakery.example",
    *,
    limits: Limits | None = None,
    fetching: dict[str, Any] | None = None,
    **options: Any,
) -> Told:
    async with Fetcher.from_settings(web.settings(**(fetching or {}))) as fetch:
        analyzer = SitemapAnalyzer(fetch, limits=limits)
        stream = analyzer.analyze_domain_sitemaps(site, **options)
        return Told([event async for event in stream])


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as web:
        web.host("bakery.example")
        yield web


@pytest.fixture
def bakery(web: FakeWeb) -> FakeHost:
    return web.host("bakery.example")


# Where sitemaps are found


async def test_robots_names_an_index_whose_children_are_read(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.robots("Sitemap: /index.xml")
    bakery.xml("/index.xml", index(f"{SITE}/a.xml", f"{SITE}/b.xml.gz"))
    bakery.encoded("/a.xml", urlset(f"{SITE}/1", f"{SITE}/2", lastmod="2024-01-01"))
    bakery.gz("/b.xml.gz", urlset(f"{SITE}/3"))

    told = await analyze(web)

    assert sorted(told.urls) == [f"{SITE}/1", f"{SITE}/2", f"{SITE}/3"]
    assert told.analysis == Analysis(Outcome.FOUND, SITE, sitemaps=3, urls=3)
    parent, child = told.found["/index.xml"], told.found["/b.xml.gz"]
    assert (parent.discovery_method, parent.depth) == (Method.ROBOTS_TXT, 0)
    assert (child.discovery_method, child.depth, child.is_gzipped) == (
        Method.SITEMAP_INDEX,
        1,
        True,
    )
    assert child.parent_url == f"{SITE}/index.xml"
    assert told.done["/index.xml"].sitemap_type is SitemapType.INDEX
    assert (told.done["/a.xml"].has_lastmod, told.done["/a.xml"].has_priority) == (True, False)


async def test_the_home_page_names_it_in_its_head(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.page("/", '<link rel="sitemap" href="/map.xml">').xml("/map.xml", urlset(f"{SITE}/1"))

    told = await analyze(web)

    assert told.found["/map.xml"].discovery_method is Method.HTML_LINK
    assert bakery.count("/sitemap.xml") == 0


async def test_well_known_paths_are_tried_until_one_has_a_sitemap(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.xml("/wp-sitemap.xml", urlset(f"{SITE}/1"))

    told = await analyze(web)

    assert told.found["/wp-sitemap.xml"].discovery_method is Method.COMMON_PATH
    assert told.refused["/sitemap.xml"] == "It answered 404."
    assert bakery.count("/atom.xml") == 0


async def test_an_exhaustive_look_tries_every_place(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.robots("Sitemap: /a.xml").xml("/a.xml", urlset(f"{SITE}/1"))
    bakery.body("/sitemap.txt", f"{SITE}/2\n")

    told = await analyze(web, exhaustive=True)

    assert told.found["/sitemap.txt"].sitemap_type is SitemapType.TEXT
    assert told.analysis.urls == 2
    assert bakery.count("/atom.xml") == 1


async def test_the_path_that_the_person_gave_is_honoured(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.page("/shop/", '<a href="more-sitemap.xml">map</a>')
    bakery.xml("/shop/more-sitemap.xml", urlset())
    bakery.xml("/shop/sitemap.xml", urlset(f"{SITE}/shop/1"))

    told = await analyze(web, "bakery.example/shop/", exhaustive=True)

    assert set(told.found) == {"/shop/more-sitemap.xml", "/shop/sitemap.xml"}


async def test_a_sitemap_that_the_person_gave_is_read_once(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.xml("/my-sitemap.xml", urlset(f"{SITE}/1"))

    told = await analyze(web, f"{SITE}/my-sitemap.xml", seeds=[f"{SITE}/my-sitemap.xml"])

    assert told.found["/my-sitemap.xml"].discovery_method is Method.MANUAL
    assert bakery.count("/my-sitemap.xml") == 1


async def test_sitemaps_on_another_host_are_read_and_foreign_pages_are_not_kept(
    web: FakeWeb, bakery: FakeHost
) -> None:
    pages = [f"{SITE}/1", "https://shop.bakery.example/2", "https://evil.example/3"]
    bakery.robots("Sitemap: http://cdn.example/map.xml")
    web.host("cdn.example").xml("/map.xml", urlset(*pages))

    told = await analyze(web)

    assert told.urls == pages[:2]
    assert told.done["http://cdn.example/map.xml"].dropped == {"foreign_host": 1}


async def test_types_follow_what_a_urlset_carries(web: FakeWeb, bakery: FakeHost) -> None:
    image = "<image:image><image:loc>/i.png</image:loc></image:image>"
    news = "<news:news><news:title>x</news:title></news:news>"
    for name, extension in {"image": image, "news": news + image, "standard": ""}.items():
        page = f"<urlset><url><loc>/{name}</loc>{extension}</url></urlset>"
        bakery.xml(f"/{name}.xml", page)
    bakery.robots("Sitemap: /image.xml\nSitemap: /news.xml\nSitemap: /standard.xml")

    told = await analyze(web)

    assert {url: done.sitemap_type for url, done in told.done.items()} == {
        "/image.xml": SitemapType.IMAGE,
        "/news.xml": SitemapType.NEWS,
        "/standard.xml": SitemapType.STANDARD,
    }


# Bases


async def test_http_answers_where_https_does_not(web: FakeWeb) -> None:
    told = await analyze(web)

    (base,) = told.every(BaseFound)
    assert base.base_url == SITE
    assert [url for url, _ in base.tried] == ["https://bakery.example"]


async def test_the_scheme_that_the_person_gave_is_tried_first(web: FakeWeb) -> None:
    told = await analyze(web, SITE)

    assert told.every(BaseFound) == [BaseFound(SITE)]


async def test_a_redirect_to_www_moves_the_base(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.redirect("/robots.txt", "http://www.bakery.example/robots.txt")
    www = web.host("www.bakery.example").xml("/sitemap.xml", urlset("http://bakery.example/1"))

    told = await analyze(web)

    assert told.analysis.base_url == "http://www.bakery.example"
    assert told.analysis.urls == 1
    assert www.count("/sitemap.xml") == 1
    assert told.analysis.warnings == ()


async def test_a_site_that_moved_keeps_the_pages_of_its_new_name(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.redirect("/robots.txt", "http://new.example/robots.txt")
    web.host("new.example").robots("Sitemap: /a.xml").xml("/a.xml", urlset("http://new.example/1"))

    told = await analyze(web)

    assert told.urls == ["http://new.example/1"]
    assert "another site" in told.analysis.warnings[0]


# Nothing, or nothing to be seen


async def test_soft_404_pages_are_no_sitemaps(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.soft_404()

    told = await analyze(web)

    assert told.analysis.outcome is Outcome.NONE
    assert told.every(SitemapFound) == []
    assert told.refused["/sitemap.xml"] == "It is a page of HTML, not a sitemap."
    assert len(told.analysis.refused) == len(told.refused) > 20


async def test_a_server_in_trouble_is_not_a_site_without_sitemaps(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.always(503, **{"Retry-After": "40"})

    told = await analyze(web)

    assert told.analysis.outcome is Outcome.UNREACHABLE
    assert told.analysis.retry_after == 40
    assert not told.analysis.permanent
    assert "503" in told.analysis.errors[0]
    assert len(bakery.seen) < 8


async def test_an_announced_sitemap_that_fails_is_not_none_either(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.robots("Sitemap: /a.xml").body("/a.xml", "", status=500)

    told = await analyze(web)

    assert told.analysis.outcome is Outcome.UNREACHABLE
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
    assert told.analysis.outcome is Outcome.FOUND


async def test_a_name_that_does_not_exist_is_unreachable_for_good() -> None:
    async def lookup(name: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "no")

    async with Fetcher(user_agent="test", lookup=lookup) as fetch:
        stream = SitemapAnalyzer(fetch).analyze_domain_sitemaps("nowhere.example")
        told = Told([event async for event in stream])

    assert len(told.events) == 1
    assert (told.analysis.outcome, told.analysis.permanent) == (Outcome.UNREACHABLE, True)
    assert [error.split(": ")[0] for error in told.analysis.errors] == [
        "https://nowhere.example",
        "https://www.nowhere.example",
        "http://nowhere.example",
        "http://www.nowhere.example",
    ]


async def test_nobody_at_home_is_unreachable_for_now(web: FakeWeb) -> None:
    told = await analyze(web, "127.0.0.1:1")

    assert (told.analysis.outcome, told.analysis.permanent) == (Outcome.UNREACHABLE, False)


async def test_a_private_site_is_refused_before_anything_is_asked(web: FakeWeb) -> None:
    with pytest.raises(InvalidInput):
        await analyze(web, "10.0.0.1")


# Once only


async def test_a_redirected_sitemap_is_read_once(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.redirect("/sitemap.xml", "/sitemap_index.xml")
    bakery.xml("/sitemap_index.xml", index(f"{SITE}/a.xml", f"{SITE}/sitemap.xml"))
    bakery.xml("/a.xml", urlset(f"{SITE}/1"))

    told = await analyze(web)

    assert told.analysis.sitemaps == 2
    assert bakery.count("/sitemap_index.xml") == 1
    assert told.found["/sitemap.xml"].final_url == f"{SITE}/sitemap_index.xml"


async def test_indexes_that_name_each_other_end(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.xml("/sitemap.xml", index(f"{SITE}/b.xml", f"{SITE}/sitemap.xml#again"))
    bakery.xml("/b.xml", index(f"{SITE}/sitemap.xml", f"{SITE}/b.xml"))

    told = await analyze(web)

    assert told.analysis.sitemaps == 2
    assert bakery.count("/sitemap.xml") == bakery.count("/b.xml") == 1


async def test_the_same_bytes_under_another_name_are_told_once(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.robots("Sitemap: /a.xml\nSitemap: /b.xml")
    for path in ("/a.xml", "/b.xml"):
        bakery.xml(path, urlset(f"{SITE}/1"))

    told = await analyze(web, limits=Limits(children_at_once=1))

    assert told.urls == [f"{SITE}/1"]
    assert told.refused == {"/b.xml": f"It has the same content as {SITE}/a.xml."}


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

    told = await analyze(web, max_urls=150, limits=Limits(children_at_once=1))

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

    deep = await analyze(web, limits=Limits(max_depth=3))
    many = await analyze(web, limits=Limits(max_files=2))

    assert deep.analysis.sitemaps == 4
    assert "deeper than 3" in (deep.analysis.truncated_why or "")
    assert many.analysis.sitemaps == 2
    assert "2 sitemaps" in (many.analysis.truncated_why or "")


async def test_too_large_a_sitemap_is_partial_with_what_was_read(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.xml("/sitemap.xml", urlset(*(f"{SITE}/{n}" for n in range(9_000))))

    told = await analyze(web, limits=Limits(max_bytes=100_000))

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

    async with asyncio.timeout(4):
        told = await analyze(web, limits=Limits(max_seconds=0.6))

    assert told.urls == [f"{SITE}/1"]
    assert told.done["/slow.xml"].status is SitemapStatus.ERROR
    assert told.analysis.outcome is Outcome.FOUND
    assert "time" in (told.analysis.truncated_why or "")


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
