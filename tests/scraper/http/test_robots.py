"""Parsing robots.txt: its sitemaps, and its encoding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.scraper import parse_robots
from scrapersky.scraper.http.limits import MAX_ROBOTS_BYTES

URL = "https://example.com/robots.txt"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Sitemap: https://example.com/a.xml", "https://example.com/a.xml"),
        ("SITEMAP:/a.xml", "/a.xml"),
        ("sitemap : /a.xml   # ours", "/a.xml"),
        ("  \tSitemap:\t/a.xml\t", "/a.xml"),
        ("Site-map: /a.xml", "/a.xml"),
        ("Sitemaps: /a.xml", "/a.xml"),
        ("Sitemap_url: /a.xml", "/a.xml"),
        ("Sitemap = /a.xml", "/a.xml"),
        ("Sitemap https://example.com/a.xml", "https://example.com/a.xml"),
        ("Sitemap: HTTPS://example.com/A.xml", "https://example.com/A.xml"),
        ("Sitemap: a.xml", "/a.xml"),
        ("Sitemap: //cdn.example/a.xml", "https://cdn.example/a.xml"),
        ("Sitemap: example.com/a.xml", "/a.xml"),
        ("Sitemap: www.example.com/a.xml", "https://www.example.com/a.xml"),
        ("Sitemap: <https://example.com/a.xml>", "/a.xml"),
        ("Sitemap: 'https://example.com/a.xml'", "/a.xml"),
        ("Sitemap: /a.xml?x=1#top", "/a.xml?x=1#top"),
        ("Sitemap: /a.xml /b.xml, https://example.com/c.xml", "/a.xml /b.xml /c.xml"),
        ("https://example.com/my-sitemap.xml", "/my-sitemap.xml"),
        ("User-agent: *\nDisallow: /\nSitemap: /a.xml\nAllow: /b", "/a.xml"),
        ("Sitemap: /a.xml\r\nSitemap: /a.xml\r\nSitemap: /b.xml", "/a.xml /b.xml"),
        ("User-agent: *\rSitemap: /a.xml\rDisallow: /", "/a.xml"),
        ("Sitemap: javascript:alert(1)\nSitemap: ftp://a/b\nSitemap: http://[::1/", ""),
        ("# Sitemap: /a.xml\n#Sitemap: /b.xml", ""),
        ("Sitemap:\nSitemap", ""),
        ("https://example.com/about", ""),
        ("sitemapper: /a.xml", ""),
    ],
)
def test_sitemap_lines_are_found_however_they_are_written(line: str, expected: str) -> None:
    found = [f"https://example.com{url}" if url[0] == "/" else url for url in expected.split()]

    assert list(parse_robots(line.encode(), url=URL).sitemaps) == found


@pytest.mark.parametrize(
    "data",
    [
        "Sitemap: /ä.xml".encode(),
        "Sitemap: /ä.xml".encode("utf-8-sig"),
        b"\xef\xbb" + "Sitemap: /ä.xml".encode(),
        "Sitemap: /ä.xml".encode("latin-1"),
        "Sitemap: /ä.xml".encode("utf-16"),
        "Sitemap: /ä.xml".encode("utf-16-le"),
        "Sitemap: /ä.xml".encode("utf-16-be"),
        b"\xfe\xff" + "Sitemap: /ä.xml".encode("utf-16-be"),
    ],
)
def test_encodings_are_told_apart(data: bytes) -> None:
    assert parse_robots(data, url=URL).sitemaps == ("https://example.com/ä.xml",)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xef\xbb\xbf",
        b"\0\xff\xfe" * 1000,
        b"<!DOCTYPE html><p>Sitemap: /a.xml",
        b"\n <html>\nSitemap: /a.xml\nUser-agent: *\nDisallow: /",
        b"\xef\xbb\xbf<?xml version='1.0'?>\nSitemap: /a.xml",
    ],
)
def test_what_is_no_robots_txt_names_nothing_and_forbids_nothing(data: bytes) -> None:
    robots = parse_robots(data, url=URL)

    assert robots.sitemaps == ()
    assert robots.can_fetch("https://example.com/", "ScraperSky")


def test_only_the_first_half_megabyte_is_read_and_no_half_line() -> None:
    start = b"User-agent: *\n" + b"#" * (MAX_ROBOTS_BYTES - 14 - 12) + b"\n"
    data = start + b"Disallow: /private\nSitemap: /late.xml"

    assert data[:MAX_ROBOTS_BYTES].endswith(b"\nDisallow: /")
    for seen in (data, data[:MAX_ROBOTS_BYTES]):
        robots = parse_robots(seen, url=URL)
        assert robots.sitemaps == ()
        assert robots.can_fetch("https://example.com/", "ScraperSky")


def test_characters_that_only_python_takes_for_line_ends_end_no_line() -> None:
    data = "User-agent: *\n# wait\x85Disallow: /\n# or\x0cDisallow: /".encode("latin-1")

    assert parse_robots(data, url=URL).can_fetch("https://example.com/", "ScraperSky")


@pytest.mark.parametrize(
    "line",
    [
        "https://" + "sitemap" * 60_000 + " x",
        "Sitemap: " + " ,;" * 150_000,
        "Sitemap" + " " * 450_000,
        "User" + "-" * 450_000,
        "Crawl-delay: " + "1" * 450_000,
        " " * 450_000 + "#",
        "Disallow: " + "*" * 450_000,
    ],
)
def test_long_lines_are_read_in_no_time(line: str) -> None:
    """Anything that grows with the square of the length would take minutes."""
    data = f"User-agent: *\n{line}\nSitemap: /a.xml".encode()

    assert "https://example.com/a.xml" in parse_robots(data, url=URL).sitemaps


WORDS = [
    *"\r\n:#*$/% ",
    "User-agent",
    "Disallow",
    "Allow",
    "Sitemap",
    "Crawl-delay",
    "http://",
    "é",
]
SOUP = st.lists(st.sampled_from(WORDS)).map(lambda words: "".join(words).encode())


@given(st.one_of(st.binary(max_size=300), SOUP))
def test_no_bytes_break_it(data: bytes) -> None:
    robots = parse_robots(data, url=URL)

    assert all(url.startswith(("http://", "https://")) for url in robots.sitemaps)
    assert robots.can_fetch("https://example.com/a?b", "ScraperSky") in (True, False)
    assert (robots.crawl_delay("ScraperSky") or 0) >= 0


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_url_and_any_agent_can_be_asked_about(url: str, agent: str) -> None:
    robots = parse_robots(b"User-agent: *\nDisallow: /a*b$\nCrawl-delay: 1", url=URL)

    assert robots.can_fetch(url, agent) in (True, False)
    assert robots.crawl_delay(agent) == 1
