"""What somebody wants to see of a table: the list's own parameters, and which columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import Query
from pydantic import Field, create_model, model_validator

from scrapersky.dashboard.tables.table import Table
from scrapersky.http.lists import Asked
from scrapersky.http.lists.listing import Narrowed, with_model

SIZES = (25, 50, 100, 200)
OF_A_LIST = ("sort", "cursor", "limit")


class ViewQuery(Narrowed):
    """A field of a form that was left empty asks for nothing."""

    @model_validator(mode="before")
    @classmethod
    def _leave_out_the_empty(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        kept = {name: _filled(value) for name, value in given.items()}
        return {name: value for name, value in kept.items() if value not in ("", [])}


def _filled(value: Any) -> Any:
    return [each for each in value if each != ""] if isinstance(value, list) else value


@dataclass(frozen=True)
class Wanted:
    asked: Asked
    columns: tuple[str, ...]
    only_rows: bool


def view_asked(table: Table) -> Callable[..., Wanted]:
    """A dependency that reads a page's query."""
    fields: dict[str, Any] = {
        name: (each.annotation, each)
        for name, each in table.listing.query_model.model_fields.items()
    }
    fields |= {
        "limit": (int, Field(50, ge=1, le=max(SIZES))),
        "columns": (list[str] | None, Field(None, max_length=100)),
        "part": (Literal["rows"] | None, None),
    }
    model = create_model(f"{table.listing.name}ViewQuery", __base__=ViewQuery, **fields)

    def read(query: Narrowed) -> Wanted:
        given = dict(query.given())
        shown = {name: given.pop(name, None) for name in OF_A_LIST}
        columns, part = given.pop("columns", None) or [], given.pop("part", None)
        given.pop("totals", None)
        names = tuple(name for each in columns for name in each.split(","))
        return Wanted(Asked(given, **shown), names, part is not None)

    return with_model(read, "query", model, Query())
