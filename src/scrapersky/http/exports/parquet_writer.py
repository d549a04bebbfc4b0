"""Rows as Parquet, with a schema from the columns' kinds and a row group per chunk."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from importlib import import_module
from typing import Any

from scrapersky.errors import InvalidInput
from scrapersky.http.exports.columns import Chunks, Column, Counts, Kind, Row, closing
from scrapersky.http.exports.sink import Sink
from scrapersky.http.exports.values import as_text

_TYPES: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.text: lambda arrow: arrow.string(),
    Kind.integer: lambda arrow: arrow.int64(),
    Kind.number: lambda arrow: arrow.float64(),
    Kind.boolean: lambda arrow: arrow.bool_(),
    Kind.moment: lambda arrow: arrow.timestamp("us", tz="UTC"),
    Kind.date: lambda arrow: arrow.date32(),
    Kind.texts: lambda arrow: arrow.list_(arrow.string()),
}


def write_parquet(
    chunks: Chunks, columns: Sequence[Column], *, counts: Counts | None = None
) -> AsyncGenerator[bytes, None]:
    """`InvalidInput` at once, before any byte, where pyarrow is not installed."""
    arrow, parquet = _pyarrow()
    schema = arrow.schema([(column.name, _TYPES[column.kind](arrow)) for column in columns])
    return _written(chunks, columns, counts or Counts(), arrow, parquet, schema)


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise InvalidInput(
            "Parquet needs pyarrow, which is not installed here:"
            ' pip install "scrapersky[parquet]", or choose csv, jsonl or xlsx.'
        ) from error


async def _written(
    chunks: Chunks, columns: Sequence[Column], counts: Counts, arrow: Any, parquet: Any, schema: Any
) -> AsyncGenerator[bytes, None]:
    sink = Sink()
    async with closing(chunks):
        with parquet.ParquetWriter(sink, schema) as writer:
            async for chunk in chunks:
                if chunk:
                    writer.write_table(_table(chunk, columns, arrow, schema))
                    counts.rows += len(chunk)
                    yield sink.take()
        yield sink.take()


def _table(rows: Sequence[Row], columns: Sequence[Column], arrow: Any, schema: Any) -> Any:
    by_column = zip(*rows, strict=True)
    arrays = [
        arrow.array([_fitting(value, column.kind) for value in values], field.type)
        for values, column, field in zip(by_column, columns, schema, strict=True)
    ]
    return arrow.Table.from_arrays(arrays, schema=schema)


def _fitting(value: object, kind: Kind) -> object:
    """The value as its column's type."""
    if value is None:
        return None
    return _FITS[kind](value)


def _moment(value: Any) -> datetime:
    """In UTC; a time without a zone is taken to be in it."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _date(value: Any) -> date:
    if isinstance(value, str):
        return date.fromisoformat(value)
    return value.date() if isinstance(value, datetime) else value


def _texts(value: Any) -> list[str]:
    return [_text(value)] if isinstance(value, str) else [_text(each) for each in value]


def _text(value: object) -> str:
    return as_text(value).encode("utf-8", "replace").decode()


_FITS: Mapping[Kind, Callable[[Any], object]] = {
    Kind.text: _text,
    Kind.integer: int,
    Kind.number: float,
    Kind.boolean: bool,
    Kind.moment: _moment,
    Kind.date: _date,
    Kind.texts: _texts,
}
