"""Entries that are kept as columns and made only when somebody looks at them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import accumulate, chain, islice, repeat
from operator import itemgetter
from typing import Any, overload

from scrapersky.scraper.sitemap_parser.model import Entry

Rest = tuple[str | None, float | None]
"""The changefreq and priority of an entry; many share theirs."""
STEP_ENTRIES = 250
"""Entries read one by one before others have their turn."""

_changefreq, _priority = itemgetter(0), itemgetter(1)


def in_steps(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    while step := list(islice(entries, STEP_ENTRIES)):
        yield step


class _LazyEntries(Sequence[Entry]):
    """A sequence that equals every other one with the same entries in it."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(index, slice):
            return self._some(index)
        return self._one(range(len(self))[index])

    @abstractmethod
    def _one(self, index: int) -> Entry: ...

    @abstractmethod
    def _some(self, index: slice) -> Sequence[Entry]: ...


class Rows(_LazyEntries):
    """Entries without extensions, all pages or all sitemaps.

    Three lists of texts and dates, which the garbage collector has no reason to look into,
    however many entries there are.
    """

    __slots__ = ("_lastmods", "_locs", "_rests", "is_sitemap", "origin")

    def __init__(
        self,
        locs: Sequence[str],
        lastmods: Sequence[datetime | None],
        rests: Sequence[Rest],
        *,
        is_sitemap: bool,
        origin: str | None,
    ) -> None:
        self._locs = locs
        self._lastmods = lastmods
        self._rests = rests
        self.is_sitemap = is_sitemap
        self.origin = origin
        """`https://example.com`, where every `loc` is known to begin with it and a slash."""

    def __len__(self) -> int:
        return len(self._locs)

    def __iter__(self) -> Iterator[Entry]:
        none: repeat[tuple[()]] = repeat(())
        fields: Iterator[tuple[Any, ...]] = zip(
            self._locs,
            self._lastmods,
            map(_changefreq, self._rests),
            map(_priority, self._rests),
            none,
            none,
            repeat(None),
            none,
            repeat(False),
            repeat(self.is_sitemap),
        )
        # The class's own constructor takes three times as long and does the same.
        return map(tuple.__new__, repeat(Entry), fields)

    def _one(self, index: int) -> Entry:
        changefreq, priority = self._rests[index]
        return Entry(
            self._locs[index],
            self._lastmods[index],
            changefreq,
            priority,
            is_sitemap=self.is_sitemap,
        )

    def _some(self, index: slice) -> Rows:
        return Rows(
            self._locs[index],
            self._lastmods[index],
            self._rests[index],
            is_sitemap=self.is_sitemap,
            origin=self.origin,
        )


class Joined(_LazyEntries):
    """Several sequences of entries, one behind the other."""

    __slots__ = ("_ends", "_parts")

    def __init__(self, parts: Sequence[Sequence[Entry]]) -> None:
        self._parts = parts
        self._ends = list(accumulate(map(len, parts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Entry]:
        return chain.from_iterable(self._parts)

    def _one(self, index: int) -> Entry:
        for part, end in zip(self._parts, self._ends, strict=True):
            if index < end:
                return part[index - end + len(part)]
        raise IndexError(index)

    def _some(self, index: slice) -> list[Entry]:
        return list(self)[index]
