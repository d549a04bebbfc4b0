"""Read sitemaps of every kind: urlset, index, RSS, Atom and plain text, compressed or not.

A tolerant tokenizer of our own: an XML library loses a file at its first bare `&`, or corrupts
the URLs around it, and brings a DTD engine that can be bombed.
"""

from __future__ import annotations

from scrapersky.scraper.sitemap_parser.model import Entry, Extension, Kind, ParsedSitemap
from scrapersky.scraper.sitemap_parser.rows import Joined
from scrapersky.scraper.sitemap_parser.stream import SitemapStream

__all__ = ["Entry", "Extension", "Kind", "ParsedSitemap", "SitemapStream", "parse_sitemap"]


def parse_sitemap(data: bytes, *, url: str, content_type: str | None = None) -> ParsedSitemap:
    """Read a whole document that was fetched from `url`; it never raises, whatever the bytes."""
    stream = SitemapStream(url=url, content_type=content_type)
    parts = [part for part in (*stream.parts(data), *stream.last_parts()) if part]
    return ParsedSitemap(
        kind=stream.kind,
        entries=Joined(parts),
        partial=stream.partial,
        error=stream.error,
        dropped=stream.dropped,
        generator=stream.generator,
    )
