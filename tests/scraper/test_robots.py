"""robots.txt as people write it."""

from __future__ import annotations

import pytest

from scrapersky.scraper import parse_robots

URL = "https://example.com/robots.txt"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"Sitemap: https://example.com/a.xml", ["https://example.com/a.xml"]),
        (b"SITEMAP:/a.xml", ["https://example.com/a.xml"]),
        (b"sitemap : /a.xml   # ours", ["https://example.com/a.xml"]),
        (b"Site-map: /a.xml", ["https://example.com/a.xml"]),
        (b"\xef\xbb\xbfSitemap: /a.xml\n", ["https://example.com/a.xml"]),
        (b"User-agent: *\rSitemap: /a.xml\rDisallow: /", ["https://example.com/a.xml"]),
        (b"Sitemap: /a.xml\r\nSitemap: /a.xml\r\nSitemap: /b.xml", ["/a.xml", "/b.xml"]),
        ("Sitemap: /ä.xml".encode("latin-1"), ["https://example.com/ä.xml"]),
        ("Sitemap: /ä.xml".encode("utf-16"), ["https://example.com/ä.xml"]),
        (b"https://example.com/my-sitemap.xml", ["https://example.com/my-sitemap.xml"]),
        (b"Sitemap: javascript:alert(1)\nSitemap: ftp://a/b", []),
        (b"# Sitemap: /a.xml", []),
        (b"Sitemap:\n", []),
        (b"<!DOCTYPE html><p>Sitemap: /a.xml", []),
        (b"\n <html>\nSitemap: /a.xml", []),
        (b"\0\xff\xfe" * 1000, []),
        (b"", []),
    ],
)
def test_sitemap_lines_are_found_however_they_are_written(data: bytes, expected: list[str]) -> None:
    found = [url if url.startswith("http") else f"https://example.com{url}" for url in expected]

    assert list(parse_robots(data, url=URL).sitemaps) == found


def test_rules_and_delays_are_those_of_our_agent() -> None:
    robots = parse_robots(
        b"User-agent: *\nDisallow: /\n\n"
        b"User-agent: scrapersky\nDisallow: /private\nCrawl-delay: 2.5",
        url=URL,
    )

    assert robots.can_fetch("https://example.com/", "ScraperSky/0.1 (+https://x.example)")
    assert not robots.can_fetch("https://example.com/private/a", "ScraperSky/0.1")
    assert not robots.can_fetch("https://example.com/", "OtherBot")
    assert robots.crawl_delay("ScraperSky/0.1") == 2.5
    assert robots.crawl_delay("OtherBot") is None


def test_a_page_of_html_forbids_nothing() -> None:
    robots = parse_robots(b"<html>User-agent: *\nDisallow: /", url=URL)

    assert robots.can_fetch("https://example.com/", "ScraperSky")


def test_only_the_first_half_megabyte_is_read() -> None:
    data = b"#" * 600 * 1024 + b"\nSitemap: /late.xml"

    assert parse_robots(data, url=URL).sitemaps == ()
