"""Entries that are kept as plain rows and made only when somebody looks at them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import accumulate, chain, islice
from typing import Any, overload

from scrapersky.scraper.sitemap_parser.model import Entry

Rest = tuple[Any, ...]
"""All fields of an entry behind loc and lastmod."""
Row = tuple[str, datetime | None, Rest]
"""An entry while it is kept; many share their rest."""


STEP_ENTRIES = 250
"""Entries read one by one before others have their turn."""


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
    """Entries without extensions, all pages or all sitemaps, a plain tuple each."""

    __slots__ = ("is_sitemap", "origin", "rows")

    def __init__(self, rows: Sequence[Row], *, is_sitemap: bool, origin: str | None) -> None:
        self.rows = rows
        self.is_sitemap = is_sitemap
        self.origin = origin
        """`https://example.com`, where every `loc` is known to begin with it and a slash."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Entry]:
        make = tuple.__new__
        # The class's own constructor takes twice as long and does the same, as would `*rest`.
        return iter([make(Entry, (loc, date) + rest) for loc, date, rest in self.rows])  # noqa: RUF005

    def _one(self, index: int) -> Entry:
        loc, lastmod, rest = self.rows[index]
        return tuple.__new__(Entry, (loc, lastmod, *rest))

    def _some(self, index: slice) -> Rows:
        return Rows(self.rows[index], is_sitemap=self.is_sitemap, origin=self.origin)


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
