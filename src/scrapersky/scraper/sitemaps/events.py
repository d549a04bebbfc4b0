"""Events of a sitemap scan, in the order they are emitted, and results of the previous scan.

`BaseFound`, then for every sitemap `SitemapFound`, its `UrlsFound` and one `SitemapDone`, with
`SitemapRejected` in between for candidates that are no sitemap, and one `Analysis` at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from scrapersky.scraper.sitemaps.parse.entries import UrlEntry

URLS_PER_CHUNK = 5_000
"""Maximum entries per `UrlsFound`, so that storing them is a short transaction."""


class DiscoveryMethod(StrEnum):
    """How a sitemap was found."""

    ROBOTS_TXT = "robots_txt"
    HTML_LINK = "html_link"
    COMMON_PATH = "common_path"
    SITEMAP_INDEX = "sitemap_index"
    MANUAL = "manual"


class SitemapType(StrEnum):
    INDEX = "index"
    STANDARD = "standard"
    IMAGE = "image"
    VIDEO = "video"
    NEWS = "news"
    RSS = "rss"
    ATOM = "atom"
    TEXT = "text"


class SitemapStatus(StrEnum):
    OK = "ok"
    PARTIAL = "partial"
    REFUSED = "refused"
    """It was announced as a sitemap, but its content is not one."""
    ERROR = "error"
    """It could not be fetched."""


class ScanOutcome(StrEnum):
    FOUND = "found"
    NONE = "none"
    """Every location could be checked, and there is no sitemap."""
    UNREACHABLE = "unreachable"
    """Not every location could be checked."""


@dataclass(frozen=True)
class ScanLimits:
    """Limits of a scan. Reaching one is always reported."""

    max_bytes: int = 50 * 1024 * 1024
    """Network bytes per sitemap."""
    max_decompressed_bytes: int = 256 * 1024 * 1024
    """Decompressed bytes per sitemap."""
    max_files: int = 10_000
    max_depth: int = 5
    """Sitemaps found on the site are at depth 0, their children at depth 1, and so on."""
    max_seconds: float = 3_600
    children_at_once: int = 4
    probes_at_once: int = 3


@dataclass(frozen=True)
class BaseFound:
    """Base URL that answered for the site, and the ones tried before it with their errors."""

    base_url: str
    tried: tuple[tuple[str, str], ...] = ()
    robots: tuple[str, str | None, str | None] | None = None
    """Text, ETag and Last-Modified of robots.txt, if it supports conditional requests."""


@dataclass(frozen=True)
class SitemapFound:
    """Start of a sitemap. The following events refer to it by `url`.

    `sitemap_type` is based on the first bytes. `SitemapDone` may refine it to image, video or news.
    """

    url: str
    final_url: str
    parent_url: str | None
    sitemap_type: SitemapType | None
    """None if too little could be read to detect it."""
    discovery_method: DiscoveryMethod
    depth: int = 0
    is_gzipped: bool = False
    http_status: int | None = None
    response_time_ms: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    generator: str | None = None


class UnchangedReason(StrEnum):
    """How an unchanged sitemap was detected."""

    NOT_MODIFIED = "not_modified"
    SAME_CONTENT = "same_content"
    INDEX_LASTMOD = "index_lastmod"


@dataclass(frozen=True)
class SitemapUnchanged:
    """Sitemap that is unchanged since the previous scan. Replaces all its other events."""

    url: str
    how: UnchangedReason
    url_count: int
    index_lastmod: datetime | None = None


@dataclass(frozen=True)
class UrlsFound:
    """Up to `URLS_PER_CHUNK` pages listed by a sitemap, without child sitemaps."""

    sitemap_url: str
    entries: tuple[UrlEntry, ...]


@dataclass(frozen=True)
class SitemapDone:
    """Final status of a sitemap. Exactly one follows each `SitemapFound`."""

    url: str
    status: SitemapStatus
    reason: str | None = None
    sitemap_type: SitemapType | None = None
    url_count: int = 0
    """URLs emitted in `UrlsFound`; for an index, the number of children."""
    size_bytes: int = 0
    """Bytes received from the network."""
    content_hash: str | None = None
    """Hex BLAKE2b digest of those bytes, or None if they are incomplete."""
    has_lastmod: bool = False
    has_priority: bool = False
    has_changefreq: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)
    index_lastmod: datetime | None = None
    """Lastmod of this sitemap in its index."""


@dataclass(frozen=True)
class SitemapRejected:
    """Location without a sitemap."""

    url: str
    method: DiscoveryMethod
    reason: str


@dataclass(frozen=True)
class Analysis:
    """Result of the scan; the last event."""

    outcome: ScanOutcome
    base_url: str | None
    sitemaps: int = 0
    urls: int = 0
    truncated: bool = False
    truncated_why: str | None = None
    refused: tuple[SitemapRejected, ...] = ()
    errors: tuple[str, ...] = ()
    """One message per sitemap that could not be read, or per base URL if unreachable."""
    warnings: tuple[str, ...] = ()
    permanent: bool = False
    """Set if unreachable and an early retry would not help, for example if the name does not exist.
    """
    retry_after: float | None = None
    """Set if unreachable: seconds to wait, as requested by the site or its gate."""


ScanEvent = (
    BaseFound
    | SitemapFound
    | UrlsFound
    | SitemapDone
    | SitemapUnchanged
    | SitemapRejected
    | Analysis
)


# The previous scan, used to skip what has not changed


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
