"""The library without a database: `find_contacts`, `parse_sitemap` and `parse_robots`."""

from __future__ import annotations

import pytest

import scrapersky


def test_contacts_are_found_in_text_and_in_bytes() -> None:
    html = '<meta charset="iso-8859-1"><p>Bäckerei</p><a href="mailto:info@backhaus.de">Mail</a>'
    for page in (html, html.encode("iso-8859-1")):
        (contact,) = scrapersky.find_contacts(page, url="https://backhaus.de/kontakt")
        assert (contact.kind, contact.value) == ("email", "info@backhaus.de")
        assert "Bäckerei" in contact.snippet


def test_a_sitemap_is_parsed_and_what_is_none_is_reported() -> None:
    data = b"<urlset><url><loc>https://a.de/1</loc></url></urlset>"
    sitemap = scrapersky.parse_sitemap(data, url="https://a.de/sitemap.xml")
    assert ([entry.loc for entry in sitemap.entries], sitemap.error) == (["https://a.de/1"], None)

    page = scrapersky.parse_sitemap(b"<html></html>", url="https://a.de/", content_type="text/html")
    assert page.error is not None


def test_robots_txt_gives_sitemaps_and_rules() -> None:
    robots = scrapersky.parse_robots(
        b"User-agent: *\nDisallow: /private\nSitemap: /s.xml\n", url="https://a.de/robots.txt"
    )
    assert robots.sitemaps == ("https://a.de/s.xml",)
    assert not robots.can_fetch("https://a.de/private/x", "ScraperSky")


def test_an_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        scrapersky.nothing  # noqa: B018
