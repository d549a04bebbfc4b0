"""A list as a file, made while it is being read.

CSV and JSON are written by the database, the others by us.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from secrets import token_hex
from typing import Any, TypeVar

from sqlalchemy import Select, func, literal, select

from scrapersky.db.bulk import CopyOut
from scrapersky.db.migrate import require_writable
from scrapersky.db.session import Database
from scrapersky.http.exports import Counts, write_parquet, write_xlsx
from scrapersky.http.exports.columns import Row
from scrapersky.http.exports.csv_writer import heading_line
from scrapersky.http.exports.in_sql import csv_cell, json_value
from scrapersky.http.lists.export_noting import Noting
from scrapersky.http.lists.export_parts import Values, parts_of
from scrapersky.http.lists.exporting import Export, ExportAsked, Format
from scrapersky.models import Actor, keep_to_tenant

T = TypeVar("T")
Pieces = AsyncGenerator[bytes, None]

COPIED_AT_ONCE = 20_000
READ_AT_ONCE = 5_000
UNHEARD_OF = {"quote": "\x01", "delimiter": "\x02"}
"""Neither stands in a line of JSON, where they are escaped: COPY finds nothing to quote."""


async def export_file(
    database: Database,
    export: Export,
    actor: Actor,
    asked: ExportAsked,
    *,
    counts: Counts | None = None,
) -> Pieces:
    """Its bytes. What is wrong from the beginning is raised here, before there are any; what
    becomes of the others is noted in the audit log. The rows are counted in `counts`."""
    await require_writable(database)  # or the file would be cut off for want of its audit entry
    exporting = Exporting(database, export, actor, asked, counts)
    noting = Noting(database, export, actor, asked, exporting.counts)
    return noting.pieces(await exporting.pieces())


class Exporting:
    """One export: whose rows, which of them, and what of each."""

    def __init__(
        self,
        database: Database,
        export: Export,
        actor: Actor,
        asked: ExportAsked,
        counts: Counts | None = None,
    ) -> None:
        self._database, self._export, self._actor, self._asked = database, export, actor, asked
        self._parts = parts_of(database, export.listing, actor, asked.given, asked.sort)
        self.fields = export.fields(asked.columns)
        self.counts = Counts() if counts is None else counts

    async def pieces(self) -> Pieces:
        match self._asked.format:
            case Format.CSV:
                return await self.as_csv()
            case Format.JSONL:
                return await self.as_jsonl()
            case Format.JSON:
                return _in_array(await self.as_jsonl())
            case Format.XLSX:
                return await self.as_xlsx()
            case Format.PARQUET:
                return await self.as_parquet()

    async def as_csv(self) -> Pieces:
        """COPY ends its lines as Unix does, and texts may have such ends in them. So each line
        has a last cell that nobody could foresee, by which its end is known."""
        mark = token_hex(8)
        only = len(self.fields) == 1
        cells = [csv_cell(each.value, each.kind, only=only) for each in self.fields]
        lines = await begun(self._copied(CopyOut(self._statement([*cells, literal(mark)]))))
        heading = heading_line(self.fields, bom=self._asked.bom)
        end = f",{mark}\n".encode()
        return _with_ends(self._counted(lines, end), end, heading)

    async def as_jsonl(self) -> Pieces:
        values = [json_value(each.value, each.kind).label(each.name) for each in self.fields]
        row = self._statement(values).subquery("exported").table_valued()
        lines = await begun(self._copied(CopyOut(select(func.row_to_json(row)), **UNHEARD_OF)))
        return self._counted(lines, b"\n")

    async def as_xlsx(self) -> Pieces:
        name = self._export.rows.replace("-", " ").capitalize()
        rows = await begun(self.rows())
        return write_xlsx(rows, self.fields, sheet_name=name, counts=self.counts)

    async def as_parquet(self) -> Pieces:
        return write_parquet(await begun(self.rows()), self.fields, counts=self.counts)

    def _statement(self, values: Sequence[Any]) -> Select[Any]:
        return self._parts.narrow(self._export.statement(values, self._actor))

    async def _counted(self, lines: Pieces, end: bytes) -> Pieces:
        """Rows by the ends of their lines."""
        async with aclosing(lines):
            async for some in lines:
                self.counts.rows += some.count(end)
                yield some

    async def _copied(self, copying: CopyOut) -> Pieces:
        async with aclosing(self._parts.values(COPIED_AT_ONCE)) as parts:
            async for part in parts:
                yield await self._copy(copying, part)

    async def _copy(self, copying: CopyOut, part: Values) -> bytes:
        lines: list[bytes] = []

        async def keep(data: bytes) -> None:
            lines.append(data)

        async with self._database.reading() as session:
            await copying.run(session, keep, part)
        return b"".join(lines)

    async def rows(self) -> AsyncGenerator[Sequence[Row], None]:
        """For those who write them themselves."""
        statement = self._statement([each.value for each in self.fields])
        async with aclosing(self._parts.values(READ_AT_ONCE)) as parts:
            async for part in parts:
                async with self._database.reading() as session:
                    keep_to_tenant(session, self._actor.tenant_id)
                    rows: Any = (await session.execute(statement, part)).all()
                yield rows


async def _with_ends(lines: Pieces, end: bytes, heading: bytes) -> Pieces:
    async with aclosing(lines):
        yield heading
        async for some in lines:
            yield some.replace(end, b"\r\n")


async def _in_array(lines: Pieces) -> Pieces:
    """One JSON array of the objects of JSON Lines, each still on a line of its own."""
    before = b"[\n"
    async with aclosing(lines):
        async for some in lines:
            if objects := some.removesuffix(b"\n"):
                yield before + objects.replace(b"\n", b",\n")
                before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"


async def begun(source: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """The same with its first part fetched: what cannot begin fails while it can be said why."""
    first = [each] if (each := await anext(source, None)) is not None else []
    return _continued(first, source)


async def _continued(
    first: Sequence[T], source: AsyncGenerator[T, None]
) -> AsyncGenerator[T, None]:
    async with aclosing(source):
        for each in first:
            yield each
        async for each in source:
            yield each
