"""Find where a site may keep its sitemaps: links on its pages and common paths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from posixpath import basename, dirname

from multidict import MultiMapping
from selectolax.lexbor import LexborHTMLParser

from scrapersky.scraper.html.charset import decode_page
from scrapersky.scraper.html.document import parse_html
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.http.urls import Site, clean_url, is_same_site

MAX_SITEMAP_LINKS = 50
"""Pages with more links of this type are not linking to sitemaps."""

_LOOKS_LIKE_SITEMAP = re.compile(
    r"[^?#]*sitemap[^/?#]*\.(?:xml|txt|php)(?:\.gz)?(?:[?#].*)?\Z", re.IGNORECASE | re.DOTALL
)
_HEADER_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"',;]+))", re.IGNORECASE)


def looks_like_sitemap(url: str) -> bool:
    return _LOOKS_LIKE_SITEMAP.match(url) is not None


def find_sitemap_links(page: Response) -> tuple[str, ...]:
    """Return absolute URLs without duplicates, the most reliable first."""
    found: dict[str, None] = dict.fromkeys(_find_header_links(page))
    if b"<" in page.body:
        decoded = decode_page(page.body, page.headers.get("Content-Type"))
        tree = parse_html(decoded.text)
        base = _get_base_url(tree, page.final_url)
        found.update(dict.fromkeys(_find_head_links(tree, base)))
        found.update(dict.fromkeys(_find_anchor_links(tree, base)))
    return tuple(found)[:MAX_SITEMAP_LINKS]


def _find_header_links(page: Response) -> Iterator[str]:
    for target, parameters in _HEADER_LINK.findall(", ".join(_get_link_headers(page.headers))):
        rel = _REL.search(parameters)
        words = "".join(filter(None, rel.groups())).lower().split() if rel else []
        if "sitemap" in words and (url := clean_url(target, page.final_url)):
            yield url


def _get_link_headers(headers: Mapping[str, str]) -> list[str]:
    """Return all Link headers. A server may send several."""
    if isinstance(headers, MultiMapping):
        return list(headers.getall("Link", []))
    return [headers["Link"]] if "Link" in headers else []


def _get_base_url(tree: LexborHTMLParser, url: str) -> str:
    node = tree.css_first("base[href]")
    return clean_url(node.attributes.get("href") or "", url) or url if node else url


def _find_head_links(tree: LexborHTMLParser, base: str) -> Iterator[str]:
    for node in tree.css("link[rel][href]"):
        words = (node.attributes.get("rel") or "").lower().split()
        if "sitemap" in words and (url := clean_url(node.attributes.get("href") or "", base)):
            yield url


def _find_anchor_links(tree: LexborHTMLParser, base: str) -> Iterator[str]:
    for node in tree.css("a[href]"):
        url = clean_url(node.attributes.get("href") or "", base)
        if url and looks_like_sitemap(url) and is_same_site(base, url):
            yield url.partition("#")[0]


COMMON_PATHS = (
    "sitemap.xml",
    "sitemap_index.xml",
    "sitemap-index.xml",
    "wp-sitemap.xml",
    "sitemap.xml.gz",
    "sitemap_index.xml.gz",
    "sitemap.txt",
    "sitemap.php",
    "sitemap",
    "sitemaps.xml",
    "sitemap1.xml",
    "sitemap-0.xml",
    "sitemap/sitemap.xml",
    "sitemap/index.xml",
    "sitemap/sitemap-index.xml",
    "sitemapindex.xml",
    "post-sitemap.xml",
    "page-sitemap.xml",
    "product-sitemap.xml",
    "category-sitemap.xml",
    "sitemap_news.xml",
    "sitemap-news.xml",
    "news-sitemap.xml",
    "server-sitemap.xml",
    ".sitemap.xml",
    "admin/config/search/xmlsitemap",
    "rss.xml",
    "feed",
    "atom.xml",
)
"""Common sitemap paths, most likely first. Feeds come last, because they list only recent pages."""


def iter_common_urls(base_url: str, site: Site) -> Iterator[str]:
    """Yield the common URLs below the path the user entered, if any, then at the root."""
    folder = get_start_folder(site)
    if folder:
        yield from (f"{base_url}/{folder}/{path}" for path in COMMON_PATHS)
    yield from (f"{base_url}/{path}" for path in COMMON_PATHS)


def get_start_folder(site: Site) -> str:
    """Return the folder of the start path: `/blog/index.html` → `blog`, or an empty string at the
    root.
    """
    path = site.path.partition("?")[0]
    folder = dirname(path) if "." in basename(path) else path
    return folder.strip("/")
