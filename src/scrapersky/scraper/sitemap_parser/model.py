"""What a sitemap says, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

Extension = dict[str, Any]
"""One image, video or news item: the extension's own tag names without their prefix."""


class Kind(StrEnum):
    """What a document is by its bytes."""

    URLSET = "urlset"
    INDEX = "index"
    RSS = "rss"
    ATOM = "atom"
    TEXT = "text"


class Entry(NamedTuple):
    """One URL a sitemap lists; in an index, one child sitemap.

    A named tuple, because a million of them are made per scan and this is the cheapest
    immutable thing with attributes.
    """

    loc: str
    lastmod: datetime | None = None
    changefreq: str | None = None
    priority: float | None = None
    images: Sequence[Extension] = ()
    videos: Sequence[Extension] = ()
    news: Extension | None = None
    alternates: Sequence[tuple[str, str]] = ()
    """Pairs of language and href."""
    mobile: bool = False
    is_sitemap: bool = False
    """It names another sitemap: every entry of an index, and a stray `<sitemap>` elsewhere."""


@dataclass(frozen=True)
class ParsedSitemap:
    """All that was read of one document, with what is wrong with it."""

    kind: Kind | None
    entries: Sequence[Entry] = ()
    partial: str | None = None
    """Why the end is missing, or None when the document was read whole."""
    error: str | None = None
    """Why this is not a sitemap, or None when it is one."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many entries or values were not kept, by reason."""
    generator: str | None = None
    """The program that says it wrote the document."""
