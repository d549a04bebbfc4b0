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
"""Rows per request: the response has an item for each. Split longer lists."""
MAX_INPUT_CHARACTERS = 300
"""Characters of the input repeated in the result; enough to identify the row."""
NOT_A_STRING = "The value is not a string."


class ImportRowStatus(StrEnum):
    CREATED = "created"
    EXISTS = "exists"
    DUPLICATE = "duplicate"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class InputRow:
    """One row of the input; `error` is set if it could not be read."""

    line: int
    text: str
    error: str | None = None


@dataclass(slots=True)
class ImportRow:
    """Result of one row."""

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
    """Results of all rows, in input order."""

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
    """Build rows from a JSON list. A value that is not a string only makes its own row invalid."""
    return [
        InputRow(line, text) if isinstance(text, str) else InputRow(line, str(text), NOT_A_STRING)
        for line, text in enumerate(texts, 1)
    ]


def read_csv_rows(
    file: BinaryIO, kind: ImportSubject, column: str | None = None
) -> Iterator[InputRow]:
    """Yield the rows of a CSV file, lazily: nothing is read before the first row is requested."""
    found, records = find_column(parse_records(open_text(file), kind.is_name), kind, column)
    for each in records:
        yield _build_input_row(each, found)


def _build_input_row(record: CsvRecord, column: CsvColumn) -> InputRow:
    if record.error is not None:
        return InputRow(record.line, record.cells[0], record.error)
    if column.index >= len(record.cells):
        short = f"The row has no column {column.label}."
        return InputRow(record.line, " ".join(record.cells), short)
    text = record.cells[column.index]
    if not text.strip():
        nothing = f"The column {column.label} is empty."
        return InputRow(record.line, " ".join(record.cells), nothing)
    return InputRow(record.line, text)


def limit_rows(rows: Iterator[InputRow]) -> Iterator[InputRow]:
    for count, row in enumerate(rows):
        if count == MAX_IMPORT_ROWS:
            raise InvalidInput(
                f"The file has more than {MAX_IMPORT_ROWS:,} rows. Split it and import the parts."
            )
        yield row


ROWS_PER_STATEMENT = 2_000
ROWS_PER_READ = 500
FOREIGN_KEY_VIOLATION = "23503"


class ImportEntry(Protocol):
    """A parsed row."""

    @property
    def key(self) -> Hashable:
        """Deduplication key; also the order in which entries are stored."""


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """Result of storing one entry."""

    id: UUID
    is_new: bool
    queued: bool = False
    job_id: UUID | None = None
    already_active: bool = False


@dataclass(frozen=True)
class ImportContext:
    session: AsyncSession
    actor: Actor
    settings: Settings
    queue: bool


@dataclass(frozen=True)
class Importer:
    """How a feature parses and stores one kind of entry."""

    kind: ImportSubject
    read: Callable[[str, SiteParser], Any]
    """Parse a row's text; raises `InvalidInput` with the reason."""
    store: Callable[[ImportContext, Sequence[Any]], Awaitable[Mapping[Any, StoredEntry]]]
    """Store a batch of entries sorted by key and return the results by key."""
    action: str
    """Action in the audit log, such as `domain.hand_in`."""


async def import_rows(
    asker: ImportContext,
    trade: Importer,
    given: Iterable[InputRow],
    seen: dict[Any, int] | None = None,
) -> ImportResult:
    """Parse, deduplicate and store the rows, and record the import in the audit log.

    For a list imported in parts, pass the same `seen` each time: it maps keys to their first line.
    """
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
    """Return all rows, the valid rows with their keys, and the deduplicated entries.

    Parsing runs in a thread, because a large file would block the event loop.
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
        row.status, row.error = ImportRowStatus.DUPLICATE, f"Same as line {first}."


def _set_result(row: ImportRow, stored: StoredEntry | None) -> None:
    """Copy the result to a row. A duplicate only gets the id; the first occurrence has the rest."""
    if stored is None:  # duplicate of a row in an earlier part
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
        raise Conflict(
            "One of these rows was deleted during the import. Import the list again."
        ) from error


async def _store_parts(
    asker: ImportContext, trade: Importer, entries: Sequence[Any]
) -> dict[Any, StoredEntry]:
    stored: dict[Any, StoredEntry] = {}
    for start in range(0, len(entries), ROWS_PER_STATEMENT):
        part = entries[start : start + ROWS_PER_STATEMENT]
        stored.update(await trade.store(asker, part))
    return stored
