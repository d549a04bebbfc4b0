"""Rows to export, and the exported bytes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from datetime import UTC, date, datetime, timedelta

from scrapersky.lists.export import ColumnKind, ExportColumn

Row = tuple[object, ...]

COLUMNS = [
    ExportColumn("name", "Name"),
    ExportColumn("pages", "Pages", ColumnKind.integer),
    ExportColumn("confidence", "Confidence", ColumnKind.number),
    ExportColumn("is_role", "Role address", ColumnKind.boolean),
    ExportColumn("seen_at", "Seen at", ColumnKind.moment),
    ExportColumn("founded", "Founded", ColumnKind.date),
    ExportColumn("phones", "Phones", ColumnKind.texts),
]
MOMENT = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)
ROW: Row = ("Bäckerei Öz", 3, 0.5, True, MOMENT, date(1987, 6, 5), ["+49 341 1", "+49 341 2"])
EMPTY: Row = (None,) * len(COLUMNS)


async def chunks_of(*chunks: Sequence[Row]) -> AsyncGenerator[Sequence[Row], None]:
    for chunk in chunks:
        yield chunk


async def whole(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


async def many_rows(how_many: int, chunk: int = 2_000) -> AsyncGenerator[Sequence[Row], None]:
    """Rows that are made as they are asked for."""
    for start in range(0, how_many, chunk):
        yield [
            (f"Name {n}", n, n / 7, n % 2 == 0, MOMENT + timedelta(seconds=n), None, [f"+49{n}"])
            for n in range(start, min(start + chunk, how_many))
        ]
