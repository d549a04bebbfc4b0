"""A short link is resolved by a request to its host only."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from scrapersky.scraper.http.addresses import AddressRules
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.fetch_errors import FetchFailed
from scrapersky.scraper.site.website import (
    Website,
    WebsiteType,
    classify_website,
    follow_short_link,
)
from tests.fake_web import FakeWeb

K = WebsiteType


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        yield made


async def followed(web: FakeWeb, text: str) -> Website:
    settings = web.settings()
    rules = AddressRules.from_settings(settings)
    async with Fetcher.from_settings(settings) as fetch:
        return await follow_short_link(classify_website(text, rules=rules), fetch, rules=rules)


async def test_it_leads_to_a_site_that_is_not_asked_itself(web: FakeWeb) -> None:
    web.host("bit.ly").redirect("/3xyz", "https://www.bakery.de/?utm_source=qr")
    bakery = web.host("bakery.de")
    found = await followed(web, "http://bit.ly/3xyz")

    assert (found.kind, found.site_key, found.url) == (K.OWN, "bakery.de", "https://www.bakery.de/")
    assert found.reason == "Resolved from http://bit.ly/3xyz."
    assert bakery.seen == []


async def test_short_links_behind_short_links_are_followed(web: FakeWeb) -> None:
    web.host("t.co").redirect("/a", "http://tinyurl.com/b", status=302)
    web.host("tinyurl.com").redirect("/b", "https://facebook.com/backhaus")
    found = await followed(web, "http://t.co/a")

    assert (found.kind, found.profiles) == (K.PROFILE, ("https://www.facebook.com/backhaus",))


async def test_profiles_that_stood_beside_it_are_kept(web: FakeWeb) -> None:
    web.host("bit.ly").redirect("/a", "https://bakery.de/")
    found = await followed(web, "http://bit.ly/a; https://instagram.com/backhaus")

    assert found.site_key == "bakery.de"
    assert found.profiles == ("https://www.instagram.com/backhaus",)


async def test_one_that_leads_into_a_private_network_leads_nowhere(web: FakeWeb) -> None:
    web.host("bit.ly").redirect("/a", "http://169.254.169.254/latest/meta-data")
    found = await followed(web, "http://bit.ly/a")

    assert (found.kind, found.site_key, found.ask) == (K.UNUSABLE, None, None)
    assert "private" in (found.reason or "")


@pytest.mark.parametrize("status", [200, 404, 410])
async def test_one_that_leads_nowhere_is_no_website(web: FakeWeb, status: int) -> None:
    web.host("bit.ly").page("/a", "<p>Gone</p>", status=status)
    found = await followed(web, "http://bit.ly/a")

    assert (found.kind, found.ask) == (K.UNUSABLE, None)
    assert f"answered {status}" in (found.reason or "")


async def test_a_circle_is_left(web: FakeWeb) -> None:
    web.host("bit.ly").redirect("/a", "http://t.co/b")
    web.host("t.co").redirect("/b", "http://bit.ly/a")
    found = await followed(web, "http://bit.ly/a")

    assert (found.kind, found.ask) == (K.UNUSABLE, None)
    assert "loop" in (found.reason or "")


async def test_a_chain_without_end_is_left(web: FakeWeb) -> None:
    host = web.host("bit.ly")
    for n in range(20):
        host.redirect(f"/{n}", f"http://bit.ly/{n + 1}")
    found = await followed(web, "http://bit.ly/0")

    assert found.kind is K.UNUSABLE
    assert len(host.seen) == 5


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_host_in_trouble_is_asked_again_later(web: FakeWeb, status: int) -> None:
    web.host("bit.ly").page("/a", "Busy", status=status)
    with pytest.raises(FetchFailed):
        await followed(web, "http://bit.ly/a")


async def test_a_host_that_there_is_not_is_no_website() -> None:
    """Nothing is pinned here, and no name ends in `.invalid`."""
    website = Website(K.UNUSABLE, ask="http://short.invalid/a")
    async with FakeWeb() as web, Fetcher.from_settings(web.settings()) as fetch:
        found = await follow_short_link(website, fetch, rules=AddressRules())

    assert (found.kind, found.ask) == (K.UNUSABLE, None)
