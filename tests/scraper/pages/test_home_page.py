"""Sitemaps linked by a home page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from scrapersky.scraper import Response
from scrapersky.scraper.sitemaps.sitemap_analyzer import find_sitemap_links, looks_like_sitemap


def page(html: str, **headers: str) -> Response:
    url = "https://example.com/start/"
    return Response(url, url, 200, headers, html.encode())


def test_header_head_and_links_name_sitemaps_the_surest_first() -> None:
    found = find_sitemap_links(
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
    assert find_sitemap_links(page('<a href="https://other.example/sitemap.xml">theirs</a>')) == ()


def test_the_base_of_the_page_counts() -> None:
    html = '<base href="https://example.com/shop/"><link rel="sitemap" href="map.xml">'

    assert find_sitemap_links(page(html)) == ("https://example.com/shop/map.xml",)


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


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("</a.xml>; rel=sitemap", "/a.xml"),
        ("</a.xml>;rel='sitemap'", "/a.xml"),
        ('<a.xml>; type="application/xml"; REL="Alternate Sitemap"', "/start/a.xml"),
        ("<https://example.com/a.xml> ; rel = sitemap , </b.css>; rel=preload", "/a.xml"),
        ("</a.xml>; rel=sitemap, </b.xml>; rel=sitemap", "/a.xml /b.xml"),
        ("</a,b;c.xml>; rel=sitemap", "/a,b;c.xml"),
        ("</a.xml>; rel=not-sitemap", ""),
        ('</a.xml>; title="rel=sitemap"', ""),
        ("</a.xml>", ""),
        ("<javascript:x>; rel=sitemap", ""),
        ("<>; rel", ""),
        ("sitemap", ""),
    ],
)
def test_a_link_header_names_what_it_calls_a_sitemap(header: str, expected: str) -> None:
    found = find_sitemap_links(page("", Link=header))

    assert found == tuple(f"https://example.com{path}" for path in expected.split())


def test_every_line_of_a_link_header_counts() -> None:
    headers = CIMultiDict([("link", "</a.css>; rel=x"), ("LINK", "</a.xml>; rel=sitemap")])
    url = "https://example.com/"

    assert find_sitemap_links(Response(url, url, 200, headers, b"")) == (f"{url}a.xml",)


HTML = st.lists(
    st.sampled_from(
        [
            "<link ",
            "rel=",
            "sitemap",
            "href=",
            '"',
            "'",
            "<a ",
            "<base ",
            ">",
            "</",
            "http://",
            "/x",
            " ",
        ]
    )
).map("".join)


@given(st.one_of(st.binary(max_size=200), HTML.map(str.encode)), st.text(max_size=40))
def test_no_page_and_no_header_breaks_it(body: bytes, header: str) -> None:
    url = "https://example.com/"

    found = find_sitemap_links(Response(url, url, 200, {"Link": header}, body))

    assert all(each.startswith(("http://", "https://")) for each in found)
