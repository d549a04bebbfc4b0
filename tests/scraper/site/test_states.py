"""The state of a site, derived from its responses."""

from __future__ import annotations

import pytest

from scrapersky.scraper import Response
from scrapersky.scraper.site.metadata import read_site
from scrapersky.scraper.site.model import SiteState
from tests.scraper.site.pages import WORDS, answer, page


def state_of(response: Response) -> tuple[SiteState, str]:
    metadata = read_site(response, requested_url="bakery.example")
    return metadata.state, metadata.reason


def test_a_page_with_words_is_ok() -> None:
    assert state_of(answer(page())) == (
        SiteState.OK,
        "bakery.example answered with its home page.",
    )


@pytest.mark.parametrize(
    ("html", "sign"),
    [
        ("<title>bakery.example</title><h1>This domain is for sale!</h1>", "Domain for sale"),
        ("<p>Diese Domain steht zum Verkauf.</p>", "Domain for sale"),
        ('<script src="https://img.sedoparking.com/x.js"></script>', "Sedo"),
        ('<script>window.onload=()=>{window.location.href="/lander"}</script>', "GoDaddy parking"),
    ],
)
def test_a_name_for_sale_is_parked(html: str, sign: str) -> None:
    state, reason = state_of(answer(html))

    assert state is SiteState.PARKED
    assert sign in reason


def test_a_name_that_leads_to_a_marketplace_is_parked_and_says_where() -> None:
    there = "https://www.hugedomains.com/domain_profile.cfm?d=bakery"

    metadata = read_site(answer(page(), final_url=there), requested_url="bakery.example")

    assert (metadata.state, metadata.redirected_to) == (SiteState.PARKED, there)


def test_a_marketplace_itself_is_a_site() -> None:
    home = "https://www.hugedomains.com/"
    response = Response(home, home, 200, {}, page().encode())

    assert read_site(response).state is SiteState.OK


def test_an_article_about_domains_for_sale_is_no_parked_name() -> None:
    assert state_of(answer(page(f"<p>This domain is for sale. {WORDS * 6}</p>")))[0] is SiteState.OK


def test_a_redirect_to_another_site_keeps_where() -> None:
    metadata = read_site(
        answer(page(head="<title>Mill</title>"), final_url="https://www.mill.example/home"),
        requested_url="bakery.example",
    )

    assert metadata.state is SiteState.REDIRECTED
    assert metadata.redirected_to == "https://www.mill.example/home"
    assert metadata.reason == "bakery.example redirects to another site, mill.example."
    assert (metadata.title, metadata.base_url) == ("Mill", "https://www.mill.example")


@pytest.mark.parametrize(
    "final_url",
    ["https://www.bakery.example/", "http://bakery.example/de/", "https://shop.bakery.example/"],
)
def test_a_redirect_within_the_site_is_none(final_url: str) -> None:
    assert state_of(answer(page(), final_url=final_url))[0] is SiteState.OK


@pytest.mark.parametrize(
    ("html", "means"),
    [
        ('<frameset><frame src="https://mill.example/x"></frameset>', "in a frame"),
        ('<meta http-equiv="refresh" content="0; url=https://mill.example/x">', "by a refresh"),
        ('<script>window.location = "https://mill.example/x"</script>', "by a script"),
        ('<script>location.replace("https://mill.example/x")</script>', "by a script"),
    ],
)
def test_a_page_that_only_shows_another_site_is_a_redirect(html: str, means: str) -> None:
    metadata = read_site(answer(html), requested_url="bakery.example")

    assert metadata.state is SiteState.REDIRECTED
    assert metadata.redirected_to == "https://mill.example/x"
    assert means in metadata.reason


@pytest.mark.parametrize("status", [200, 403, 429, 503])
@pytest.mark.parametrize(
    ("html", "sign"),
    [
        ("<title>Just a moment...</title><script>window._cf_chl_opt={}</script>", "Cloudflare"),
        ("<script>var dd={'host':'geo.captcha-delivery.com'}</script>", "DataDome"),
        ('<iframe src="/_Incapsula_Resource?x=1">Incapsula incident ID: 7</iframe>', "Imperva"),
        ('<div id="px-captcha"></div>', "PerimeterX"),
        ("<h1>Access Denied</h1>https://errors.edgesuite.net/18", "Akamai"),
        ("<p>Please enable cookies.</p>", "Captcha"),
    ],
)
def test_a_check_for_browsers_blocks_us(html: str, sign: str, status: int) -> None:
    metadata = read_site(answer(html, status=status))

    assert metadata.state is SiteState.BLOCKED
    assert metadata.blocked_by is not None
    assert sign in metadata.blocked_by
    assert f"answered {status}" in metadata.reason


def test_a_protected_page_that_lets_us_in_is_not_blocked() -> None:
    html = page('<script src="/_Incapsula_Resource?SWJIYLWA=1"></script><p>' + WORDS * 2 + "</p>")

    assert state_of(answer(html))[0] is SiteState.OK


@pytest.mark.parametrize(
    ("status", "state", "words"),
    [
        (401, SiteState.BLOCKED, "password"),
        (403, SiteState.BLOCKED, "denied access"),
        (451, SiteState.BLOCKED, "legal"),
        (404, SiteState.DEAD, "has no home page"),
        (410, SiteState.DEAD, "for good (410)"),
        (400, SiteState.DEAD, "answered 400"),
        (500, SiteState.DEAD, "server error (500)"),
        (302, SiteState.DEAD, "answered 302"),
    ],
)
def test_a_status_says_why_there_is_no_page(status: int, state: SiteState, words: str) -> None:
    found, reason = state_of(answer("<p>Sorry</p>", status=status))

    assert found is state
    assert words in reason


@pytest.mark.parametrize(
    "html",
    [
        '<div id="root"></div><script src="/app.js"></script>',
        "<noscript>You need to enable JavaScript to run this app.</noscript><p>Loading</p>",
        '<app-root></app-root><script src="/main.js"></script>',
        '<body><script src="/bundle.js"></script></body>',
        "<p>Please enable JavaScript to see this site.</p>",
    ],
)
def test_a_shell_for_scripts_is_javascript_only(html: str) -> None:
    assert state_of(answer(html))[0] is SiteState.JAVASCRIPT_ONLY


def test_a_small_page_with_a_cookie_banner_is_not_blocked() -> None:
    html = page("<div>Please enable cookies for the map.</div>")

    assert state_of(answer(html))[0] is SiteState.OK


def test_an_address_that_only_a_script_shows_makes_no_shell() -> None:
    html = "<p>Write to us: you need JavaScript enabled to view it.</p><script>show()</script>"

    assert state_of(answer(html))[0] is SiteState.OK


def test_data_is_no_script_that_could_show_something() -> None:
    html = '<script type="application/ld+json">{"@type": "WebSite"}</script>'

    assert state_of(answer(html))[0] is SiteState.EMPTY


def test_an_app_that_was_rendered_on_the_server_is_ok() -> None:
    html = page('<div id="__next">bread</div><noscript>Please enable JavaScript</noscript>')

    assert state_of(answer(html))[0] is SiteState.OK


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("", "with no content"),
        ("  \n ", "with no content"),
        ("<html><body></body></html>", "blank"),
        ("<h1>It works!</h1>", "Apache"),
        ("<title>Welcome to nginx!</title><h1>Welcome to nginx!</h1>", "nginx"),
        ("<title>Index of /</title><h1>Index of /</h1>", "Directory listing"),
        ("<h1>Account suspended</h1>", "Suspended"),
    ],
)
def test_a_page_of_the_server_is_empty(html: str, words: str) -> None:
    state, reason = state_of(answer(html))

    assert state is SiteState.EMPTY
    assert words in reason


def test_what_is_no_page_is_empty() -> None:
    response = answer('{"ok": true}', headers={"Content-Type": "application/json"})

    assert state_of(response) == (
        SiteState.EMPTY,
        "bakery.example answered with application/json instead of an HTML page.",
    )


@pytest.mark.parametrize("words", ["Coming soon!", "Unsere Seite ist im Aufbau", "En construction"])
def test_a_site_to_come_is_under_construction(words: str) -> None:
    assert state_of(answer(f"<h1>{words}</h1>"))[0] is SiteState.UNDER_CONSTRUCTION


def test_a_picture_alone_is_a_page() -> None:
    assert state_of(answer('<img src="/door.jpg" alt="Come in">'))[0] is SiteState.OK


@pytest.mark.parametrize(
    ("html", "status"),
    [
        ("<title>Just a moment...</title><script>window._cf_chl_opt={}</script>", 403),
        ("<title>Buy this domain</title><p>Buy this domain</p>", 200),
        ("<title>Welcome to nginx!</title>", 200),
        ("<title>Not found</title>", 404),
    ],
)
def test_the_title_of_a_page_that_is_not_the_sites_is_not_its_title(html: str, status: int) -> None:
    head = '<link rel="icon" href="/i.png"><meta name="generator" content="WordPress 6.5">'

    metadata = read_site(answer(head + html, status=status, headers={"Server": "cloudflare"}))

    assert (metadata.title, metadata.favicon_url, metadata.cms) == (None, None, None)
    assert [each.name for each in metadata.tech_stack] == ["Cloudflare"]
