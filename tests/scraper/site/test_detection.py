"""Detecting a site's technology and state over an unreliable network."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web as aiohttp_web

from scrapersky.errors import InvalidInput
from scrapersky.scraper import ConnectionFailed, Fetcher, FetchFailed, HostClosed, TimedOut
from scrapersky.scraper.site.metadata import (
    SiteUnavailable,
    SiteVisit,
    build_dead_site,
    detect_site_metadata,
    visit_site,
)
from scrapersky.scraper.site.model import SiteMetadata, SiteState
from tests.fake_web import FakeHost, FakeWeb, expired_certificate, foreign_certificate
from tests.scraper.site.pages import page

HOME = page("<h1>Bread</h1>", "<title>Bakery</title>")


async def detect(
    web: FakeWeb,
    site: str = "bakery.example",
    *,
    fetching: dict[str, Any] | None = None,
    **more: Any,
) -> SiteMetadata:
    async with Fetcher.from_settings(web.settings(**(fetching or {}))) as fetch:
        return await detect_site_metadata(site, fetch=fetch, first_pause_seconds=0, **more)


def failing(
    times: int, then: str, *, status: int = 500, **headers: str
) -> Callable[[aiohttp_web.BaseRequest], Awaitable[aiohttp_web.StreamResponse]]:
    left = times

    async def answer(request: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
        nonlocal left
        left -= 1
        if left >= 0:
            return aiohttp_web.Response(status=status, headers=headers)
        return aiohttp_web.Response(text=then, content_type="text/html")

    return answer


async def test_a_site_without_tls_is_read_over_http(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.page("/", HOME)

    metadata = await detect(web)

    assert (metadata.state, metadata.title) == (SiteState.OK, "Bakery")
    assert (metadata.url, metadata.base_url) == ("bakery.example", "http://bakery.example")
    assert bakery.paths == ["/robots.txt", "/"]


async def test_a_site_with_tls_is_read_over_https(tmp_path: Path) -> None:
    async with FakeWeb(tls=True) as web:
        web.host("bakery.example").page("/", HOME)

        metadata = await detect(web, fetching={"fetch_ca_file": web.ca_file(tmp_path)})

    assert metadata.final_url == "https://bakery.example/"


async def test_a_name_that_only_works_with_www_is_found(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.closes("/robots.txt")
    web.host("www.bakery.example").page("/", HOME)

    metadata = await detect(web)

    assert (metadata.state, metadata.final_url) == (SiteState.OK, "http://www.bakery.example/")


async def test_the_home_page_is_read_whatever_page_was_named(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.page("/", HOME)

    metadata = await detect(web, "http://bakery.example/contact?x=1")

    assert (metadata.title, bakery.count("/contact?x=1")) == ("Bakery", 0)


async def test_a_redirect_to_another_site_is_told(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.redirect("/", "http://mill.example/new").redirect(
        "/robots.txt", "http://mill.example/robots.txt"
    )
    web.host("mill.example").page("/new", HOME)

    metadata = await detect(web)

    assert metadata.state is SiteState.REDIRECTED
    assert metadata.redirected_to == "http://mill.example/new"


async def test_a_refresh_within_the_site_is_followed(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.page("/", '<meta http-equiv="Refresh" content="0; URL=\'/start/\'">')
    bakery.page("/start/", HOME)

    metadata = await detect(web)

    assert (metadata.title, metadata.final_url) == ("Bakery", "http://bakery.example/start/")


async def test_refreshes_in_a_circle_end(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.page("/", '<meta http-equiv="refresh" content="0; url=/a">')
    bakery.page("/a", '<meta http-equiv="refresh" content="0; url=/">')

    await detect(web)

    assert bakery.paths == ["/robots.txt", "/", "/a"]


async def test_endless_refreshes_end(web: FakeWeb, bakery: FakeHost) -> None:
    for number in range(6):
        html = f'<meta http-equiv="refresh" content="0; url=/{number + 1}">'
        bakery.page(f"/{number or ''}", html)

    await detect(web)

    assert bakery.paths == ["/robots.txt", "/", "/1", "/2"]


@pytest.mark.parametrize(
    ("html", "status", "state"),
    [
        ("<h1>This domain is for sale</h1>", 200, SiteState.PARKED),
        ("<script>window._cf_chl_opt={}</script>", 403, SiteState.BLOCKED),
        ("<script>window._cf_chl_opt={}</script>", 429, SiteState.BLOCKED),
        ("<script>window._cf_chl_opt={}</script>", 503, SiteState.BLOCKED),
        ("<p>Forbidden</p>", 403, SiteState.BLOCKED),
        ("<p>Not here</p>", 404, SiteState.DEAD),
        ('<div id="root"></div><script src="/app.js"></script>', 200, SiteState.JAVASCRIPT_ONLY),
    ],
)
async def test_a_state_is_a_result_after_one_visit(
    web: FakeWeb, bakery: FakeHost, html: str, status: int, state: SiteState
) -> None:
    bakery.page("/", html, status=status)

    metadata = await detect(web)

    assert (metadata.state, metadata.status_code) == (state, status)
    assert bakery.count("/") == 1


async def test_a_check_in_front_of_everything_is_seen_at_the_first_question(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.page("/robots.txt", "<script>window._cf_chl_opt={}</script>", status=503)

    assert (await detect(web)).state is SiteState.BLOCKED
    assert bakery.paths == ["/robots.txt"]


async def test_what_robots_txt_forbids_is_not_read(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.robots("User-agent: *\nDisallow: /").page("/", HOME)

    metadata = await detect(web)

    assert (metadata.state, metadata.title) == (SiteState.DISALLOWED, None)
    assert bakery.paths == ["/robots.txt"]


async def test_trouble_that_passes_is_tried_again(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.route("/", failing(2, HOME))

    metadata = await detect(web)

    assert (metadata.state, bakery.count("/")) == (SiteState.OK, 3)


async def test_trouble_that_lasts_is_raised_after_the_last_attempt(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.body("/", "", status=500)

    with pytest.raises(SiteUnavailable, match=r"bakery\.example answered 500\.") as caught:
        await detect(web, max_retries=2)

    assert bakery.count("/") == 3
    dead = build_dead_site(caught.value, url="bakery.example")
    assert (dead.state, dead.reason, dead.status_code) == (
        SiteState.DEAD,
        "bakery.example answered 500.",
        500,
    )


async def test_without_retries_the_first_trouble_is_raised(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.route("/", failing(1, HOME, status=502))

    with pytest.raises(SiteUnavailable):
        await detect(web, max_retries=0)


async def test_a_robots_txt_in_trouble_keeps_us_from_the_page(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.body("/robots.txt", "", status=500).page("/", HOME)

    with pytest.raises(SiteUnavailable):
        await detect(web, max_retries=0)

    assert bakery.count("/") == 0


async def test_a_host_is_left_alone_as_long_as_it_asks(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.too_many("/", retry_after="600")

    with pytest.raises(HostClosed) as caught:
        await detect(web)

    assert 0 < caught.value.seconds_left <= 600
    assert bakery.count("/") == 1
    assert build_dead_site(caught.value, url="bakery.example").state is SiteState.BLOCKED


async def test_a_short_wait_is_waited_for(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.route("/", failing(1, HOME, status=429, **{"Retry-After": "0"}))

    assert (await detect(web, max_retries=1)).state is SiteState.OK


async def test_a_host_that_closes_connections_is_tried_again_then_raised(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.closes("/robots.txt")

    with pytest.raises(ConnectionFailed):
        await detect(web, max_retries=1)

    assert bakery.count("/robots.txt") >= 2


async def test_a_host_that_says_nothing_is_raised_as_timed_out(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.hang("/")

    with pytest.raises(TimedOut):
        await detect(web, max_retries=0, fetching={"fetch_timeout_seconds": 0.2})


async def test_a_name_that_does_not_exist_is_a_dead_site() -> None:
    async def lookup(name: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    async with Fetcher(user_agent="test", lookup=lookup) as fetch:
        metadata = await detect_site_metadata("nowhere.example", fetch=fetch)

    assert metadata == SiteMetadata(
        "nowhere.example",
        SiteState.DEAD,
        "nowhere.example does not resolve (tried over https and http, with and without www).",
    )


async def test_everything_that_went_wrong_is_told(tmp_path: Path) -> None:
    async with FakeWeb(certificate=expired_certificate) as web:
        web.host("bakery.example").page("/", HOME)

        with pytest.raises(ConnectionFailed) as caught:
            await detect(web, fetching={"fetch_ca_file": web.ca_file(tmp_path)}, max_retries=0)

    reason = build_dead_site(caught.value, url="bakery.example").reason
    assert "its certificate has expired" in reason
    assert "closed the connection" in reason


async def test_a_certificate_that_is_not_in_order_is_a_dead_site(
    web: FakeWeb, bakery: FakeHost, tmp_path: Path
) -> None:
    async with FakeWeb(certificate=foreign_certificate) as secure:
        secure.host("secure.example").page("/", HOME)
        bakery.redirect("/", "https://secure.example/")
        both = {"fetch_resolve": f"{web.resolve},{secure.resolve}"}

        metadata = await detect(
            web, fetching={**both, "fetch_ca_file": secure.ca_file(tmp_path)}, max_retries=0
        )

    assert metadata.state is SiteState.DEAD
    assert (
        metadata.reason
        == "TLS connection to secure.example failed: its certificate is for another host name."
    )


async def test_redirects_in_a_circle_are_a_dead_site(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.redirect("/", "/a").redirect("/a", "/")

    metadata = await detect(web)

    assert (metadata.state, "loop" in metadata.reason) == (SiteState.DEAD, True)


async def test_what_is_no_site_is_refused() -> None:
    async with Fetcher(user_agent="test") as fetch:
        with pytest.raises(InvalidInput):
            await detect_site_metadata("not a site", fetch=fetch)


async def test_a_visit_brings_the_page_for_who_wants_to_read_on(
    web: FakeWeb, bakery: FakeHost
) -> None:
    bakery.page("/", page('<a href="/contact">Contact</a>'))

    async with Fetcher.from_settings(web.settings()) as fetch:
        visit: SiteVisit = await visit_site("bakery.example", fetch=fetch)

    assert visit.is_own_page
    assert visit.page is not None
    assert visit.facts is not None
    assert visit.document is not None
    assert "Contact" in visit.document.html
    assert [link.url for link in visit.facts.links] == ["http://bakery.example/contact"]


async def test_a_page_larger_than_we_read_is_read_as_far_as_that(
    web: FakeWeb, bakery: FakeHost
) -> None:
    start = f"<title>Large</title><p>{'bread ' * 100}".encode()
    bakery.huge("/", start + b"x" * 1024 * 1024, 4, **{"Content-Type": "text/html"})

    metadata = await detect(web)

    assert (metadata.state, metadata.title) == (SiteState.OK, "Large")


def test_a_failure_becomes_a_dead_site_with_its_sentence() -> None:
    dead = build_dead_site(FetchFailed("It broke."), url="bakery.example")

    assert (dead.state, dead.reason, dead.final_url) == (SiteState.DEAD, "It broke.", None)
