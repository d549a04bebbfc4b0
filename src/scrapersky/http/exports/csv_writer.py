"""Rows as CSV, the way RFC 4180 has it and spreadsheets read it."""

from __future__ import annotations

import codecs
import csv
from collections.abc import AsyncGenerator, Iterable, Sequence
from io import StringIO

from scrapersky.http.exports.columns import Chunks, Column, Counts, Kind, Row, closing, slices_of
from scrapersky.http.exports.values import as_text, harmless

_MAY_HOLD_TEXT = frozenset((Kind.text, Kind.texts))


async def write_csv(
    chunks: Chunks, columns: Sequence[Column], *, bom: bool = False, counts: Counts | None = None
) -> AsyncGenerator[bytes, None]:
    """Lines end in CRLF. With `bom`, Excel knows that it is UTF-8; other programs need none."""
    counts = counts or Counts()
    async with closing(chunks):
        yield heading_line(columns, bom=bom)
        async for chunk in chunks:
            for rows in slices_of(chunk):
                counts.rows += len(rows)
                yield _lines(_cells(row, columns) for row in rows)


def heading_line(columns: Sequence[Column], *, bom: bool = False) -> bytes:
    heading = _lines([[harmless(column.heading) for column in columns]])
    return codecs.BOM_UTF8 + heading if bom else heading


def _cells(row: Row, columns: Sequence[Column]) -> list[str]:
    return [_cell(value, column) for value, column in zip(row, columns, strict=True)]


def _cell(value: object, column: Column) -> str:
    """A number's minus is no formula; whatever is a text may be one, in whichever column."""
    if isinstance(value, str):
        return harmless(value)
    text = as_text(value)
    return harmless(text) if column.kind in _MAY_HOLD_TEXT else text


def _lines(rows: Iterable[list[str]]) -> bytes:
    lines = StringIO(newline="")
    csv.writer(lines, lineterminator="\r\n").writerows(rows)
    return lines.getvalue().encode("utf-8", "replace")
