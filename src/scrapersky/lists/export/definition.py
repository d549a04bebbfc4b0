"""Declare the export of a list: columns, formats, joined tables and rows that are never
exported.
"""

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
    """A column of an export, and where what stands in it comes from."""

    value: Any = None


def export_field(name: str, value: Any, heading: str | None = None) -> ExportField:
    """Its kind is that of the value; its heading, unless another is given, its name."""
    kinds = (kind for each, kind in _COLUMN_KINDS if isinstance(value.type, each))
    heading = heading or name.replace("_", " ").capitalize()
    return ExportField(name, heading, next(kinds, ColumnKind.text), value)


@dataclass(frozen=True)
class ExportRequest:
    """What somebody wants to have of a list, and how."""

    given: FilterValues
    sort: str | None = None
    format: ExportFormat = ExportFormat.CSV
    columns: str | None = None
    """Names with commas between them; nothing means the usual ones."""
    bom: bool = False


@dataclass(frozen=True)
class Export:
    """One kind of list as a file."""

    listing: Listing
    rows: str
    """As the list is called: `sitemap-files`."""
    usual: tuple[ExportField, ...]
    more: tuple[ExportField, ...] = ()
    """Those that have to be asked for by name."""
    beside: tuple[tuple[Any, ColumnElement[bool]], ...] = ()
    """Tables that give a column or two, each with how one row at most is found in it."""
    only: tuple[ColumnElement[bool], ...] = ()
    """What has to hold of a row for it to leave at all, whatever was asked."""

    def fields(self, columns: str | None) -> list[ExportField]:
        """Those that were named, in that order."""
        if columns is None:
            return list(self.usual)
        known = {each.name: each for each in (*self.usual, *self.more)}
        names = list(dict.fromkeys(name.strip() for name in columns.split(",")))
        if unknown := [name for name in names if name not in known]:
            raise InvalidInput(
                f"There is no column {unknown[0][:100] or 'without a name'} here; "
                f"there are {', '.join(known)}."
            )
        return [known[name] for name in names]

    def statement(self, values: Sequence[ColumnElement[Any]], actor: Actor) -> Select[Any]:
        """These values of the actor's rows, not narrowed any further; fit to be run as it is."""
        model = self.listing.model
        found = (
            select(*values)
            .select_from(model)
            .where(build_owner_condition(model, actor), *self.only)
        )
        for table, is_the_one in self.beside:
            found = found.outerjoin(table, is_the_one)
        return found
