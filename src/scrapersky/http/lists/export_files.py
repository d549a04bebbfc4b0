"""A list as a file, made while it is being read.

CSV and JSON Lines are written by the database, the others by us.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from secrets import token_hex
from typing import Any, TypeVar

from sqlalchemy import Select, func, literal, select

from scrapersky.db.bulk import copy_out
from scrapersky.db.session import Database
from scrapersky.http.exports import write_parquet, write_xlsx
from scrapersky.http.exports.columns import Row
from scrapersky.http.exports.csv_writer import heading_line
from scrapersky.http.exports.in_sql import csv_cell, json_value
from scrapersky.http.lists.export_parts import Part, parts
from scrapersky.http.lists.exporting import Export, ExportAsked, Format
from scrapersky.models import Actor, keep_to_tenant

T = TypeVar("T")
Pieces = AsyncGenerator[bytes, None]

COPIED_AT_ONCE = 10_000
READ_AT_ONCE = 5_000
UNHEARD_OF = {"quote": "\x01", "delimiter": "\x02"}
"""Neither stands in a line of JSON, where they are escaped: COPY finds nothing to quote."""


async def export_file(
    database: Database, export: Export, actor: Actor, asked: ExportAsked
) -> Pieces:
    """Its bytes. What is wrong from the beginning is raised here, before there are any."""
    exporting = Exporting(database, export, actor, asked)
    match asked.format:
        case Format.CSV:
            return await exporting.as_csv()
        case Format.JSONL:
            return await exporting.as_jsonl()
        case Format.XLSX:
            return await exporting.as_xlsx()
        case Format.PARQUET:
            return await exporting.as_parquet()


class Exporting:
    """One export: whose rows, which of them, and what of each."""

    def __init__(
        self, database: Database, export: Export, actor: Actor, asked: ExportAsked
    ) -> None:
        self._database, self._export, self._actor, self._asked = database, export, actor, asked
        self.fields = export.fields(asked.columns)

    async def as_csv(self) -> Pieces:
        """COPY ends its lines as Unix does, and texts may have such ends in them. So each line
        has a last cell that nobody could foresee, by which its end is known."""
        mark = token_hex(8)
        only = len(self.fields) == 1
        cells = [csv_cell(each.value, each.kind, only=only) for each in self.fields]
        lines = await begun(self._copied(self._statement([*cells, literal(mark)])))
        heading = heading_line(self.fields, bom=self._asked.bom)
        return _with_ends(lines, f",{mark}\n".encode(), heading)

    async def as_jsonl(self) -> Pieces:
        values = [json_value(each.value, each.kind).label(each.name) for each in self.fields]
        return await begun(self._copied(self._statement(values), in_json=True))

    async def as_xlsx(self) -> Pieces:
        name = self._export.rows.replace("-", " ").capitalize()
        return write_xlsx(await begun(self.rows()), self.fields, sheet_name=name)

    async def as_parquet(self) -> Pieces:
        return write_parquet(await begun(self.rows()), self.fields)

    def _statement(self, values: Sequence[Any]) -> Select[Any]:
        return self._export.statement(values, self._actor)

    async def _copied(self, statement: Select[Any], *, in_json: bool = False) -> Pieces:
        async with aclosing(self._parts(COPIED_AT_ONCE)) as chosen:
            async for part in chosen:
                found = part(statement)
                yield await (self._copy_json(found) if in_json else self._copy(found))

    async def _copy_json(self, statement: Select[Any]) -> bytes:
        row = statement.subquery("exported")
        return await self._copy(select(func.row_to_json(row.table_valued())), **UNHEARD_OF)

    async def _copy(self, statement: Select[Any], **how: str) -> bytes:
        lines: list[bytes] = []

        async def keep(data: bytes) -> None:
            lines.append(data)

        async with self._database.reading() as session:
            await copy_out(session, statement, keep, **how)
        return b"".join(lines)

    async def rows(self) -> AsyncGenerator[Sequence[Row], None]:
        statement = self._statement([each.value for each in self.fields])
        async with aclosing(self._parts(READ_AT_ONCE)) as chosen:
            async for part in chosen:
                async with self._database.reading() as session:
                    keep_to_tenant(session, self._actor.tenant_id)
                    rows: Any = (await session.execute(part(statement))).all()
                yield rows

    def _parts(self, size: int) -> AsyncGenerator[Part, None]:
        return parts(self._database, self._export, self._actor, self._asked, size=size)


async def _with_ends(lines: Pieces, end: bytes, heading: bytes) -> Pieces:
    async with aclosing(lines):
        yield heading
        async for some in lines:
            yield some.replace(end, b"\r\n")


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
