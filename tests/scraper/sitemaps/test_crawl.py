"""Where sitemaps are searched for, and in which order."""

from __future__ import annotations

import pytest
from aiohttp.web import BaseRequest, Response, StreamResponse
from multidict import CIMultiDict

from scrapersky.scraper import (
    Analysis,
    BaseFound,
    DiscoveryMethod,
    ScanLimits,
    ScanOutcome,
    SitemapStatus,
    SitemapType,
)
from scrapersky.scraper.sitemaps.sitemap_analyzer import COMMON_PATHS
from tests.fake_web import FakeHost, FakeWeb, index, urlset
from tests.scraper.sites import SITE, analyze

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
    assert told.analysis == Analysis(ScanOutcome.FOUND, SITE, sitemaps=3, urls=3)
    parent, child = told.found["/index.xml"], told.found["/b.xml.gz"]
    assert (parent.discovery_method, parent.depth) == (DiscoveryMethod.ROBOTS_TXT, 0)
    assert (child.discovery_method, child.depth, child.is_gzipped) == (
        DiscoveryMethod.SITEMAP_INDEX,
        1,
        True,
    )
    assert child.parent_url == f"{SITE}/index.xml"
    assert told.done["/index.xml"].sitemap_type is SitemapType.INDEX
    assert (told.done["/a.xml"].has_lastmod, told.done["/a.xml"].has_priority) == (True, False)


async def test_the_home_page_names_it_in_its_head(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.page("/", '<link rel="sitemap" href="/map.xml">').xml("/map.xml", urlset(f"{SITE}/1"))

    told = await analyze(web)

    assert told.found["/map.xml"].discovery_method is DiscoveryMethod.HTML_LINK
    assert bakery.count("/sitemap.xml") == 0


async def test_well_known_paths_are_tried_until_one_has_a_sitemap(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.xml("/wp-sitemap.xml", urlset(f"{SITE}/1"))

    told = await analyze(web)

    assert told.found["/wp-sitemap.xml"].discovery_method is DiscoveryMethod.COMMON_PATH
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

    assert told.found["/my-sitemap.xml"].discovery_method is DiscoveryMethod.MANUAL
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


# Order


async def test_the_order_is_robots_then_pages_then_the_usual_places(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.robots("Sitemap: /from-robots.xml").page("/", '<link rel="sitemap" href="/head.xml">')

    told = await analyze(web, exhaustive=True)

    usual = [f"/{path}" for path in COMMON_PATHS]
    assert bakery.paths[:4] == ["/robots.txt", "/from-robots.xml", "/", "/head.xml"]
    assert sorted(bakery.paths[4:]) == sorted(usual)
    assert bakery.paths[4] == "/sitemap.xml"
    assert set(bakery.paths[-3:]) == {"/rss.xml", "/feed", "/atom.xml"}
    assert told.analysis.outcome is ScanOutcome.NONE


@pytest.mark.parametrize("path", COMMON_PATHS)
async def test_every_usual_place_is_found_when_it_is_the_only_one(
    web: FakeWeb, bakery: FakeHost, path: str
) -> None:
    bakery.soft_404().xml(f"/{path}", urlset(f"{SITE}/1"))

    told = await analyze(web)

    assert told.urls == [f"{SITE}/1"]
    assert told.found[f"/{path}"].discovery_method is DiscoveryMethod.COMMON_PATH


async def test_the_usual_places_are_left_alone_where_the_site_names_its_sitemap(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.robots("Sitemap: /a.xml").xml("/a.xml", urlset(f"{SITE}/1"))

    await analyze(web)

    assert bakery.paths == ["/robots.txt", "/a.xml", "/"]


async def test_a_link_header_names_sitemaps_on_any_of_its_lines(
    web: FakeWeb, bakery: FakeHost
) -> None:
    async def home(request: BaseRequest) -> StreamResponse:
        headers = [
            ("Link", "</style.css>; rel=preload"),
            (
                "Link",
                '</a.xml>; type="application/xml"; rel="alternate sitemap", </b.xml>; rel=next',
            ),
        ]
        return Response(text="hello", headers=CIMultiDict(headers))

    bakery.route("/", home).xml("/a.xml", urlset(f"{SITE}/1"))

    told = await analyze(web)

    assert list(told.found) == ["/a.xml"]
    assert bakery.count("/b.xml") == 0


# The path that the person gave


async def test_a_page_that_the_person_gave_is_read_before_the_home_page(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.page("/shop/", '<link rel="sitemap" href="a.xml">')
    bakery.page("/", '<link rel="sitemap" href="/b.xml">')
    bakery.xml("/shop/a.xml", urlset(f"{SITE}/shop/1")).xml("/b.xml", urlset(f"{SITE}/2"))

    told = await analyze(web, "bakery.example/shop/")

    assert bakery.paths == ["/robots.txt", "/shop/", "/shop/a.xml", "/", "/b.xml"]
    assert sorted(told.urls) == [f"{SITE}/2", f"{SITE}/shop/1"]


async def test_robots_of_the_host_counts_below_a_path_too(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.robots("Sitemap: /a.xml\nUser-agent: *\nDisallow: /shop")
    bakery.xml("/a.xml", urlset(f"{SITE}/1"))

    told = await analyze(web, "bakery.example/shop/")

    assert bakery.paths == ["/robots.txt", "/a.xml", "/"]
    assert "disallows http://bakery.example/shop/" in told.analysis.warnings[0]


@pytest.mark.parametrize("start", ["/shop", "/shop/", "/shop/index.html", "/shop/?page=1"])
async def test_the_usual_places_are_tried_below_the_path_first(
    web: FakeWeb, bakery: FakeHost, start: str
) -> None:
    bakery.xml("/shop/sitemap_index.xml", urlset(f"{SITE}/shop/1"))
    bakery.xml("/sitemap.xml", urlset(f"{SITE}/1"))

    told = await analyze(web, f"bakery.example{start}")

    assert list(told.found) == ["/shop/sitemap_index.xml"]
    assert bakery.count("/sitemap.xml") == 0


async def test_where_nothing_is_below_the_path_the_root_is_tried(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.xml("/sitemap.xml", urlset(f"{SITE}/1"))

    told = await analyze(web, "bakery.example/shop/")

    assert list(told.found) == ["/sitemap.xml"]
    assert {f"/shop/{path}" for path in COMMON_PATHS} < set(bakery.paths)


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

    told = await analyze(web, limits=ScanLimits(children_at_once=1))

    assert told.urls == [f"{SITE}/1"]
    assert told.refused == {"/b.xml": f"It has the same content as {SITE}/a.xml."}


async def test_a_name_that_redirects_to_one_already_read_says_so(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.robots("Sitemap: /new.xml\nSitemap: /old.xml").redirect("/old.xml", "/new.xml")
    bakery.xml("/new.xml", urlset(f"{SITE}/1"))

    told = await analyze(web, limits=ScanLimits(children_at_once=1))

    assert told.urls == [f"{SITE}/1"]
    assert told.refused == {
        "/old.xml": f"It redirects to {SITE}/new.xml, which is read separately."
    }


@pytest.mark.parametrize("at_once", [1, 4])
async def test_large_twins_are_told_once_however_they_are_packed(
    web: FakeWeb, bakery: FakeHost, at_once: int
) -> None:
    pages = [f"{SITE}/{number}" for number in range(20_000)]
    bakery.robots("Sitemap: /a.xml\nSitemap: /b.xml\nSitemap: /longer.xml\nSitemap: /c.xml")
    for path in ("/a.xml", "/b.xml", "/c.xml"):
        bakery.xml(path, urlset(*pages))
    bakery.xml("/longer.xml", urlset(*pages, f"{SITE}/one-more"))

    told = await analyze(web, limits=ScanLimits(children_at_once=at_once))

    assert len(told.urls) == 20_000 + 20_001
    assert len(told.refused) == 2
    assert {reason[:24] for reason in told.refused.values()} == {"It has the same content "}
    assert {str(done.status) for done in told.done.values()} == {"ok"}


async def test_a_twin_of_a_sitemap_that_was_cut_short_is_read_itself(
    web: FakeWeb, bakery: FakeHost
) -> None:
    pages = urlset(*(f"{SITE}/{number}" for number in range(20_000))).encode()
    bakery.robots("Sitemap: /a.xml\nSitemap: /b.xml")
    bakery.breaks_off("/a.xml", pages[:500_000], promised=len(pages)).xml("/b.xml", pages)

    told = await analyze(web)

    assert told.done["/a.xml"].status is SitemapStatus.PARTIAL
    assert told.done["/b.xml"].status is SitemapStatus.OK
    assert len(set(told.urls)) == 20_000


async def test_only_the_given_sitemap_and_its_children_are_read_when_that_is_asked(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.robots("Sitemap: /everything.xml").xml("/everything.xml", urlset(f"{SITE}/other"))
    bakery.xml("/mine.xml", index(f"{SITE}/a.xml")).xml("/a.xml", urlset(f"{SITE}/1"))

    told = await analyze(web, seeds=[f"{SITE}/mine.xml"], only_seeds=True)

    assert told.urls == [f"{SITE}/1"]
    assert told.found["/mine.xml"].discovery_method is DiscoveryMethod.MANUAL
    assert set(bakery.paths) == {"/robots.txt", "/mine.xml", "/a.xml"}
