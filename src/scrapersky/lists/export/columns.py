"""Columns of an export, and their values as text, JSON and SQL without spreadsheet formulas."""

from __future__ import annotations

import json
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Text, case, cast, func, or_

ExportRow = Sequence[object]
RowChunks = AsyncIterator[Sequence[ExportRow]]

ROWS_PER_SLICE = 500
"""Rows formatted between two yields to the event loop: a few milliseconds of work."""


class ColumnKind(StrEnum):
    text = "text"
    integer = "integer"
    number = "number"
    boolean = "boolean"
    moment = "moment"
    """A timestamp with time zone."""
    date = "date"
    texts = "texts"
    """A list of strings in one cell."""


@dataclass(frozen=True)
class ExportColumn:
    name: str
    """Key in JSON Lines and Parquet."""
    heading: str
    """Column heading in CSV and XLSX."""
    kind: ColumnKind = ColumnKind.text


@dataclass
class ExportCounts:
    """Counters of an export; final when the writer has finished."""

    rows: int = 0
    cut_cells: int = 0
    """Texts truncated because they exceed the size of an XLSX cell."""
    sheets: int = 0


@asynccontextmanager
async def closing(chunks: RowChunks) -> AsyncGenerator[RowChunks, None]:
    """Close the source on exit, whatever the reason: the writer is its only owner."""
    try:
        yield chunks
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


def split_rows(chunk: Sequence[ExportRow]) -> Iterator[Sequence[ExportRow]]:
    for start in range(0, len(chunk), ROWS_PER_SLICE):
        yield chunk[start : start + ROWS_PER_SLICE]


TEXT_SEPARATOR = "; "

FORMULA_PREFIXES = "=+-@＝＋－＠"
LINE_BREAK_PREFIXES = "\t\r\n"
"""Spreadsheets may start a formula after one of these at the start of a cell."""
INVISIBLE_CHARACTERS = (
    " \t\r\n\v\f\x00\xa0\xad\u1680\u180e\u2028\u2029\u202f\u205f\u3000\ufeff"
    + "".join(chr(code) for code in range(0x2000, 0x2010))
)
"""Spreadsheets skip these before they check for a formula."""
_COLLECTIONS = (list, tuple, set, frozenset)
PHONE_LIST_PATTERN = r"\+[0-9][0-9 ]*(?:; \+?[0-9][0-9 ]*)*"
_FORMULA_STARTS = frozenset(FORMULA_PREFIXES + LINE_BREAK_PREFIXES)
_PHONE_LIST = re.compile(PHONE_LIST_PATTERN)


def to_text(value: object) -> str:
    """Format a value as text: empty for None, ISO 8601 for times, `a; b` for lists."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return _format_datetime(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, _COLLECTIONS):
        return TEXT_SEPARATOR.join(to_text(each) for each in value)
    if isinstance(value, Mapping):
        return json.dumps(to_json(value), ensure_ascii=False)
    return str(value)


def _format_datetime(value: datetime) -> str:
    """Format as ISO 8601 without trailing zeros in the fraction of a second."""
    text = value.isoformat()
    if not value.microsecond:
        return text
    seconds, zone = text[:26], text[26:]
    return seconds.rstrip("0") + zone


def to_json(value: object) -> object:
    """Convert a value to what `json` can encode; NaN and infinity become None."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, Decimal)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, _COLLECTIONS):
        return [to_json(each) for each in value]
    return to_text(value)


def looks_like_formula(text: str) -> bool:
    """Return whether a spreadsheet might evaluate the text as a formula.

    That is so if its first visible character is a formula sign. Phone numbers start with a plus
    too, but digits and spaces after a plus cannot call a function. They are left unchanged, because
    an apostrophe would make `+49 341 123` useless to a dialler.
    """
    start = text[:1]
    if (
        start not in _FORMULA_STARTS
        and text.lstrip(INVISIBLE_CHARACTERS)[:1] not in _FORMULA_STARTS
    ):
        return False
    return _PHONE_LIST.fullmatch(text) is None


def escape_formula(text: str) -> str:
    """Prefix text that looks like a formula with an apostrophe (CSV injection)."""
    if text[:1].isalnum():
        return text
    return f"'{text}" if looks_like_formula(text) else text


SqlValue = ColumnElement[Any]

_INVISIBLE_SQL = INVISIBLE_CHARACTERS.replace("\0", "")
_FORMULA_SQL = f"^(?:[{LINE_BREAK_PREFIXES}]|[{_INVISIBLE_SQL}]*[{re.escape(FORMULA_PREFIXES)}])"
_PHONE_LIST_SQL = f"^(?:{PHONE_LIST_PATTERN})$"


def build_csv_cell(value: SqlValue, kind: ColumnKind, *, only: bool = False) -> SqlValue:
    """Build the SQL value of a CSV cell, formatted as `write_csv` does.

    NULL and an empty string look the same in CSV. If the cell is the `only` one of its line, NULL
    becomes an empty string, which COPY writes as quotes: an empty line would not count as a row.
    """
    text = _SQL_FORMATTERS[kind](value)
    return func.coalesce(cast(text, Text), "") if only else text


def build_json_value(value: SqlValue, kind: ColumnKind) -> SqlValue:
    """Build the SQL value of a JSON field, formatted as `write_jsonl` does."""
    return _format_datetime_sql(value) if kind is ColumnKind.moment else value


def escape_formula_sql(text: SqlValue) -> SqlValue:
    """Build the SQL counterpart of `escape_formula`.

    Most texts are ruled out by their first character, without a regular expression.
    """
    first = func.ascii(text)
    ordinary = or_(first.between(ord("A"), 127), first.between(ord("0"), ord("<")))
    formula = text.regexp_match(_FORMULA_SQL) & ~text.regexp_match(_PHONE_LIST_SQL)
    return case((ordinary, text), (formula, "'" + text), else_=func.nullif(text, ""))


def _identity(value: SqlValue) -> SqlValue:
    return value


def _cast_text(value: SqlValue) -> SqlValue:
    return cast(value, Text)


def _format_datetime_sql(value: SqlValue) -> SqlValue:
    """Format a timestamp through `to_json`: a plain cast depends on the server's DateStyle."""
    quoted = cast(func.to_json(func.timezone("UTC", value)), Text)
    return func.btrim(quoted, '"') + "+00:00"


def _format_date_sql(value: SqlValue) -> SqlValue:
    return func.to_char(value, "YYYY-MM-DD")


_SQL_FORMATTERS: Mapping[ColumnKind, Callable[[SqlValue], SqlValue]] = {
    ColumnKind.text: lambda value: escape_formula_sql(cast(value, Text)),
    ColumnKind.integer: _identity,
    ColumnKind.number: _identity,
    ColumnKind.boolean: _cast_text,
    ColumnKind.moment: _format_datetime_sql,
    ColumnKind.date: _format_date_sql,
    ColumnKind.texts: lambda value: escape_formula_sql(func.array_to_string(value, TEXT_SEPARATOR)),
}
