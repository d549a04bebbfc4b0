"""Domain names that people type are normalised or rejected with a reason."""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.errors import InvalidInput
from scrapersky.scraper import AddressRules, Blocked
from scrapersky.scraper.http.guard import check_url
from scrapersky.scraper.http.urls import Site, clean_url, is_same_site, normalise_site, url_digest

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)


def key(text: str) -> str:
    return normalise_site(text).key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("example.com", "example.com"),
        ("EXAMPLE.Com", "example.com"),
        ("  example.com\n", "example.com"),
        ("\u00a0example.com\u3000", "example.com"),
        ("example.com.", "example.com"),
        ("www.example.com", "example.com"),
        ("https://www.Example.com/", "example.com"),
        ("//example.com/x", "example.com"),
        ("http://example.com:80/", "example.com"),
        ("https://example.com:443/", "example.com"),
        ("example.com:8080", "example.com:8080"),
        ("http://example.com:443", "example.com:443"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("例え。jp", "xn--r8jz45g.jp"),
        ("1.1.1.1", "1.1.1.1"),
        ("[2606:4700::1111]", "[2606:4700::1111]"),
        ("my_shop.example.com", "my_shop.example.com"),
    ],
)
def test_spellings_of_a_site_become_its_key(text: str, expected: str) -> None:
    assert key(text) == expected


def test_path_and_scheme_are_kept_as_the_start() -> None:
    site = normalise_site("http://www.example.com:8080/Blog/ä?x=1#top")

    assert site == Site("example.com:8080", "example.com", 8080, "/Blog/%C3%A4?x=1", "http")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("exa mple.com", "space"),
        ("user:password@example.com", "password"),
        ("https://user@example.com/", "password"),
        ("localhost", "private"),
        ("printer.local", "private"),
        ("metadata.google.internal", "private"),
        ("intranet", "private"),
        ("a.localhost", "private"),
        ("127.0.0.1", "private"),
        ("http://2130706433/", "private"),
        ("0x7f000001", "private"),
        ("0177.0.0.1", "private"),
        ("127.1", "private"),
        ("10.0.0.8:8080", "private"),
        ("169.254.169.254", "private"),
        ("[::1]", "private"),
        ("[::ffff:10.0.0.1]", "private"),
        ("[64:ff9b::a00:1]", "private"),
        ("256.256.256.256", "address"),
        ("[::1", "not a valid domain"),
        ("a." * 130 + "com", "253"),
        ("ä." * 130 + "com", "253"),
        ("x" * 64 + ".com", "63"),
        ("javascript:alert(1)", "javascript"),
        ("ftp://example.com", "ftp"),
        ("file:///etc/passwd", "file"),
        ("mailto:a@example.com", "password"),
        ("example.com:22", "Port 22"),
        ("example.com:99999", "65535"),
        ("example.com:abc", "65535"),
        ("exam\x00ple.com", "control"),
        ("exam\nple.com", "control"),
        ("example..com", "not a valid domain name"),
        ("-example.com", "not a valid domain name"),
        ("exa$mple.com", "not a valid domain name"),
        ("https://", "not a valid domain"),
    ],
)
def test_what_is_no_public_site_is_refused_with_the_reason(text: str, word: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        normalise_site(text)

    assert word in str(refusal.value)


@given(
    st.text(alphabet=st.one_of(st.characters(), st.sampled_from("a.:/@[]%0x1-_#?\\")), max_size=30)
)
def test_any_text_is_a_site_in_its_normal_form_or_refused(text: str) -> None:
    try:
        found = normalise_site(text)
    except InvalidInput:
        return

    assert normalise_site(found.key).key == found.key


@pytest.mark.parametrize("junk", [None, 7, b"example.com", ["example.com"]])
def test_what_is_not_a_text_is_refused(junk: Any) -> None:
    with pytest.raises(InvalidInput):
        normalise_site(junk)


@pytest.mark.parametrize(
    "text",
    ["127.0.0.1:5000", "localhost:5000", "[::ffff:127.0.0.1]:5000", "http://2130706433:5000"],
)
def test_allowed_networks_open_addresses_on_any_port(text: str) -> None:
    assert normalise_site(text, AddressRules(LOOPBACK)).port == 5000


def test_pinned_names_are_fine_on_any_port() -> None:
    pins = {"bakery.internal": ("127.0.0.1", 8081)}

    rules = AddressRules(LOOPBACK, resolve=pins)

    assert normalise_site("bakery.internal:99", rules).key == "bakery.internal:99"


def test_a_pin_out_of_the_allowed_networks_opens_nothing() -> None:
    with pytest.raises(InvalidInput):
        normalise_site(
            "bakery.internal", AddressRules(resolve={"bakery.internal": ("10.0.0.1", 80)})
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/a", "https://example.com/a"),
        ("b?x=1", "https://example.com/dir/b?x=1"),
        ("//cdn.example.com/x", "https://cdn.example.com/x"),
        ("HTTP://Example.com/A", "http://Example.com/A"),
        ("\u200b https://example.com/x\u00a0\r\n", "https://example.com/x"),
        ("https://exa\x00mple.com/\ud800x", "https://example.com/x"),
        ("https://example.com/a?", "https://example.com/a?"),
        ("javascript:alert(1)", None),
        ("file:///etc/passwd", None),
        ("mailto:a@b.example", None),
        ("https://", None),
        ("https://[::1", None),
        ("https://example.com:99999/", None),
    ],
)
def test_urls_are_made_absolute_and_clean_or_refused(text: str, expected: str | None) -> None:
    assert clean_url(text, "https://example.com/dir/page") == expected


def test_subdomains_and_www_belong_to_the_site_and_lookalikes_do_not() -> None:
    assert is_same_site("example.com", "https://www.example.com/x")
    assert is_same_site("example.com", "http://shop.example.com:8080/")
    assert is_same_site("https://www.example.com/", "http://example.com")
    assert not is_same_site("example.com", "https://badexample.com/")
    assert not is_same_site("shop.example.com", "https://example.com/")
    assert not is_same_site("example.com", "https://example.com.evil.example/")
    assert not is_same_site("example.com", "https://example.com@evil.example/")


def test_digest_of_a_url_has_sixteen_bytes_and_takes_any_text() -> None:
    assert len(url_digest("https://example.com/\ud800")) == 16
    assert url_digest("https://a.example/") != url_digest("https://b.example/")


def test_joining_leaves_no_space_at_the_end_of_a_url() -> None:
    # urljoin drops an empty query, and what stood before it comes last.
    assert clean_url("a\xa0?", "https://example.com/") == "https://example.com/a"


SOUP = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from("htps:/\\@[]%.0127fx#?&= \t\n")),
    max_size=40,
)


@given(SOUP, SOUP)
def test_any_text_against_any_base_is_a_clean_url_or_none(text: str, base: str) -> None:
    for against in (None, "https://example.com/dir/", base):
        url = clean_url(text, against)
        if url is not None:
            assert url.startswith(("http://", "https://"))
            assert clean_url(url) == url


@given(SOUP, SOUP)
def test_any_two_texts_can_be_compared(site: str, url: str) -> None:
    assert is_same_site(site, url) in (True, False)
    assert is_same_site(f"https://{site}/", f"http://www.{site}/") in (True, False)
    assert len(url_digest(url)) == 16


@given(SOUP)
def test_what_comes_out_of_cleaning_has_a_host_that_the_guard_can_judge(text: str) -> None:
    url = clean_url(text, "https://example.com/")
    if url is None:
        return
    with suppress(Blocked):
        check_url(url, AddressRules())
