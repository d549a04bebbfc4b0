"""Results of the previous scan, used to skip what has not changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from scrapersky.scraper.sitemaps.events import SitemapType


@dataclass(frozen=True)
class PreviousSitemap:
    """Sitemap that was read completely."""

    url: str
    sitemap_type: SitemapType | None
    url_count: int
    etag: str | None = None
    last_modified: str | None = None
    content_hash: str | None = None
    index_lastmod: datetime | None = None
    """Its lastmod in the index at that time."""
    is_lastmod_trusted: bool = False
    """Whether an unchanged lastmod in the index has always meant unchanged content so far."""
    unasked_for: timedelta | None = None
    """Time since the sitemap itself was last requested, or None if unknown."""
    children: tuple[tuple[str, datetime | None], ...] = ()
    """Children of an index, with the lastmod it gives them."""

    def is_current(self, index_lastmod: datetime | None) -> bool:
        """Whether the index's lastmod is sufficient to skip the request."""
        is_same = index_lastmod is not None and index_lastmod == self.index_lastmod
        return is_same and self.is_lastmod_trusted


@dataclass(frozen=True)
class PreviousRobots:
    """robots.txt with its validators."""

    body: str
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True)
class PreviousScan:
    """Results of the previous scan; empty for a first scan."""

    sitemaps: Mapping[str, PreviousSitemap] = field(default_factory=dict)
    robots: PreviousRobots | None = None
    from_home_page: tuple[str, ...] = ()
    """Sitemaps linked from the home page. If known, the home page is not read for links again."""
