"""Parse a table page's query and load one page of rows with everything its template needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from fastapi import Query
from pydantic import Field, create_model, model_validator
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard import filters
from scrapersky.dashboard.cells import Row
from scrapersky.dashboard.filters import FilterChip, FilterChoice, FilterField, ViewUrl
from scrapersky.dashboard.formats import format_number
from scrapersky.dashboard.table import Table, TableAction, TableColumn
from scrapersky.lists import Listing, ListQuery
from scrapersky.lists.listing import (
    BoundedTotal,
    ListParameters,
    ListResult,
    build_dependency,
    count_bounded,
)
from scrapersky.models import Actor, Role

PAGE_SIZES = (25, 50, 100, 200)
LISTING_PARAMETERS = ("sort", "cursor", "limit")


class ViewQuery(ListParameters):
    """Query of a table page. Empty form fields are ignored."""

    @model_validator(mode="before")
    @classmethod
    def _drop_empty_fields(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        kept = {name: _drop_empty_items(value) for name, value in given.items()}
        return {name: value for name, value in kept.items() if value not in ("", [])}


def _drop_empty_items(value: Any) -> Any:
    return [each for each in value if each != ""] if isinstance(value, list) else value


@dataclass(frozen=True)
class ViewRequest:
    asked: ListQuery
    columns: tuple[str, ...]
    only_rows: bool


def build_view_dependency(table: Table) -> Callable[..., ViewRequest]:
    """Build a FastAPI dependency that parses the query of a table page."""
    fields: dict[str, Any] = {
        name: (each.annotation, each)
        for name, each in table.listing.query_model.model_fields.items()
    }
    fields |= {
        "limit": (int, Field(50, ge=1, le=max(PAGE_SIZES))),
        "columns": (list[str] | None, Field(None, max_length=100)),
        "part": (Literal["rows"] | None, None),
    }
    model = create_model(f"{table.listing.name}ViewQuery", __base__=ViewQuery, **fields)

    def read(query: ListParameters) -> ViewRequest:
        given = dict(query.get_values())
        shown = {name: given.pop(name, None) for name in LISTING_PARAMETERS}
        columns, part = given.pop("columns", None) or [], given.pop("part", None)
        given.pop("totals", None)
        names = tuple(name for each in columns for name in each.split(","))
        return ViewRequest(ListQuery(given, **shown), names, part is not None)

    return build_dependency(read, "query", model, Query())


@dataclass(frozen=True)
class ColumnHeading:
    column: TableColumn
    href: str
    """Sort link; empty if the column cannot be sorted."""
    sorted: str
    """`aria-sort` value: `ascending`, `descending` or `none`; empty if the column cannot be sorted.
    """


@dataclass(frozen=True)
class TableView:
    table: Table
    wanted: ViewRequest
    address: ViewUrl
    page: ListResult
    rows: Sequence[Row]
    may_change: bool
    counted: BoundedTotal

    @cached_property
    def columns(self) -> tuple[TableColumn, ...]:
        return self.table.select_columns(self.wanted.columns)

    @cached_property
    def acts(self) -> tuple[TableAction, ...]:
        return self.table.all_acts if self.may_change else ()

    def leaves(self, act: TableAction) -> bool:
        """Return whether rows leave this list after the action."""
        curation = self.table.curation
        if curation is None or "status" not in act.body:
            return False
        in_force = self.given.get(curation.column.key)
        return in_force is not None and act.body["status"] not in in_force

    @property
    def given(self) -> dict[str, Any]:
        return dict(self.wanted.asked.given)

    @property
    def sort(self) -> str:
        return self.wanted.asked.sort or self.table.listing.default_sort

    @property
    def headings(self) -> tuple[ColumnHeading, ...]:
        return tuple(self._heading(each) for each in self.columns)

    def _heading(self, column: TableColumn) -> ColumnHeading:
        if column.sort is None:
            return ColumnHeading(column, "", "")
        up, down = column.sort, f"-{column.sort}"
        kind = self.table.listing.sorts[column.sort].type.python_type
        first, second = (up, down) if kind is str else (down, up)
        following = second if self.sort == first else first
        state = {up: "ascending", down: "descending"}.get(self.sort, "none")
        return ColumnHeading(column, self.address.set_values("sort", following).href, state)

    @property
    def chips(self) -> tuple[FilterChip, ...]:
        return filters.build_chips(self.table, self.address, self.given)

    @property
    def entries(self) -> tuple[FilterField, ...]:
        return filters.build_filter_fields(self.table, self.address, self.given)

    @property
    def segments(self) -> tuple[FilterChoice, ...]:
        return filters.build_segments(self.table, self.address, self.given)

    @property
    def sizes(self) -> tuple[FilterChoice, ...]:
        limit = self.wanted.asked.limit
        return tuple(
            FilterChoice(str(each), self.address.set_values("limit", str(each)).href, each == limit)
            for each in PAGE_SIZES
        )

    @property
    def is_narrowed(self) -> bool:
        return any(each.without for each in self.chips)

    @property
    def cleared(self) -> str:
        return self.address.without(*self.table.listing.filter_model.model_fields).href

    @property
    def first(self) -> str:
        """Empty on the first page."""
        return self.address.without().href if self.wanted.asked.cursor else ""

    @property
    def next(self) -> str:
        cursor = self.page.next_cursor
        return self.address.at(cursor).href if cursor else ""

    @property
    def total(self) -> str:
        """`1 lead`, `9,999 leads` or `10,000+ leads`."""
        count, has_more = self.counted.count, self.counted.has_more
        noun = self.table.noun if count == 1 and not has_more else self.table.nouns
        return f"{format_number(count)}{'+' if has_more else ''} {noun}"

    @property
    def filter_json(self) -> str:
        """Active filters in the format of the API."""
        narrowed = self.table.listing.filter_model(**self.given)
        return json.dumps(narrowed.model_dump(mode="json", exclude_none=True))

    def hidden_fields(self, *but: str) -> list[tuple[str, str]]:
        """Return the hidden form fields that preserve the rest of the view."""
        return list(self.address.without(*but).values)

    def export_values(self) -> list[tuple[str, str]]:
        names = {*self.table.listing.filter_model.model_fields, "sort"}
        return [each for each in self.address.values if each[0] in names]


async def load_view(
    table: Table, session: AsyncSession, actor: Actor, wanted: ViewRequest, address: ViewUrl
) -> TableView:
    page = await table.listing.show(session, actor, wanted.asked)
    rows = page.rows if table.prepare is None else await table.prepare(session, page.rows)
    may_change = actor.role.includes(Role.CURATOR)
    counted = await _count_rows(table.listing, session, actor, wanted.asked, page)
    return TableView(table, wanted, address, page, rows, may_change, counted)


async def _count_rows(
    listing: Listing, session: AsyncSession, actor: Actor, asked: ListQuery, page: ListResult
) -> BoundedTotal:
    follows = page.next_cursor is not None
    if asked.cursor is None and not follows:  # the page contains the whole list
        return BoundedTotal(len(page.rows))
    keys = listing.statement(asked.given, actor).with_only_columns(listing.model.id)
    return await count_bounded(session, keys, seen=len(page.rows), follows=follows)
