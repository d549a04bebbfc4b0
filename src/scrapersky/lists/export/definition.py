"""Declare the export of a list: columns, formats, joined tables and rows never exported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ARRAY, Boolean, ColumnElement, Date, DateTime, Float, Integer, Select, select

from scrapersky.errors import InvalidInput
from scrapersky.lists.export import ColumnKind, ExportColumn
from scrapersky.lists.filters import FilterValues, build_owner_condition
from scrapersky.lists.listing import Listing
from scrapersky.models import Actor

_COLUMN_KINDS: tuple[tuple[type[Any], ColumnKind], ...] = (
    (Boolean, ColumnKind.boolean),
    (Integer, ColumnKind.integer),
    (Float, ColumnKind.number),
    (DateTime, ColumnKind.moment),
    (Date, ColumnKind.date),
    (ARRAY, ColumnKind.texts),
)


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
class ExportField(ExportColumn):
    """An export column with the SQL expression of its value."""

    value: Any = None


def export_field(name: str, value: Any, heading: str | None = None) -> ExportField:
    """Declare a column; its kind follows from the SQL type, its heading from the name."""
    kinds = (kind for each, kind in _COLUMN_KINDS if isinstance(value.type, each))
    heading = heading or name.replace("_", " ").capitalize()
    return ExportField(name, heading, next(kinds, ColumnKind.text), value)


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
    usual: tuple[ExportField, ...]
    more: tuple[ExportField, ...] = ()
    """Optional columns, exported only when requested by name."""
    beside: tuple[tuple[Any, ColumnElement[bool]], ...] = ()
    """Tables to outer-join for extra columns. Each condition must match at most one row."""
    only: tuple[ColumnElement[bool], ...] = ()
    """Conditions that every exported row must meet, whatever the request's filters."""

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
