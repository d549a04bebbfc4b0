"""Results of the previous scan, used to skip what has not changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from scrapersky.scraper.sitemaps.events import SitemapType


@dataclass(frozen=True)
class PreviousSitemap:
    """A sitemap that was read to its end."""

    url: str
    sitemap_type: SitemapType | None
    url_count: int
    etag: str | None = None
    last_modified: str | None = None
    content_hash: str | None = None
    index_lastmod: datetime | None = None
    """What its index said of it then."""
    is_lastmod_trusted: bool = False
    """So far an unchanged lastmod in the index meant unchanged content."""
    unasked_for: timedelta | None = None
    """How long it has not been asked for itself; nothing where that is not known."""
    children: tuple[tuple[str, datetime | None], ...] = ()
    """Of an index: the sitemaps it names, with the lastmod it gives them."""

    def is_current(self, index_lastmod: datetime | None) -> bool:
        """Whether the index's word is enough to leave it unread."""
        is_same = index_lastmod is not None and index_lastmod == self.index_lastmod
        return is_same and self.is_lastmod_trusted


@dataclass(frozen=True)
class PreviousRobots:
    """A robots.txt with its validators."""

    body: str
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True)
class PreviousScan:
    """All that is known of a site; nothing at its first scan."""

    sitemaps: Mapping[str, PreviousSitemap] = field(default_factory=dict)
    robots: PreviousRobots | None = None
    from_home_page: tuple[str, ...] = ()
    """Sitemaps that the home page named: with these known, it is not read again for links."""
