"""What the columns of an export hold, and how the rows of it arrive."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

Row = Sequence[object]
Chunks = AsyncIterator[Sequence[Row]]

ROWS_AT_ONCE = 500
"""So many rows are written before the reader has its turn: a few milliseconds."""


class Kind(StrEnum):
    text = "text"
    integer = "integer"
    number = "number"
    boolean = "boolean"
    moment = "moment"
    """A point in time, with its zone."""
    date = "date"
    texts = "texts"
    """Several texts in one cell."""


@dataclass(frozen=True)
class Column:
    name: str
    """The key in JSON Lines and Parquet."""
    heading: str
    """What people read above the column in CSV and XLSX."""
    kind: Kind = Kind.text


@dataclass
class Counts:
    """What was written so far; complete once the writer is through."""

    rows: int = 0
    cut_cells: int = 0
    """Texts that were too long for a cell of XLSX."""
    sheets: int = 0


@asynccontextmanager
async def closing(chunks: Chunks) -> AsyncGenerator[Chunks, None]:
    """The source, closed at the end however that comes: nobody else holds it."""
    try:
        yield chunks
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


def slices_of(chunk: Sequence[Row]) -> Iterator[Sequence[Row]]:
    for start in range(0, len(chunk), ROWS_AT_ONCE):
        yield chunk[start : start + ROWS_AT_ONCE]
