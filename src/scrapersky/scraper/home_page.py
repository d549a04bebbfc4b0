"""Find the sitemaps that a page names: in its `Link` header, its head and its links."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from multidict import MultiMapping
from selectolax.lexbor import LexborHTMLParser

from scrapersky.scraper.page_facts import decode_page, parse_html
from scrapersky.scraper.responses import Response
from scrapersky.scraper.urls import clean_url, is_same_site

MAX_LINKS = 50
"""A page that names more is not naming sitemaps."""

_LOOKS_LIKE_SITEMAP = re.compile(
    r"[^?#]*sitemap[^/?#]*\.(?:xml|txt|php)(?:\.gz)?(?:[?#].*)?\Z", re.IGNORECASE | re.DOTALL
)
_HEADER_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"',;]+))", re.IGNORECASE)


def looks_like_sitemap(url: str) -> bool:
    return _LOOKS_LIKE_SITEMAP.match(url) is not None


def sitemap_links(page: Response) -> tuple[str, ...]:
    """Absolute URLs, each once, the surest first."""
    found: dict[str, None] = dict.fromkeys(_from_header(page))
    if b"<" in page.body:
        decoded = decode_page(page.body, page.headers.get("Content-Type"))
        tree = parse_html(decoded.text)
        base = _base_of(tree, page.final_url)
        found.update(dict.fromkeys(_from_head(tree, base)))
        found.update(dict.fromkeys(_from_anchors(tree, base)))
    return tuple(found)[:MAX_LINKS]


def _from_header(page: Response) -> Iterator[str]:
    for target, parameters in _HEADER_LINK.findall(", ".join(_link_headers(page.headers))):
        rel = _REL.search(parameters)
        words = "".join(filter(None, rel.groups())).lower().split() if rel else []
        if "sitemap" in words and (url := clean_url(target, page.final_url)):
            yield url


def _link_headers(headers: Mapping[str, str]) -> list[str]:
    """A server may send several."""
    if isinstance(headers, MultiMapping):
        return list(headers.getall("Link", []))
    return [headers["Link"]] if "Link" in headers else []


def _base_of(tree: LexborHTMLParser, url: str) -> str:
    node = tree.css_first("base[href]")
    return clean_url(node.attributes.get("href") or "", url) or url if node else url


def _from_head(tree: LexborHTMLParser, base: str) -> Iterator[str]:
    for node in tree.css("link[rel][href]"):
        words = (node.attributes.get("rel") or "").lower().split()
        if "sitemap" in words and (url := clean_url(node.attributes.get("href") or "", base)):
            yield url


def _from_anchors(tree: LexborHTMLParser, base: str) -> Iterator[str]:
    for node in tree.css("a[href]"):
        url = clean_url(node.attributes.get("href") or "", base)
        if url and looks_like_sitemap(url) and is_same_site(base, url):
            yield url.partition("#")[0]
