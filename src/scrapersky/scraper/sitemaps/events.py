"""Events of a sitemap scan, in the order they are emitted.

`BaseFound`, then for every sitemap `SitemapFound`, its `UrlsFound` and one `SitemapDone`, with
`SitemapRejected` in between for candidates that are no sitemap, and one `Analysis` at the end.


`BaseFound`, then for every sitemap `SitemapFound`, its `UrlsFound` and one `SitemapDone`,
with `Refused` in between for what turned out to be none, and at the end one `Analysis`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from scrapersky.scraper.sitemaps.parse.entries import UrlEntry

URLS_PER_CHUNK = 5_000
"""At most this many entries in one `UrlsFound`, so that storing them stays a short transaction."""


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
    """It was announced as a sitemap and its bytes are not one."""
    ERROR = "error"
    """It could not be fetched."""


class ScanOutcome(StrEnum):
    FOUND = "found"
    NONE = "none"
    """We could look everywhere and there is no sitemap."""
    UNREACHABLE = "unreachable"
    """We could not look."""


@dataclass(frozen=True)
class ScanLimits:
    """Where a scan stops; reaching one is reported, never silent."""

    max_bytes: int = 50 * 1024 * 1024
    """Read from the network for one sitemap."""
    max_decompressed_bytes: int = 256 * 1024 * 1024
    """Unpacked from one sitemap."""
    max_files: int = 10_000
    max_depth: int = 5
    """A sitemap found on the site is at depth 0, its children at 1, and so on."""
    max_seconds: float = 3_600
    children_at_once: int = 4
    probes_at_once: int = 3


@dataclass(frozen=True)
class BaseFound:
    """The address that answered for the site, and those tried before it with what they said."""

    base_url: str
    tried: tuple[tuple[str, str], ...] = ()
    robots: tuple[str, str | None, str | None] | None = None
    """Text, ETag and Last-Modified of its robots.txt, where it can be asked for conditionally."""


@dataclass(frozen=True)
class SitemapFound:
    """A sitemap starts to be read; identified by `url` in the events that follow.

    `sitemap_type` is what its first bytes say; `SitemapDone` may know better (image, video, news).
    """

    url: str
    final_url: str
    parent_url: str | None
    sitemap_type: SitemapType | None
    """None when it could not be read far enough to tell."""
    discovery_method: DiscoveryMethod
    depth: int = 0
    is_gzipped: bool = False
    http_status: int | None = None
    response_time_ms: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    generator: str | None = None


class UnchangedReason(StrEnum):
    """How we know that a sitemap is what it was."""

    NOT_MODIFIED = "not_modified"
    SAME_CONTENT = "same_content"
    INDEX_LASTMOD = "index_lastmod"


@dataclass(frozen=True)
class SitemapUnchanged:
    """A sitemap read before is what it was; stands for all that would be told of it."""

    url: str
    how: UnchangedReason
    url_count: int
    index_lastmod: datetime | None = None


@dataclass(frozen=True)
class UrlsFound:
    """Pages listed by a sitemap, at most `URLS_PER_CHUNK` at a time; children are not in here."""

    sitemap_url: str
    entries: tuple[UrlEntry, ...]


@dataclass(frozen=True)
class SitemapDone:
    """The verdict on one sitemap; exactly one follows each `SitemapFound`."""

    url: str
    status: SitemapStatus
    reason: str | None = None
    sitemap_type: SitemapType | None = None
    url_count: int = 0
    """URLs handed over in `UrlsFound`; for an index, the children it names."""
    size_bytes: int = 0
    """As it came over the network."""
    content_hash: str | None = None
    """BLAKE2b of those bytes, in hex; None when they were not read to their end."""
    has_lastmod: bool = False
    has_priority: bool = False
    has_changefreq: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)
    index_lastmod: datetime | None = None
    """What the index that names it says of it."""


@dataclass(frozen=True)
class SitemapRejected:
    """A place where a sitemap might have been and was not."""

    url: str
    method: DiscoveryMethod
    reason: str


@dataclass(frozen=True)
class Analysis:
    """The end of the scan and what it came to."""

    outcome: ScanOutcome
    base_url: str | None
    sitemaps: int = 0
    urls: int = 0
    truncated: bool = False
    truncated_why: str | None = None
    refused: tuple[SitemapRejected, ...] = ()
    errors: tuple[str, ...] = ()
    """One sentence per sitemap, or per base when unreachable, that could not be read."""
    warnings: tuple[str, ...] = ()
    permanent: bool = False
    """Only when unreachable: asking again soon would not help, e.g. the name does not exist."""
    retry_after: float | None = None
    """Only when unreachable: the seconds the site, or its gate, asked us to stay away."""


ScanEvent = (
    BaseFound
    | SitemapFound
    | UrlsFound
    | SitemapDone
    | SitemapUnchanged
    | SitemapRejected
    | Analysis
)
