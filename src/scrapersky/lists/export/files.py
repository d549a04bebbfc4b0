"""Stream a list as a file and record the export in the audit log.

CSV and JSON are written by the database (COPY), the other formats by us. Rows are read in parts:
none twice, and every row that exists throughout. Between two parts no connection is held, however
slow the reader is. The audit entry is written when the file is complete or was cut off, because
only then the number of rows is known; a file whose entry cannot be stored is not completed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from tempfile import SpooledTemporaryFile
from typing import IO, Any, NamedTuple, Protocol, TypeVar
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Select,
    Uuid,
    bindparam,
    column,
    func,
    literal,
    select,
    tuple_,
)

from scrapersky.db.copy import CopyQuery
from scrapersky.db.migrate import require_writable
from scrapersky.db.session import Database
from scrapersky.lists.cursor import SortOrder
from scrapersky.lists.export import ExportCounts, write_parquet, write_xlsx
from scrapersky.lists.export.columns import ExportRow, build_csv_cell, build_json_value
from scrapersky.lists.export.definition import Export, ExportFormat, ExportRequest
from scrapersky.lists.export.writers import build_heading_line
from scrapersky.lists.listing import Listing
from scrapersky.logging import get_logger
from scrapersky.models import Actor, record, restrict_to_tenant

# Who took which rows out as a file stands in the audit log, with how many there were.
#
# It is noted when the file has come to its end, or was cut off: only then the number is known.
# Until
# then nothing is held; the entry has a transaction of its own. A file whose entry cannot be stored
# does not come to its end.

EXPORT_ACTION = "list.export"

log = get_logger(__name__)


@dataclass(frozen=True)
class ExportAudit:
    """One export, for the audit log."""

    database: Database
    export: Export
    actor: Actor
    asked: ExportRequest
    counts: ExportCounts
    """Of what was written so far."""

    async def record_stream(
        self, source: AsyncGenerator[bytes, None]
    ) -> AsyncGenerator[bytes, None]:
        """The same bytes."""
        try:
            async with aclosing(source):
                async for piece in source:
                    yield piece
        except BaseException:
            await self._record_interrupted()
            raise
        await self._record(complete=True)

    async def _record_interrupted(self) -> None:
        """What cut it off is what is told, should this fail, too."""
        try:
            await self._record(complete=False)
        except Exception:
            log.exception("an export that was cut off is not in the audit log", **self._facts())

    async def _record(self, *, complete: bool) -> None:
        async with self.database.transaction() as session:
            record(session, self.actor, EXPORT_ACTION, None, **self._facts(), complete=complete)

    def _facts(self) -> dict[str, object]:
        listing, asked = self.export.listing, self.asked
        narrowed = listing.filter_model(**asked.given)
        return {
            "kind": self.export.rows,
            "filter": narrowed.model_dump(mode="json", exclude_none=True),
            "sort": asked.sort or listing.default_sort,
            "format": asked.format.value,
            "columns": [each.name for each in self.export.fields(asked.columns)],
            "rows": self.counts.rows,
        }


# All rows of a list, a part at a time: none twice, and all that are there the whole time.
#
# Between two parts no connection is held, however slowly they are taken.

PartValues = Mapping[str, Any]

IMMUTABLE_COLUMN = "created_at"
MAX_MEMORY_BYTES = 1024 * 1024
BYTES_PER_ID = 37
"""In CSV, with the end of its line."""


class RowPosition(NamedTuple):
    """Of a row in the order of time."""

    moment: datetime
    key: UUID


FIRST_POSITION = RowPosition(datetime(1, 1, 1, tzinfo=UTC), UUID(int=0))
LAST_POSITION = RowPosition(datetime(9999, 12, 31, tzinfo=UTC), UUID(int=2**128 - 1))
"""No row is beyond these."""


class ExportParts(Protocol):
    def narrow(self, statement: Select[Any]) -> Select[Any]:
        """The statement for one part, in order; which part is left open."""

    def values(self, size: int) -> AsyncGenerator[PartValues, None]:
        """What to put there, for one part after the other."""


def choose_parts(
    database: Database, listing: Listing, actor: Actor, given: PartValues, sort: str | None
) -> ExportParts:
    """In the order of the list. Where a row may change its place in it meanwhile, or where every
    part would mean to sort all rows, the ids are set down in order first."""
    order = listing.order(sort or listing.default_sort)
    chosen = listing.statement(given, actor)
    if order.column.key == IMMUTABLE_COLUMN:
        return TimeRangeParts(database, actor, chosen, order)
    return IdListParts(database, chosen, order)


@dataclass(frozen=True)
class TimeRangeParts:
    """From one moment to another, with so many rows between them."""

    database: Database
    actor: Actor
    chosen: Select[Any]
    order: SortOrder

    def narrow(self, statement: Select[Any]) -> Select[Any]:
        low, high = ("until", "after") if self.order.descending else ("after", "until")
        moment, chosen = self.order.column, self.chosen.whereclause
        assert chosen is not None  # it says at least whose rows they are
        return statement.where(
            chosen,
            self._build_after_condition("after"),
            ~self._build_after_condition("until"),
            # Said again of the moments alone: of these the planner knows how few lie between.
            moment.between(_bind_time(low, moment), _bind_time(high, moment)),
        ).order_by(*_build_ordering(self.order))

    async def values(self, size: int) -> AsyncGenerator[PartValues, None]:
        after, end = (
            (LAST_POSITION, FIRST_POSITION)
            if self.order.descending
            else (FIRST_POSITION, LAST_POSITION)
        )
        until: RowPosition | None = after
        while until is not None:
            until = await self._find_end(after, size)
            yield {**_bind_position("after", after), **_bind_position("until", until or end)}
            after = until or end

    async def _find_end(self, place: RowPosition, size: int) -> RowPosition | None:
        """So many rows later."""
        order = self.order
        rows = self.chosen.with_only_columns(order.column, order.key).where(
            self._build_after_condition("after")
        )
        rows = rows.order_by(*_build_ordering(order)).offset(size - 1).limit(1)
        async with self.database.reading() as session:
            restrict_to_tenant(session, self.actor.tenant_id)
            found = (await session.execute(rows, _bind_position("after", place))).one_or_none()
        return None if found is None else RowPosition(*found)

    def _build_after_condition(self, name: str) -> ColumnElement[bool]:
        moment, key = self.order.column, self.order.key
        here: Any = tuple_(moment, key)
        there = tuple_(_bind_time(name, moment), bindparam(f"{name}_key", None, key.type))
        found: ColumnElement[bool] = here < there if self.order.descending else here > there
        return found


def _bind_time(name: str, moment: Any) -> ColumnElement[datetime]:
    return bindparam(f"{name}_moment", None, moment.type)


def _bind_position(name: str, place: RowPosition) -> PartValues:
    return {f"{name}_moment": place.moment, f"{name}_key": place.key}


def _build_ordering(order: SortOrder) -> tuple[Any, Any]:
    if order.descending:
        return order.column.desc(), order.key.desc()
    return order.column.asc(), order.key.asc()


@dataclass(frozen=True)
class IdListParts:
    """By their ids. Whether they still fit what was asked is not looked at again: they did."""

    database: Database
    chosen: Select[Any]
    order: SortOrder

    def narrow(self, statement: Select[Any]) -> Select[Any]:
        given = (
            func.unnest(bindparam("ids", None, ARRAY(Uuid)))
            .table_valued(column("id", Uuid), with_ordinality="place", name="given")
            .render_derived()
        )
        return statement.join(given, given.c.id == self.order.key).order_by(given.c.place)

    async def values(self, size: int) -> AsyncGenerator[PartValues, None]:
        with SpooledTemporaryFile(MAX_MEMORY_BYTES) as ids:
            await self._write_ids(ids)
            ids.seek(0)
            while lines := ids.read(size * BYTES_PER_ID):
                yield {"ids": [UUID(each) for each in lines.decode().split()]}

    async def _write_ids(self, ids: IO[bytes]) -> None:
        async def write(data: bytes) -> None:
            ids.write(data)

        keys = self.chosen.with_only_columns(self.order.key).order_by(*_build_ordering(self.order))
        async with self.database.reading() as session:
            await CopyQuery(keys).run(session, write, {})


# A list as a file, made while it is being read.
#
# CSV and JSON are written by the database, the others by us.

T = TypeVar("T")
ByteStream = AsyncGenerator[bytes, None]

ROWS_PER_COPY = 20_000
ROWS_PER_READ = 5_000
UNUSED_DELIMITERS = {"quote": "\x01", "delimiter": "\x02"}
"""Neither stands in a line of JSON, where they are escaped: COPY finds nothing to quote."""


async def stream_export(
    database: Database,
    export: Export,
    actor: Actor,
    asked: ExportRequest,
    *,
    counts: ExportCounts | None = None,
) -> ByteStream:
    """Its bytes. What is wrong from the beginning is raised here, before there are any; what
    becomes of the others is noted in the audit log. The rows are counted in `counts`."""
    await require_writable(database)  # or the file would be cut off for want of its audit entry
    exporting = ExportRun(database, export, actor, asked, counts)
    noting = ExportAudit(database, export, actor, asked, exporting.counts)
    return noting.record_stream(await exporting.open_stream())


class ExportRun:
    """One export: whose rows, which of them, and what of each."""

    def __init__(
        self,
        database: Database,
        export: Export,
        actor: Actor,
        asked: ExportRequest,
        counts: ExportCounts | None = None,
    ) -> None:
        self._database, self._export, self._actor, self._asked = database, export, actor, asked
        self._parts = choose_parts(database, export.listing, actor, asked.given, asked.sort)
        self.fields = export.fields(asked.columns)
        self.counts = ExportCounts() if counts is None else counts

    async def open_stream(self) -> ByteStream:
        match self._asked.format:
            case ExportFormat.CSV:
                return await self.as_csv()
            case ExportFormat.JSONL:
                return await self.as_jsonl()
            case ExportFormat.JSON:
                return _wrap_array(await self.as_jsonl())
            case ExportFormat.XLSX:
                return await self.as_xlsx()
            case ExportFormat.PARQUET:
                return await self.as_parquet()

    async def as_csv(self) -> ByteStream:
        """COPY ends its lines as Unix does, and texts may have such ends in them. So each line
        has a last cell that nobody could foresee, by which its end is known."""
        mark = token_hex(8)
        only = len(self.fields) == 1
        cells = [build_csv_cell(each.value, each.kind, only=only) for each in self.fields]
        lines = await prefetch_first(
            self._copy_parts(CopyQuery(self._statement([*cells, literal(mark)])))
        )
        heading = build_heading_line(self.fields, bom=self._asked.bom)
        end = f",{mark}\n".encode()
        return _replace_line_ends(self._count_lines(lines, end), end, heading)

    async def as_jsonl(self) -> ByteStream:
        values = [build_json_value(each.value, each.kind).label(each.name) for each in self.fields]
        row = self._statement(values).subquery("exported").table_valued()
        lines = await prefetch_first(
            self._copy_parts(CopyQuery(select(func.row_to_json(row)), **UNUSED_DELIMITERS))
        )
        return self._count_lines(lines, b"\n")

    async def as_xlsx(self) -> ByteStream:
        name = self._export.rows.replace("-", " ").capitalize()
        rows = await prefetch_first(self.rows())
        return write_xlsx(rows, self.fields, sheet_name=name, counts=self.counts)

    async def as_parquet(self) -> ByteStream:
        return write_parquet(await prefetch_first(self.rows()), self.fields, counts=self.counts)

    def _statement(self, values: Sequence[Any]) -> Select[Any]:
        return self._parts.narrow(self._export.statement(values, self._actor))

    async def _count_lines(self, lines: ByteStream, end: bytes) -> ByteStream:
        """Rows by the ends of their lines."""
        async with aclosing(lines):
            async for some in lines:
                self.counts.rows += some.count(end)
                yield some

    async def _copy_parts(self, copying: CopyQuery) -> ByteStream:
        async with aclosing(self._parts.values(ROWS_PER_COPY)) as parts:
            async for part in parts:
                yield await self._copy(copying, part)

    async def _copy(self, copying: CopyQuery, part: PartValues) -> bytes:
        lines: list[bytes] = []

        async def keep(data: bytes) -> None:
            lines.append(data)

        async with self._database.reading() as session:
            await copying.run(session, keep, part)
        return b"".join(lines)

    async def rows(self) -> AsyncGenerator[Sequence[ExportRow], None]:
        """For those who write them themselves."""
        statement = self._statement([each.value for each in self.fields])
        async with aclosing(self._parts.values(ROWS_PER_READ)) as parts:
            async for part in parts:
                async with self._database.reading() as session:
                    restrict_to_tenant(session, self._actor.tenant_id)
                    rows: Any = (await session.execute(statement, part)).all()
                yield rows


async def _replace_line_ends(lines: ByteStream, end: bytes, heading: bytes) -> ByteStream:
    async with aclosing(lines):
        yield heading
        async for some in lines:
            yield some.replace(end, b"\r\n")


async def _wrap_array(lines: ByteStream) -> ByteStream:
    """One JSON array of the objects of JSON Lines, each still on a line of its own."""
    before = b"[\n"
    async with aclosing(lines):
        async for some in lines:
            if objects := some.removesuffix(b"\n"):
                yield before + objects.replace(b"\n", b",\n")
                before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"


async def prefetch_first(source: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """The same with its first part fetched: what cannot begin fails while it can be said why."""
    first = [each] if (each := await anext(source, None)) is not None else []
    return _resume(first, source)


async def _resume(first: Sequence[T], source: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    async with aclosing(source):
        for each in first:
            yield each
        async for each in source:
            yield each
