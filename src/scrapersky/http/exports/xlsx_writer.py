"""Rows as XLSX, streamed: no row is held and no temporary file is written."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from itertools import count
from zipfile import ZIP_DEFLATED, ZipFile

from scrapersky.errors import InvalidInput
from scrapersky.http.exports import xlsx_parts
from scrapersky.http.exports.columns import Chunks, Column, Counts, Row, closing, slices_of
from scrapersky.http.exports.sink import Sink
from scrapersky.http.exports.xlsx_cells import RowWriter

MAX_SHEET_ROWS = 1_048_576
"""Excel's limit, the headings among them; the next row starts the next sheet."""
MAX_SHEET_BYTES = 1_500_000_000
"""Below the two gibibytes that an entry may have in the plain ZIP format all programs read."""
MAX_COLUMNS = 16_384
MAX_SHEET_NAME = 31
COMPRESSION = 4
"""Nearly as small as the best, at half the time."""

_NOT_IN_SHEET_NAMES = re.compile(r"[\[\]:*?/\\\x00-\x1f]|^'|'$")


def write_xlsx(
    chunks: Chunks,
    columns: Sequence[Column],
    *,
    sheet_name: str = "Export",
    max_sheet_rows: int = MAX_SHEET_ROWS,
    counts: Counts | None = None,
) -> AsyncGenerator[bytes, None]:
    """Times stand in UTC, since a sheet knows no zones; `counts` says how many texts were cut."""
    if len(columns) > MAX_COLUMNS:
        raise InvalidInput(f"A sheet has at most {MAX_COLUMNS} columns.")
    return _written(chunks, columns, sheet_name, max_sheet_rows, counts or Counts())


async def _written(
    chunks: Chunks, columns: Sequence[Column], name: str, max_sheet_rows: int, counts: Counts
) -> AsyncGenerator[bytes, None]:
    async with closing(chunks):
        book = _Book(columns, max_sheet_rows, counts)
        try:
            async for chunk in chunks:
                for rows in slices_of(chunk):
                    book.add(rows)
                    yield book.take()
        finally:
            # Also when left half-way: an archive with an open entry complains once collected.
            book.finish(_sheet_names(name, counts.sheets))
        yield book.take()


class _Book:
    """An archive that grows at its end: one sheet after the other, and at last what names them."""

    def __init__(self, columns: Sequence[Column], max_sheet_rows: int, counts: Counts) -> None:
        self._sink = Sink()
        self._writer = RowWriter(columns, counts)
        self._max_sheet_rows = max_sheet_rows
        self._counts = counts
        self._archive = ZipFile(self._sink, "w", ZIP_DEFLATED, compresslevel=COMPRESSION)
        self._archive.writestr("[Content_Types].xml", xlsx_parts.CONTENT_TYPES)
        self._archive.writestr("_rels/.rels", xlsx_parts.RELATIONS)
        self._archive.writestr("xl/styles.xml", xlsx_parts.STYLES)
        self._start_sheet()

    def add(self, rows: Sequence[Row]) -> None:
        while rows:
            if self._rows >= self._max_sheet_rows or self._bytes >= MAX_SHEET_BYTES:
                self._end_sheet()
                self._start_sheet()
            fitting = rows[: self._max_sheet_rows - self._rows]
            self._write("".join(map(self._writer.row, fitting, count(self._rows + 1))))
            self._rows += len(fitting)
            self._counts.rows += len(fitting)
            rows = rows[len(fitting) :]

    def take(self) -> bytes:
        return self._sink.take()

    def finish(self, names: Sequence[str]) -> None:
        self._end_sheet()
        self._archive.writestr("xl/workbook.xml", xlsx_parts.workbook(names))
        relations = xlsx_parts.workbook_relations(len(names))
        self._archive.writestr("xl/_rels/workbook.xml.rels", relations)
        self._archive.close()

    def _start_sheet(self) -> None:
        self._counts.sheets += 1
        self._sheet = self._archive.open(f"xl/worksheets/sheet{self._counts.sheets}.xml", "w")
        self._bytes = 0
        self._rows = 1
        self._write(xlsx_parts.SHEET_START + self._writer.headings())

    def _end_sheet(self) -> None:
        self._write(xlsx_parts.SHEET_END)
        self._sheet.close()

    def _write(self, text: str) -> None:
        data = text.encode()
        self._bytes += len(data)
        self._sheet.write(data)


def _sheet_names(name: str, how_many: int) -> list[str]:
    """`Contacts`, `Contacts 2`, …"""
    name = _NOT_IN_SHEET_NAMES.sub(" ", name).strip() or "Export"
    ends = ("", *(f" {place}" for place in range(2, how_many + 1)))
    return [name[: MAX_SHEET_NAME - len(end)] + end for end in ends]
