"""Import rows: parse, deduplicate and store them, and report a status per row."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, BinaryIO, Protocol
from uuid import UUID

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import Conflict, InvalidInput
from scrapersky.lists.imports.csv_reader import (
    CsvColumn,
    CsvRecord,
    ImportSubject,
    find_column,
    open_text,
    parse_records,
)
from scrapersky.lists.imports.sites import SiteParser
from scrapersky.models import Actor, record
from scrapersky.pipeline.bulk import retry_on_conflict
from scrapersky.settings import Settings

MAX_IMPORT_ROWS = 200_000
"""Of one request: its answer tells of each. Whoever has more sends them in parts."""
MAX_INPUT_CHARACTERS = 300
"""Of what was given; enough to find it again."""
NOT_A_STRING = "This is not a text."


class ImportRowStatus(StrEnum):
    CREATED = "created"
    EXISTS = "exists"
    DUPLICATE = "duplicate"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class InputRow:
    """One row as it was handed in."""

    line: int
    text: str
    error: str | None = None


@dataclass(slots=True)
class ImportRow:
    """What became of one row."""

    line: int
    input: str
    status: ImportRowStatus
    id: UUID | None = None
    job_id: UUID | None = None
    already_active: bool = False
    queued: bool = False
    error: str | None = None


@dataclass(frozen=True)
class ImportResult:
    """All rows, in the order in which they were given."""

    rows: Sequence[ImportRow]

    def counts(self) -> dict[str, int]:
        found = Counter(each.status for each in self.rows)
        return {
            "accepted": found[ImportRowStatus.CREATED] + found[ImportRowStatus.EXISTS],
            "created": found[ImportRowStatus.CREATED],
            "existing": found[ImportRowStatus.EXISTS],
            "duplicates": found[ImportRowStatus.DUPLICATE],
            "invalid": found[ImportRowStatus.INVALID],
            "queued": sum(each.queued for each in self.rows),
        }


def parse_list(texts: Iterable[Any]) -> list[InputRow]:
    """A list in a request's body; something else than a text is a bad row, and costs no other."""
    return [
        InputRow(line, text) if isinstance(text, str) else InputRow(line, str(text), NOT_A_STRING)
        for line, text in enumerate(texts, 1)
    ]


def read_csv_rows(
    file: BinaryIO, kind: ImportSubject, column: str | None = None
) -> Iterator[InputRow]:
    """The rows of a CSV file. Nothing of it is read before the first is asked for."""
    found, records = find_column(parse_records(open_text(file), kind.is_name), kind, column)
    for record in records:
        yield _build_input_row(record, found)


def _build_input_row(record: CsvRecord, column: CsvColumn) -> InputRow:
    if record.error is not None:
        return InputRow(record.line, record.cells[0], record.error)
    if column.index >= len(record.cells):
        short = f"The row ends before the column {column.label}."
        return InputRow(record.line, " ".join(record.cells), short)
    text = record.cells[column.index]
    if not text.strip():
        nothing = f"There is nothing in the column {column.label}."
        return InputRow(record.line, " ".join(record.cells), nothing)
    return InputRow(record.line, text)


def limit_rows(rows: Iterator[InputRow]) -> Iterator[InputRow]:
    for count, row in enumerate(rows):
        if count == MAX_IMPORT_ROWS:
            raise InvalidInput(
                f"The file has more than {MAX_IMPORT_ROWS:,} rows; send it in parts."
            )
        yield row


ROWS_PER_STATEMENT = 2_000
ROWS_PER_READ = 500
FOREIGN_KEY_VIOLATION = "23503"


class ImportEntry(Protocol):
    """What a good row names."""

    @property
    def key(self) -> Hashable:
        """Rows that have it in common name the same. Entries are stored in the order of these."""


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """What became of one entry."""

    id: UUID
    is_new: bool
    queued: bool = False
    job_id: UUID | None = None
    already_active: bool = False


@dataclass(frozen=True)
class ImportContext:
    """For whom, and how."""

    session: AsyncSession
    actor: Actor
    settings: Settings
    queue: bool


@dataclass(frozen=True)
class Importer:
    """What a feature knows about taking one kind of thing."""

    kind: ImportSubject
    read: Callable[[str, SiteParser], Any]
    """The entry that a row names; `InvalidInput` says what is wrong with it."""
    store: Callable[[ImportContext, Sequence[Any]], Awaitable[Mapping[Any, StoredEntry]]]
    """Some entries, in the order of their keys; what became of each, by its key."""
    action: str
    """As the audit log names it: `domain.hand_in`."""


async def import_rows(
    asker: ImportContext,
    trade: Importer,
    given: Iterable[InputRow],
    seen: dict[Any, int] | None = None,
) -> ImportResult:
    """`seen` are the keys of rows that came before, each with its line: for a list in parts."""
    rows, firsts, entries = await _read_rows(asker, trade, given, {} if seen is None else seen)
    stored = await _store_with_retry(asker, trade, sorted(entries, key=lambda each: each.key))
    for row, key in firsts:
        _set_result(row, stored.get(key))
    taken = ImportResult(rows)
    record(asker.session, asker.actor, trade.action, None, queue=asker.queue, **taken.counts())
    return taken


async def _read_rows(
    asker: ImportContext, trade: Importer, given: Iterable[InputRow], seen: dict[Any, int]
) -> tuple[list[ImportRow], list[tuple[ImportRow, Any]], list[Any]]:
    """All rows; those that name something, with its key; and each thing once.

    Beside the event loop, for which a large file takes too long.
    """
    rows: list[ImportRow] = []
    naming: list[tuple[ImportRow, Any]] = []
    entries: list[Any] = []
    waiting, reader = iter(given), SiteParser.from_settings(asker.settings)
    while part := await asyncio.to_thread(_read_part, waiting, trade, reader):
        for row, entry in part:
            rows.append(row)
            if entry is not None:
                naming.append((row, entry.key))
                _mark_duplicate(row, entry, seen, entries)
    return rows, naming, entries


def _read_part(
    waiting: Iterator[InputRow], trade: Importer, reader: SiteParser
) -> list[tuple[ImportRow, Any]]:
    part: list[tuple[ImportRow, Any]] = []
    for each in islice(waiting, ROWS_PER_READ):
        row = ImportRow(each.line, _shorten(each.text), ImportRowStatus.INVALID, error=each.error)
        part.append((row, _parse_entry(row, each, trade, reader)))
    return part


def _parse_entry(row: ImportRow, given: InputRow, trade: Importer, reader: SiteParser) -> Any:
    if given.error is not None:
        return None
    try:
        return trade.read(given.text, reader)
    except InvalidInput as error:
        row.error = str(error)
        return None


def _mark_duplicate(
    row: ImportRow, entry: ImportEntry, seen: dict[Any, int], entries: list[Any]
) -> None:
    first = seen.setdefault(entry.key, row.line)
    if first == row.line:
        row.status = ImportRowStatus.EXISTS
        entries.append(entry)
    else:
        row.status, row.error = ImportRowStatus.DUPLICATE, f"The same as line {first}."


def _set_result(row: ImportRow, stored: StoredEntry | None) -> None:
    """A repeated row names the same row of ours; what it was asked for is told where it came
    first."""
    if stored is None:  # of a part that was stored before
        return
    row.id = stored.id
    if row.status is ImportRowStatus.DUPLICATE:
        return
    row.status = ImportRowStatus.CREATED if stored.is_new else ImportRowStatus.EXISTS
    row.queued, row.job_id = stored.queued, stored.job_id
    row.already_active = stored.already_active


def _shorten(text: str) -> str:
    return text.strip()[:MAX_INPUT_CHARACTERS].encode("utf-8", "replace").decode()


async def _store_with_retry(
    asker: ImportContext, trade: Importer, entries: Sequence[Any]
) -> dict[Any, StoredEntry]:
    try:
        return await retry_on_conflict(asker.session, lambda: _store_parts(asker, trade, entries))
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != FOREIGN_KEY_VIOLATION:
            raise
        raise Conflict("Somebody has just deleted one of these; hand the list in again.") from error


async def _store_parts(
    asker: ImportContext, trade: Importer, entries: Sequence[Any]
) -> dict[Any, StoredEntry]:
    stored: dict[Any, StoredEntry] = {}
    for start in range(0, len(entries), ROWS_PER_STATEMENT):
        part = entries[start : start + ROWS_PER_STATEMENT]
        stored.update(await trade.store(asker, part))
    return stored
