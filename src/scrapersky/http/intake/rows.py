"""The rows of a list, and what became of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, BinaryIO
from uuid import UUID

from scrapersky.errors import InvalidInput
from scrapersky.http.intake.columns import Column, ListKind, find_column
from scrapersky.http.intake.records import Record, records_of
from scrapersky.http.intake.texts import text_of

MOST_ROWS = 200_000
"""Of one request: its answer tells of each. Whoever has more sends them in parts."""
SHOWN_CHARACTERS = 300
"""Of what was given; enough to find it again."""
NO_TEXT = "This is not a text."


class RowStatus(StrEnum):
    CREATED = "created"
    EXISTS = "exists"
    DUPLICATE = "duplicate"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Given:
    """One row as it was handed in."""

    line: int
    text: str
    error: str | None = None


@dataclass(slots=True)
class Row:
    """What became of one row."""

    line: int
    input: str
    status: RowStatus
    id: UUID | None = None
    job_id: UUID | None = None
    already_active: bool = False
    queued: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Taken:
    """All rows, in the order in which they were given."""

    rows: Sequence[Row]

    def counts(self) -> dict[str, int]:
        found = Counter(each.status for each in self.rows)
        return {
            "accepted": found[RowStatus.CREATED] + found[RowStatus.EXISTS],
            "created": found[RowStatus.CREATED],
            "existing": found[RowStatus.EXISTS],
            "duplicates": found[RowStatus.DUPLICATE],
            "invalid": found[RowStatus.INVALID],
            "queued": sum(each.queued for each in self.rows),
        }


def listed(texts: Iterable[Any]) -> list[Given]:
    """A list in a request's body; something else than a text is a bad row, and costs no other."""
    return [
        Given(line, text) if isinstance(text, str) else Given(line, str(text), NO_TEXT)
        for line, text in enumerate(texts, 1)
    ]


def rows_in(file: BinaryIO, kind: ListKind, column: str | None = None) -> Iterator[Given]:
    """The rows of a CSV file. Nothing of it is read before the first is asked for."""
    found, records = find_column(records_of(text_of(file), kind.is_name), kind, column)
    for record in records:
        yield _given(record, found)


def _given(record: Record, column: Column) -> Given:
    if record.error is not None:
        return Given(record.line, record.cells[0], record.error)
    if column.index >= len(record.cells):
        short = f"The row ends before the column {column.label}."
        return Given(record.line, " ".join(record.cells), short)
    text = record.cells[column.index]
    if not text.strip():
        nothing = f"There is nothing in the column {column.label}."
        return Given(record.line, " ".join(record.cells), nothing)
    return Given(record.line, text)


def refuse_too_many(rows: Iterator[Given]) -> Iterator[Given]:
    for count, row in enumerate(rows):
        if count == MOST_ROWS:
            raise InvalidInput(f"The file has more than {MOST_ROWS:,} rows; send it in parts.")
        yield row
