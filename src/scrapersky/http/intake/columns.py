"""Which column of a table is meant: by the name it was given, or by what stands in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

from scrapersky.errors import InvalidInput
from scrapersky.http.intake.records import Record

SAMPLE_ROWS = 30
MOST_NAMES_SHOWN = 20
MOST_COLUMNS = 1_000
"""Looked at; no table of people's has more."""
MOST_CHARACTERS_OF_A_NAME = 100
_NAME_LIKE = re.compile(r"(https?://)?[^\s/@:,;]+\.[^\W\d_][\w-]+(:\d+)?([/?#]\S*)?\Z", re.I)
"""Enough to tell a column of addresses from one of dates, prices or people."""


def plain(name: str) -> str:
    """As names are compared: `Site Web`, `site_web` and `SITE-WEB` are one."""
    parts = unicodedata.normalize("NFKD", name).casefold()
    return "".join(each for each in parts if each.isalnum())


@dataclass(frozen=True)
class ListKind:
    """What a list names, and what people call the column that names it."""

    noun: str
    """`domain`."""
    column_names: tuple[str, ...]
    """The most telling first: a table may have a `domain` and a `link`."""

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        return {plain(name): rank for rank, name in enumerate(self.column_names)}

    def is_name(self, cell: str) -> bool:
        return plain(cell[:MOST_CHARACTERS_OF_A_NAME]) in self.ranks


@dataclass(frozen=True)
class Column:
    index: int
    name: str | None
    """Nothing in a table without a header."""

    @property
    def label(self) -> str:
        return self.name or f"number {self.index + 1}"


def find_column(
    records: Iterator[Record], kind: ListKind, wanted: str | None
) -> tuple[Column, Iterator[Record]]:
    """The column, and the rows that are no header."""
    sample = list(islice(records, SAMPLE_ROWS))
    if not sample:
        raise InvalidInput("The file is empty; there is nothing in it to take.")
    first = sample[0].cells[:MOST_COLUMNS]
    column = _asked_for(first, wanted) if wanted else _by_name(first, kind)
    if column is None:
        return _by_content(sample, kind), chain(sample, records)
    rows = chain(sample[1:] if column.name else sample, records)
    return column, _refuse_none(rows)


def _refuse_none(rows: Iterator[Record]) -> Iterator[Record]:
    first = next(rows, None)
    if first is None:
        raise InvalidInput("The file has a header and no rows below it.")
    return chain([first], rows)


def _asked_for(cells: Sequence[str], wanted: str) -> Column:
    for index, cell in enumerate(cells):
        if plain(cell) == plain(wanted):
            return Column(index, cell.strip())
    if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(cells):
        return Column(int(wanted) - 1, None)
    raise InvalidInput(f"There is no column {wanted!r}; the file has {_shown(cells)}.")


def _by_name(cells: Sequence[str], kind: ListKind) -> Column | None:
    known = [
        (kind.ranks[plain(cell)], index) for index, cell in enumerate(cells) if kind.is_name(cell)
    ]
    if not known:
        return None
    _, index = min(known)
    return Column(index, cells[index].strip())


def _by_content(sample: Sequence[Record], kind: ListKind) -> Column:
    """A row of addresses is no header. A single column is the one that is meant, whatever stands
    in its first line."""
    first = sample[0].cells[:MOST_COLUMNS]
    if max(len(each.cells) for each in sample) == 1:
        return Column(0, None)
    candidates = [index for index, cell in enumerate(first) if _NAME_LIKE.match(cell.strip())]
    if not candidates:
        accepted = ", ".join(kind.column_names)
        raise InvalidInput(
            f"No column is known to hold {kind.noun}s: the file has {_shown(first)}. Name the "
            f"column one of these: {accepted}; or say which one it is."
        )
    return Column(max(candidates, key=lambda index: _matches(sample, index)), None)


def _matches(sample: Sequence[Record], index: int) -> int:
    cells = (each.cells[index].strip() for each in sample if len(each.cells) > index)
    return sum(_NAME_LIKE.match(each) is not None for each in cells)


def _shown(cells: Sequence[str]) -> str:
    names = ", ".join(repr(each.strip()[:60]) for each in cells[:MOST_NAMES_SHOWN])
    more = f" and {len(cells) - MOST_NAMES_SHOWN} more" if len(cells) > MOST_NAMES_SHOWN else ""
    return f"the column {names}" if len(cells) == 1 else f"the columns {names}{more}"
