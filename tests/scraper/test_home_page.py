"""Sitemaps that a page names."""

from __future__ import annotations

import pytest

from scrapersky.scraper import Response
from scrapersky.scraper.home_page import looks_like_sitemap, sitemap_links


def page(html: str, **headers: str) -> Response:
    url = "https://example.com/start/"
    return Response(url, url, 200, headers, html.encode())


def test_header_head_and_links_name_sitemaps_the_surest_first() -> None:
    found = sitemap_links(
        page(
            '<a href="/sitemap-a.xml#x">map</a><LINK REL="Sitemap alternate" HREF="head.xml">'
            '<a href="/about">no</a><a href="javascript:sitemap.xml">no</a>',
            Link='</style.css>; rel=preload, </header.xml>; rel="sitemap"',
        )
    )

    assert found == (
        "https://example.com/header.xml",
        "https://example.com/start/head.xml",
        "https://example.com/sitemap-a.xml",
    )


def test_links_to_other_sites_are_not_taken() -> None:
    assert sitemap_links(page('<a href="https://other.example/sitemap.xml">theirs</a>')) == ()


def test_the_base_of_the_page_counts() -> None:
    html = '<base href="https://example.com/shop/"><link rel="sitemap" href="map.xml">'

    assert sitemap_links(page(html)) == ("https://example.com/shop/map.xml",)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/sitemap.xml", True),
        ("/my_Sitemap-3.xml.gz?x=1", True),
        ("/sitemap.txt", True),
        ("/sitemap/", False),
        ("/sitemap.html", False),
        ("/blog?next=/sitemap.xml", False),
    ],
)
def test_a_sitemap_is_known_by_its_path(path: str, expected: bool) -> None:
    assert looks_like_sitemap(path) is expected
