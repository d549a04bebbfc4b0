"""Parse sitemaps of every format: urlset, index, RSS, Atom and plain text, compressed or not.

The tokenizer is our own: an XML library rejects a file at its first bare `&`, or corrupts the URLs
around it, and brings a DTD engine that is open to entity expansion attacks.
"""

from __future__ import annotations

from scrapersky.scraper.sitemaps.parse.entries import (
    EntryChain,
    Extension,
    ParsedSitemap,
    SitemapFormat,
    UrlEntry,
)
from scrapersky.scraper.sitemaps.parse.stream import SitemapStream

__all__ = [
    "Extension",
    "ParsedSitemap",
    "SitemapFormat",
    "SitemapStream",
    "UrlEntry",
    "parse_sitemap",
]


def parse_sitemap(data: bytes, *, url: str, content_type: str | None = None) -> ParsedSitemap:
    """Parse a complete document fetched from `url`. Never raises, whatever the input."""
    stream = SitemapStream(url=url, content_type=content_type)
    parts = [part for part in (*stream.parts(data), *stream.last_parts()) if part]
    return ParsedSitemap(
        kind=stream.kind,
        entries=EntryChain(parts),
        partial=stream.partial,
        error=stream.error,
        dropped=stream.dropped,
        generator=stream.generator,
    )
