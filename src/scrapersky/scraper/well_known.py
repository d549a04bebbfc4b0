"""Where sitemaps are when nobody says where they are."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import basename, dirname

from scrapersky.scraper.urls import Site

PATHS = (
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
"""The likeliest first; feeds last, as they name only what is new."""


def well_known_urls(base_url: str, site: Site) -> Iterator[str]:
    """Under the path the person gave, if any, then at the root."""
    folder = start_folder(site)
    if folder:
        yield from (f"{base_url}/{folder}/{path}" for path in PATHS)
    yield from (f"{base_url}/{path}" for path in PATHS)


def start_folder(site: Site) -> str:
    """`/blog/index.html` → `blog`; empty at the root."""
    path = site.path.partition("?")[0]
    folder = dirname(path) if "." in basename(path) else path
    return folder.strip("/")
