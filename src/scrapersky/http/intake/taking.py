"""Store what the rows of a list name: each once, in few statements, and bad rows cost no others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol
from uuid import UUID

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import Conflict, InvalidInput
from scrapersky.http.intake.columns import ListKind
from scrapersky.http.intake.rows import SHOWN_CHARACTERS, Given, Row, RowStatus, Taken
from scrapersky.http.intake.sites import SiteReader
from scrapersky.models import Actor, record
from scrapersky.pipeline.bulk_acts import patiently
from scrapersky.settings import Settings

ROWS_OF_A_STATEMENT = 2_000
READ_AT_ONCE = 500
POINTS_NOWHERE = "23503"


class Entry(Protocol):
    """What a good row names."""

    @property
    def key(self) -> Hashable:
        """Rows that have it in common name the same. Entries are stored in the order of these."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of one entry."""

    id: UUID
    is_new: bool
    queued: bool = False
    job_id: UUID | None = None
    already_active: bool = False


@dataclass(frozen=True)
class Asker:
    """For whom, and how."""

    session: AsyncSession
    actor: Actor
    settings: Settings
    queue: bool


@dataclass(frozen=True)
class Trade:
    """What a feature knows about taking one kind of thing."""

    kind: ListKind
    read: Callable[[str, SiteReader], Any]
    """The entry that a row names; `InvalidInput` says what is wrong with it."""
    store: Callable[[Asker, Sequence[Any]], Awaitable[Mapping[Any, Stored]]]
    """Some entries, in the order of their keys; what became of each, by its key."""
    action: str
    """As the audit log names it: `domain.hand_in`."""


async def take(
    asker: Asker, trade: Trade, given: Iterable[Given], seen: dict[Any, int] | None = None
) -> Taken:
    """`seen` are the keys of rows that came before, each with its line: for a list in parts."""
    rows, firsts, entries = await _read(asker, trade, given, {} if seen is None else seen)
    stored = await _stored(asker, trade, sorted(entries, key=lambda each: each.key))
    for row, key in firsts:
        _tell(row, stored.get(key))
    taken = Taken(rows)
    record(asker.session, asker.actor, trade.action, None, queue=asker.queue, **taken.counts())
    return taken


async def _read(
    asker: Asker, trade: Trade, given: Iterable[Given], seen: dict[Any, int]
) -> tuple[list[Row], list[tuple[Row, Any]], list[Any]]:
    """All rows; those that name something, with its key; and each thing once.

    Beside the event loop, for which a large file takes too long.
    """
    rows: list[Row] = []
    naming: list[tuple[Row, Any]] = []
    entries: list[Any] = []
    waiting, reader = iter(given), SiteReader.of(asker.settings)
    while part := await asyncio.to_thread(_next_part, waiting, trade, reader):
        for row, entry in part:
            rows.append(row)
            if entry is not None:
                naming.append((row, entry.key))
                _tell_apart(row, entry, seen, entries)
    return rows, naming, entries


def _next_part(waiting: Iterator[Given], trade: Trade, reader: SiteReader) -> list[tuple[Row, Any]]:
    part: list[tuple[Row, Any]] = []
    for each in islice(waiting, READ_AT_ONCE):
        row = Row(each.line, _shown(each.text), RowStatus.INVALID, error=each.error)
        part.append((row, _entry(row, each, trade, reader)))
    return part


def _entry(row: Row, given: Given, trade: Trade, reader: SiteReader) -> Any:
    if given.error is not None:
        return None
    try:
        return trade.read(given.text, reader)
    except InvalidInput as error:
        row.error = str(error)
        return None


def _tell_apart(row: Row, entry: Entry, seen: dict[Any, int], entries: list[Any]) -> None:
    first = seen.setdefault(entry.key, row.line)
    if first == row.line:
        row.status = RowStatus.EXISTS
        entries.append(entry)
    else:
        row.status, row.error = RowStatus.DUPLICATE, f"The same as line {first}."


def _tell(row: Row, stored: Stored | None) -> None:
    """A repeated row names the same row of ours; what it was asked for is told where it came
    first."""
    if stored is None:  # of a part that was stored before
        return
    row.id = stored.id
    if row.status is RowStatus.DUPLICATE:
        return
    row.status = RowStatus.CREATED if stored.is_new else RowStatus.EXISTS
    row.queued, row.job_id = stored.queued, stored.job_id
    row.already_active = stored.already_active


def _shown(text: str) -> str:
    return text.strip()[:SHOWN_CHARACTERS].encode("utf-8", "replace").decode()


async def _stored(asker: Asker, trade: Trade, entries: Sequence[Any]) -> dict[Any, Stored]:
    try:
        return await patiently(asker.session, lambda: _store(asker, trade, entries))
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != POINTS_NOWHERE:
            raise
        raise Conflict("Somebody has just deleted one of these; hand the list in again.") from error


async def _store(asker: Asker, trade: Trade, entries: Sequence[Any]) -> dict[Any, Stored]:
    stored: dict[Any, Stored] = {}
    for start in range(0, len(entries), ROWS_OF_A_STATEMENT):
        part = entries[start : start + ROWS_OF_A_STATEMENT]
        stored.update(await trade.store(asker, part))
    return stored
