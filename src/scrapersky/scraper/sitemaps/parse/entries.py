"""Sitemap entries, and lazy sequences that hold many of them in little memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import accumulate, chain, islice, repeat
from operator import itemgetter
from typing import Any, NamedTuple, overload

Extension = dict[str, Any]
"""Image, video or news item, keyed by the extension's tag names without prefix."""


class SitemapFormat(StrEnum):
    """Format of a document, detected from its content."""

    URLSET = "urlset"
    INDEX = "index"
    RSS = "rss"
    ATOM = "atom"
    TEXT = "text"


class UrlEntry(NamedTuple):
    """URL listed by a sitemap; in an index, a child sitemap.

    A named tuple, because a scan creates millions of them and it is the cheapest immutable object
    with attributes.
    """

    loc: str
    lastmod: datetime | None = None
    changefreq: str | None = None
    priority: float | None = None
    images: Sequence[Extension] = ()
    videos: Sequence[Extension] = ()
    news: Extension | None = None
    alternates: Sequence[tuple[str, str]] = ()
    """Pairs of language and URL."""
    mobile: bool = False
    is_sitemap: bool = False
    """Whether it is a child sitemap: every entry of an index, or a stray `<sitemap>` elsewhere."""


@dataclass(frozen=True)
class ParsedSitemap:
    """Everything parsed from one document, with its problems."""

    kind: SitemapFormat | None
    entries: Sequence[UrlEntry] = ()
    partial: str | None = None
    """Why the document is incomplete, or None if it is complete."""
    error: str | None = None
    """Why this is not a sitemap, or None if it is one."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Number of dropped entries or values by reason."""
    generator: str | None = None
    """Program that wrote the document, as stated in it."""


ChangeHints = tuple[str | None, float | None]
"""Changefreq and priority. Many entries share the same tuple."""
MAX_STEP_ENTRIES = 250
"""Entries read one by one before yielding to the event loop."""

_get_changefreq, _get_priority = itemgetter(0), itemgetter(1)


def batch_entries(entries: Iterator[UrlEntry]) -> Iterator[list[UrlEntry]]:
    while step := list(islice(entries, MAX_STEP_ENTRIES)):
        yield step


class _LazyEntries(Sequence[UrlEntry]):
    """Lazy sequence that compares equal to any other with the same entries."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    @overload
    def __getitem__(self, index: int) -> UrlEntry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[UrlEntry]: ...
    def __getitem__(self, index: int | slice) -> UrlEntry | Sequence[UrlEntry]:
        if isinstance(index, slice):
            return self._get_slice(index)
        return self._get_one(range(len(self))[index])

    @abstractmethod
    def _get_one(self, index: int) -> UrlEntry: ...

    @abstractmethod
    def _get_slice(self, index: slice) -> Sequence[UrlEntry]: ...


class EntryColumns(_LazyEntries):
    """Entries without extensions, either all pages or all sitemaps.

    They are stored as three lists of strings and dates, which the garbage collector does not have
    to traverse.
    """

    __slots__ = ("_lastmods", "_locs", "_rests", "is_sitemap", "origin")

    def __init__(
        self,
        locs: Sequence[str],
        lastmods: Sequence[datetime | None],
        rests: Sequence[ChangeHints],
        *,
        is_sitemap: bool,
        origin: str | None,
    ) -> None:
        self._locs = locs
        self._lastmods = lastmods
        self._rests = rests
        self.is_sitemap = is_sitemap
        self.origin = origin
        """Set to `https://example.com` if every `loc` starts with it and a slash."""

    def __len__(self) -> int:
        return len(self._locs)

    def __iter__(self) -> Iterator[UrlEntry]:
        none: repeat[tuple[()]] = repeat(())
        fields: Iterator[tuple[Any, ...]] = zip(
            self._locs,
            self._lastmods,
            map(_get_changefreq, self._rests),
            map(_get_priority, self._rests),
            none,
            none,
            repeat(None),
            none,
            repeat(False),
            repeat(self.is_sitemap),
        )
        # `tuple.__new__` gives the same result as the constructor in a third of the time.
        return map(tuple.__new__, repeat(UrlEntry), fields)

    def _get_one(self, index: int) -> UrlEntry:
        changefreq, priority = self._rests[index]
        return UrlEntry(
            self._locs[index],
            self._lastmods[index],
            changefreq,
            priority,
            is_sitemap=self.is_sitemap,
        )

    def _get_slice(self, index: slice) -> EntryColumns:
        return EntryColumns(
            self._locs[index],
            self._lastmods[index],
            self._rests[index],
            is_sitemap=self.is_sitemap,
            origin=self.origin,
        )


class EntryChain(_LazyEntries):
    """Concatenation of several sequences of entries."""

    __slots__ = ("_ends", "_parts")

    def __init__(self, parts: Sequence[Sequence[UrlEntry]]) -> None:
        self._parts = parts
        self._ends = list(accumulate(map(len, parts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[UrlEntry]:
        return chain.from_iterable(self._parts)

    def _get_one(self, index: int) -> UrlEntry:
        for part, end in zip(self._parts, self._ends, strict=True):
            if index < end:
                return part[index - end + len(part)]
        raise IndexError(index)

    def _get_slice(self, index: slice) -> list[UrlEntry]:
        return list(self)[index]
