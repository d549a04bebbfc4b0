"""Stream rows as CSV, JSON Lines and Parquet."""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from importlib import import_module
from io import RawIOBase, StringIO
from typing import TYPE_CHECKING, Any

from scrapersky.errors import InvalidInput
from scrapersky.lists.export.columns import (
    ColumnKind,
    ExportColumn,
    ExportCounts,
    ExportRow,
    RowChunks,
    closing,
    escape_formula,
    split_rows,
    to_json,
    to_text,
)

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


_TEXT_KINDS = frozenset((ColumnKind.text, ColumnKind.texts))


async def write_csv(
    chunks: RowChunks,
    columns: Sequence[ExportColumn],
    *,
    bom: bool = False,
    counts: ExportCounts | None = None,
) -> AsyncGenerator[bytes, None]:
    """Write CSV with CRLF line ends.

    `bom` adds a UTF-8 byte order mark, which Excel needs to detect the encoding.
    """
    counts = counts or ExportCounts()
    async with closing(chunks):
        yield build_heading_line(columns, bom=bom)
        async for chunk in chunks:
            for rows in split_rows(chunk):
                counts.rows += len(rows)
                yield _format_lines(_format_row(row, columns) for row in rows)


def build_heading_line(columns: Sequence[ExportColumn], *, bom: bool = False) -> bytes:
    heading = _format_lines([[escape_formula(column.heading) for column in columns]])
    return codecs.BOM_UTF8 + heading if bom else heading


def _format_row(row: ExportRow, columns: Sequence[ExportColumn]) -> list[str]:
    return [_format_cell(value, column) for value, column in zip(row, columns, strict=True)]


def _format_cell(value: object, column: ExportColumn) -> str:
    """Format a cell. Any text may be a formula, whatever its column; a number's minus is not."""
    if isinstance(value, str):
        return escape_formula(value)
    text = to_text(value)
    return escape_formula(text) if column.kind in _TEXT_KINDS else text


def _format_lines(rows: Iterable[list[str]]) -> bytes:
    lines = StringIO(newline="")
    csv.writer(lines, lineterminator="\r\n").writerows(rows)
    return lines.getvalue().encode("utf-8", "replace")


_encode_json = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=to_json
).encode


async def write_jsonl(
    chunks: RowChunks, columns: Sequence[ExportColumn], *, counts: ExportCounts | None = None
) -> AsyncGenerator[bytes, None]:
    counts = counts or ExportCounts()
    names = [column.name for column in columns]
    async with closing(chunks):
        async for chunk in chunks:
            for rows in split_rows(chunk):
                counts.rows += len(rows)
                yield "".join(_format_json_line(row, names) for row in rows).encode(
                    "utf-8", "replace"
                )


def _format_json_line(row: ExportRow, names: Sequence[str]) -> str:
    values = dict(zip(names, row, strict=True))
    try:
        return f"{_encode_json(values)}\n"
    except ValueError:  # NaN or infinity, which JSON cannot represent
        return f"{_encode_json(to_json(values))}\n"


class StreamBuffer(RawIOBase):
    def __init__(self) -> None:
        self._written: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        piece = bytes(data)
        self._written.append(piece)
        self._position += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._position

    def take(self) -> bytes:
        """Return and clear the bytes written since the last call."""
        taken = b"".join(self._written)
        self._written.clear()
        return taken


_ARROW_TYPES: Mapping[ColumnKind, Callable[[Any], Any]] = {
    ColumnKind.text: lambda arrow: arrow.string(),
    ColumnKind.integer: lambda arrow: arrow.int64(),
    ColumnKind.number: lambda arrow: arrow.float64(),
    ColumnKind.boolean: lambda arrow: arrow.bool_(),
    ColumnKind.moment: lambda arrow: arrow.timestamp("us", tz="UTC"),
    ColumnKind.date: lambda arrow: arrow.date32(),
    ColumnKind.texts: lambda arrow: arrow.list_(arrow.string()),
}


def write_parquet(
    chunks: RowChunks, columns: Sequence[ExportColumn], *, counts: ExportCounts | None = None
) -> AsyncGenerator[bytes, None]:
    """Write Parquet. Raises `InvalidInput` immediately if pyarrow is missing."""
    arrow, parquet = _import_pyarrow()
    schema = arrow.schema([(column.name, _ARROW_TYPES[column.kind](arrow)) for column in columns])
    return _write_parquet_chunks(chunks, columns, counts or ExportCounts(), arrow, parquet, schema)


def _import_pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise InvalidInput(
            "Parquet needs pyarrow, which is not installed. Install it with"
            ' pip install "scrapersky[parquet]", or choose csv, jsonl or xlsx.'
        ) from error


async def _write_parquet_chunks(
    chunks: RowChunks,
    columns: Sequence[ExportColumn],
    counts: ExportCounts,
    arrow: Any,
    parquet: Any,
    schema: Any,
) -> AsyncGenerator[bytes, None]:
    sink = StreamBuffer()
    async with closing(chunks):
        with parquet.ParquetWriter(sink, schema) as writer:
            async for chunk in chunks:
                if chunk:
                    writer.write_table(_build_table(chunk, columns, arrow, schema))
                    counts.rows += len(chunk)
                    yield sink.take()
        yield sink.take()


def _build_table(
    rows: Sequence[ExportRow], columns: Sequence[ExportColumn], arrow: Any, schema: Any
) -> Any:
    by_column = zip(*rows, strict=True)
    arrays = [
        arrow.array([_convert_value(value, column.kind) for value in values], field.type)
        for values, column, field in zip(by_column, columns, schema, strict=True)
    ]
    return arrow.Table.from_arrays(arrays, schema=schema)


def _convert_value(value: object, kind: ColumnKind) -> object:
    if value is None:
        return None
    return _CONVERTERS[kind](value)


def _to_datetime(value: Any) -> datetime:
    """Convert to UTC; naive times are assumed to be UTC."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _to_date(value: Any) -> date:
    if isinstance(value, str):
        return date.fromisoformat(value)
    return value.date() if isinstance(value, datetime) else value


def _to_strings(value: Any) -> list[str]:
    return [_to_string(value)] if isinstance(value, str) else [_to_string(each) for each in value]


def _to_string(value: object) -> str:
    return to_text(value).encode("utf-8", "replace").decode()


_CONVERTERS: Mapping[ColumnKind, Callable[[Any], object]] = {
    ColumnKind.text: _to_string,
    ColumnKind.integer: int,
    ColumnKind.number: float,
    ColumnKind.boolean: bool,
    ColumnKind.moment: _to_datetime,
    ColumnKind.date: _to_date,
    ColumnKind.texts: _to_strings,
}
