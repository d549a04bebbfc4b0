"""The town serves each site as it is declared."""

from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator
from time import monotonic

import aiohttp
import pytest

from scrapersky.demo.sites import server_quirks, sitemap_formats, streets, without_contacts
from scrapersky.demo.sites.builder import SitemapOutcome, TownSite
from scrapersky.demo.town import SITES, Town
from scrapersky.settings import SettingsSource, load_settings

LOC = re.compile(r"<loc>([^<]+)</loc>")


@pytest.fixture
async def town() -> AsyncIterator[Town]:
    async with Town() as opened:
        yield opened


@pytest.fixture
async def visit(town: Town) -> AsyncIterator[Visitor]:
    async with aiohttp.ClientSession() as session:
        yield Visitor(town, session)


class Visitor:
    """A plain client that asks the town's one port for a name and a path."""

    def __init__(self, town: Town, session: aiohttp.ClientSession) -> None:
        self._base = f"http://127.0.0.1:{town.port}"
        self._session = session

    async def __call__(self, name: str, path: str) -> tuple[aiohttp.ClientResponse, bytes]:
        headers = {"Host": name}
        async with self._session.get(
            self._base + path, headers=headers, allow_redirects=False
        ) as answer:
            return answer, await answer.read()

    async def text(self, site: TownSite, path: str) -> str:
        answer, body = await self(site.base_url.removeprefix("http://"), path)
        assert answer.status == 200
        return body.decode()

    async def locs(self, site: TownSite, path: str) -> list[str]:
        return LOC.findall(await self.text(site, path))


def test_names_are_different_and_reserved_for_examples() -> None:
    names = [site.name for site in SITES]
    assert len(set(names)) == len(names)
    assert all(name.endswith(".example") for name in names)


def test_every_site_says_in_one_sentence_what_it_shows() -> None:
    assert all(site.shows.endswith(".") for site in SITES)


def test_the_town_is_the_same_every_time() -> None:
    again = [(site.name, site.expected) for site in streets.iter_sites()]
    assert again == [(site.name, site.expected) for site in SITES if site.is_ordinary]


def test_the_town_has_every_ending() -> None:
    assert {site.expected.ending for site in SITES} == set(SitemapOutcome)


def test_only_found_sites_expect_urls() -> None:
    assert all((site.expected.urls > 0) == (site.expected.ending == "found") for site in SITES)


async def test_environment_pins_every_name_and_its_www(town: Town) -> None:
    source = SettingsSource(environ=town.environment(), env_file=None)
    settings = load_settings(source)
    assert set(settings.resolve) == {
        *(site.name for site in town.sites),
        f"www.{server_quirks.PHARMACY_NAME}",
    }
    assert set(settings.resolve.values()) == {("127.0.0.1", town.port)}


async def test_a_name_from_elsewhere_is_turned_away(visit: Visitor) -> None:
    answer, _ = await visit("elsewhere.example", "/")
    assert answer.status == 421


async def test_bakery_links_its_sitemap_from_its_home_page(visit: Visitor) -> None:
    home = await visit.text(sitemap_formats.BAKERY, "/")
    assert '<link rel="sitemap"' in home
    path = re.findall(r'href="([^"]+)"', home)[0]
    assert (
        len(await visit.locs(sitemap_formats.BAKERY, path)) == sitemap_formats.BAKERY.expected.urls
    )


async def test_newspaper_has_an_index_of_compressed_children(visit: Visitor) -> None:
    assert "Sitemap: " in await visit.text(sitemap_formats.NEWSPAPER, "/robots.txt")
    children = await visit.locs(sitemap_formats.NEWSPAPER, "/sitemaps/index.xml")
    urls = []
    for child in children:
        _, body = await visit(
            sitemap_formats.NEWSPAPER_NAME, child.removeprefix(sitemap_formats.NEWSPAPER_BASE)
        )
        unpacked = gzip.decompress(body) if child.endswith(".gz") else body
        urls += LOC.findall(unpacked.decode())
    assert len(set(urls)) == sitemap_formats.NEWSPAPER.expected.urls > 3_000


async def test_museum_asks_for_a_pause_and_names_two_sitemaps(visit: Visitor) -> None:
    robots = await visit.text(sitemap_formats.MUSEUM, "/robots.txt")
    assert "Crawl-delay: 0.2" in robots
    sitemaps = re.findall(r"Sitemap: http://[^/]+(\S+)", robots)
    urls = [url for path in sitemaps for url in await visit.locs(sitemap_formats.MUSEUM, path)]
    assert (len(sitemaps), len(urls)) == (2, sitemap_formats.MUSEUM.expected.urls)


async def test_florist_names_its_sitemap_nowhere(visit: Visitor) -> None:
    answer, _ = await visit(sitemap_formats.FLORIST_NAME, "/robots.txt")
    assert answer.status == 404
    assert "sitemap" not in await visit.text(sitemap_formats.FLORIST, "/")
    [child] = await visit.locs(sitemap_formats.FLORIST, "/wp-sitemap.xml")
    urls = await visit.locs(
        sitemap_formats.FLORIST, child.removeprefix(sitemap_formats.FLORIST_BASE)
    )
    assert len(urls) == sitemap_formats.FLORIST.expected.urls


async def test_bookshop_lists_its_urls_in_plain_text(visit: Visitor) -> None:
    lines = (await visit.text(sitemap_formats.BOOKSHOP, "/sitemap.txt")).splitlines()
    assert len(lines) == sitemap_formats.BOOKSHOP.expected.urls


async def test_choir_has_a_feed_and_no_sitemap(visit: Visitor) -> None:
    answer, _ = await visit(sitemap_formats.CHOIR_NAME, "/sitemap.xml")
    assert answer.status == 404
    feed = await visit.text(sitemap_formats.CHOIR, "/rss.xml")
    assert feed.count("<item>") == sitemap_formats.CHOIR.expected.urls


async def test_pharmacy_redirects_to_its_www_name(visit: Visitor) -> None:
    answer, _ = await visit(server_quirks.PHARMACY_NAME, "/sitemap.xml?a=b")
    assert answer.status == 301
    assert answer.headers["Location"] == f"http://www.{server_quirks.PHARMACY_NAME}/sitemap.xml?a=b"
    assert (
        len(await visit.locs(server_quirks.PHARMACY, "/sitemap.xml"))
        == server_quirks.PHARMACY.expected.urls
    )


async def test_library_is_slow_and_comes_to_an_end(visit: Visitor) -> None:
    began = monotonic()
    urls = await visit.locs(server_quirks.LIBRARY, "/sitemap.xml")
    assert monotonic() - began >= server_quirks.LIBRARY_SITEMAP_SECONDS * 0.9
    assert len(urls) == server_quirks.LIBRARY.expected.urls


async def test_brewery_is_cut_inside_a_url_and_has_bare_ampersands(visit: Visitor) -> None:
    text = await visit.text(server_quirks.BREWERY, "/sitemap.xml")
    assert "&brew=1<" in text
    assert "</urlset>" not in text
    assert len(LOC.findall(text)) == server_quirks.BREWERY.expected.urls == text.count("<loc>") - 1


async def test_bicycles_announces_a_sitemap_that_is_missing(visit: Visitor) -> None:
    robots = await visit.text(server_quirks.BICYCLE_SHOP, "/robots.txt")
    [path] = re.findall(r"Sitemap: http://[^/]+(\S+)", robots)
    answer, _ = await visit(server_quirks.BICYCLE_SHOP_NAME, path)
    assert answer.status == 404


async def test_hotel_answers_everything_with_a_page(visit: Visitor) -> None:
    for path in ("/", "/robots.txt", "/sitemap.xml", "/never/heard/of"):
        assert (await visit.text(server_quirks.HOTEL, path)).startswith("<!doctype html>")


async def test_barber_says_honestly_what_is_not_there(visit: Visitor) -> None:
    assert "Golden Scissors" in await visit.text(without_contacts.BARBER, "/")
    for path in ("/robots.txt", "/sitemap.xml"):
        answer, _ = await visit(without_contacts.BARBER.name, path)
        assert answer.status == 404


async def test_post_office_is_in_trouble_once_in_each_town(visit: Visitor) -> None:
    statuses = [(await visit(server_quirks.POST_OFFICE_NAME, "/"))[0].status for _ in range(3)]
    assert statuses == [503, 200, 200]


async def test_ordinary_houses_list_their_pages(visit: Visitor) -> None:
    for site in streets.STREET_SITES:
        assert "Sitemap: " in await visit.text(site, "/robots.txt")
        assert len(await visit.locs(site, "/sitemap.xml")) == site.expected.urls


async def test_tailor_leads_to_the_bakery(visit: Visitor) -> None:
    answer, _ = await visit(without_contacts.TAILOR.name, "/anything")
    assert answer.headers["Location"] == f"{sitemap_formats.BAKERY.base_url}/"


async def test_cinema_hangs_up(visit: Visitor) -> None:
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await visit(without_contacts.CINEMA.name, "/")


async def test_a_closed_town_answers_nobody() -> None:
    async with Town() as town:
        pass
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get(f"http://127.0.0.1:{town.port}/")
