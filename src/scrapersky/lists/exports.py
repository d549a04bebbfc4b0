"""Export a list: its declaration, and its rows streamed as a file.

CSV and JSON are written by the database (COPY), the other formats by us. Rows are read in parts:
none twice, and every row that exists throughout. Between two parts no connection is held, however
slow the reader is. The audit entry is written in its own transaction when the file is complete or
was cut off, because only then the number of rows is final; a file whose entry cannot be stored is
not completed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
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
from scrapersky.errors import InvalidInput
from scrapersky.lists.columns import ExportField
from scrapersky.lists.cursor import SortOrder
from scrapersky.lists.export import ExportCounts, write_parquet, write_xlsx
from scrapersky.lists.export.columns import ExportRow, build_csv_cell, build_json_value
from scrapersky.lists.export.writers import build_heading_line
from scrapersky.lists.filters import FilterValues, build_owner_condition
from scrapersky.lists.listing import Listing
from scrapersky.logging import get_logger
from scrapersky.models import Actor, record, restrict_to_tenant

EXPORT_ACTION = "list.export"

log = get_logger(__name__)


class ExportFormat(StrEnum):
    CSV = "csv"
    JSONL = "jsonl"
    JSON = "json"
    XLSX = "xlsx"
    PARQUET = "parquet"

    @property
    def media_type(self) -> str:
        return {
            "csv": "text/csv; charset=utf-8",
            "jsonl": "application/x-ndjson",
            "json": "application/json",
            "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "parquet": "application/vnd.apache.parquet",
        }[self.value]


@dataclass(frozen=True)
class ExportRequest:
    """A validated export request: filters, sort order, format and columns."""

    given: FilterValues
    sort: str | None = None
    format: ExportFormat = ExportFormat.CSV
    columns: str | None = None
    """Comma-separated column names; None means the default columns."""
    bom: bool = False


@dataclass(frozen=True)
class Export:
    """Declaration of a list's export."""

    listing: Listing
    rows: str
    """Plural name as in the route and the file name: `sitemap-files`."""
    beside: tuple[tuple[Any, ColumnElement[bool]], ...] = ()
    """Tables to outer-join for extra columns. Each condition must match at most one row."""
    only: tuple[ColumnElement[bool], ...] = ()
    """Conditions that every exported row must meet, whatever the request's filters."""

    @property
    def usual(self) -> tuple[ExportField, ...]:
        return tuple(each.exported for each in self.listing.columns if each.export is not False)

    @property
    def more(self) -> tuple[ExportField, ...]:
        """Columns that are exported only when requested by name."""
        return tuple(each.exported for each in self.listing.more if each.export is not False)

    def fields(self, columns: str | None) -> list[ExportField]:
        """Return the requested columns in the requested order, or the default columns."""
        if columns is None:
            return list(self.usual)
        known = {each.name: each for each in (*self.usual, *self.more)}
        names = list(dict.fromkeys(name.strip() for name in columns.split(",")))
        if unknown := [name for name in names if name not in known]:
            raise InvalidInput(
                f"Unknown column: {unknown[0][:100] or '(empty name)'}. "
                f"Available columns: {', '.join(known)}."
            )
        return [known[name] for name in names]

    def statement(self, values: Sequence[ColumnElement[Any]], actor: Actor) -> Select[Any]:
        """Select these values of all rows of the actor's tenant, without the request's filters."""
        model = self.listing.model
        found = (
            select(*values)
            .select_from(model)
            .where(build_owner_condition(model, actor), *self.only)
        )
        for table, is_the_one in self.beside:
            found = found.outerjoin(table, is_the_one)
        return found


@dataclass(frozen=True)
class ExportAudit:
    """Records one export in the audit log."""

    database: Database
    export: Export
    actor: Actor
    asked: ExportRequest
    counts: ExportCounts
    """Counters of the running export."""

    async def record_stream(
        self, source: AsyncGenerator[bytes, None]
    ) -> AsyncGenerator[bytes, None]:
        """Pass the bytes through and record the export when the stream ends or is cut off."""
        try:
            async with aclosing(source):
                async for piece in source:
                    yield piece
        except BaseException:
            await self._record_interrupted()
            raise
        await self._record(complete=True)

    async def _record_interrupted(self) -> None:
        """Record an incomplete export.

        A failure here is only logged, so that the caller sees the error that interrupted the
        export.
        """
        try:
            await self._record(complete=False)
        except Exception:
            log.exception(
                "could not record an interrupted export in the audit log", **self._facts()
            )

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


PartValues = Mapping[str, Any]

IMMUTABLE_COLUMN = "created_at"
MAX_MEMORY_BYTES = 1024 * 1024
BYTES_PER_ID = 37
"""Size of a UUID line in CSV, including its line end."""


class RowPosition(NamedTuple):
    """Position of a row in the order of creation time and id."""

    moment: datetime
    key: UUID


FIRST_POSITION = RowPosition(datetime(1, 1, 1, tzinfo=UTC), UUID(int=0))
LAST_POSITION = RowPosition(datetime(9999, 12, 31, tzinfo=UTC), UUID(int=2**128 - 1))
"""Bounds that include every row."""


class ExportParts(Protocol):
    def narrow(self, statement: Select[Any]) -> Select[Any]:
        """Add the condition and order of one part; its bounds stay bind parameters."""

    def values(self, size: int) -> AsyncGenerator[PartValues, None]:
        """Yield the bind values of each part of `size` rows."""


def choose_parts(
    database: Database, listing: Listing, actor: Actor, given: PartValues, sort: str | None
) -> ExportParts:
    """Choose how to read the rows in parts, in the order of the list.

    Creation time never changes and is indexed, so it can be read by ranges. For any other order the
    ids are written to a temporary file first: a row could move within the order during the export,
    and each part would have to sort all rows.
    """
    order = listing.order(sort or listing.default_sort)
    chosen = listing.statement(given, actor)
    if order.column.key == IMMUTABLE_COLUMN:
        return TimeRangeParts(database, actor, chosen, order)
    return IdListParts(database, chosen, order)


@dataclass(frozen=True)
class TimeRangeParts:
    """Parts that are ranges of creation time, with an equal number of rows each."""

    database: Database
    actor: Actor
    chosen: Select[Any]
    order: SortOrder

    def narrow(self, statement: Select[Any]) -> Select[Any]:
        low, high = ("until", "after") if self.order.descending else ("after", "until")
        moment, chosen = self.order.column, self.chosen.whereclause
        assert chosen is not None  # always holds the tenant condition
        return statement.where(
            chosen,
            self._build_after_condition("after"),
            ~self._build_after_condition("until"),
            # Redundant, for the planner: it can estimate a range of one column, but not of the row
            # comparison above.
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
        """Return the position `size` rows further, or None if fewer rows remain."""
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
    """Parts that are lists of ids, collected at the start.

    Whether a row still matches the filters when it is read is not checked again.
    """

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


T = TypeVar("T")
ByteStream = AsyncGenerator[bytes, None]

ROWS_PER_COPY = 20_000
ROWS_PER_READ = 5_000
UNUSED_DELIMITERS = {"quote": "\x01", "delimiter": "\x02"}
"""Control characters never occur unescaped in JSON, so COPY has nothing to quote."""


async def stream_export(
    database: Database,
    export: Export,
    actor: Actor,
    asked: ExportRequest,
    *,
    counts: ExportCounts | None = None,
) -> ByteStream:
    """Return the bytes of the export as a stream; rows are counted in `counts`.

    Errors that can be detected before the first byte are raised here. The outcome of a started
    stream is recorded in the audit log.
    """
    await require_writable(
        database
    )  # otherwise the stream would fail at its end, when its audit entry is written
    exporting = ExportRun(database, export, actor, asked, counts)
    noting = ExportAudit(database, export, actor, asked, exporting.counts)
    return noting.record_stream(await exporting.open_stream())


class ExportRun:
    """One export in progress."""

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
        """Stream CSV from COPY.

        COPY ends lines with LF, and texts may contain LF too. Each line gets a random last cell
        that hostile input cannot guess; it marks the line end and is replaced by CRLF.
        """
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
        """Pass the bytes through and count rows by their line ends."""
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
        """Yield chunks of rows for the formats that are written in this process."""
        statement = self._statement([each.value for each in self.fields])
        async with aclosing(self._parts.values(ROWS_PER_READ)) as parts:
            async for part in parts:
                async with self._database.reading() as session:
                    restrict_to_tenant(session, self._actor.tenant_id)
                    rows: Any = (await session.execute(statement, part)).all()
                yield rows
                del rows  # or two parts are in memory while the next one is read


async def _replace_line_ends(lines: ByteStream, end: bytes, heading: bytes) -> ByteStream:
    async with aclosing(lines):
        yield heading
        async for some in lines:
            yield some.replace(end, b"\r\n")


async def _wrap_array(lines: ByteStream) -> ByteStream:
    """Turn JSON Lines into one JSON array, still with one object per line."""
    before = b"[\n"
    async with aclosing(lines):
        async for some in lines:
            if objects := some.removesuffix(b"\n"):
                yield before + objects.replace(b"\n", b",\n")
                before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"


async def prefetch_first(source: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """Fetch the first part before returning, so that early errors become an error response."""
    first = [each] if (each := await anext(source, None)) is not None else []
    return _resume(first, source)


async def _resume(first: list[T], source: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    async with aclosing(source):
        while first:
            yield first.pop()
        async for each in source:
            yield each
            del each
