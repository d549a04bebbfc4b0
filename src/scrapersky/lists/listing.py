"""Declare a list: columns, filters, sort orders, pages and totals.

Its query parameters with their documentation, its SQL and the filters of bulk operations come
from this declaration. Totals are counted while that is cheap and estimated by the planner beyond.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from inspect import Parameter, Signature
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin

from fastapi import Query
from pydantic import BaseModel, Field, create_model, model_validator
from pydantic_core import PydanticCustomError
from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.statements import estimate_cost
from scrapersky.errors import InvalidInput
from scrapersky.lists.columns import Column
from scrapersky.lists.cursor import CursorPage, KeysetPosition, SortOrder
from scrapersky.lists.filters import (
    ColumnFilter,
    DateRangeFilter,
    DomainFilter,
    FilterValues,
    ListFilter,
    ModelColumn,
    build_owner_condition,
)
from scrapersky.models import Actor

MAX_COUNTED_ROWS = 10_000
MAX_COUNT_COST = 100_000.0
"""In planner cost units; about half a second on a small machine."""


class TotalAccuracy(StrEnum):
    EXACT = "exact"
    ESTIMATED = "estimated"


@dataclass(frozen=True)
class ListTotal:
    count: int
    how: TotalAccuracy


async def count_or_estimate(session: AsyncSession, keys: Select[Any]) -> ListTotal:
    """Count the rows of a key query (no order, no limit), or estimate a large number."""
    bounded = keys.limit(MAX_COUNTED_ROWS + 1)
    if (await estimate_cost(session, bounded)).cost <= MAX_COUNT_COST:
        found = await session.scalar(select(func.count()).select_from(bounded.subquery())) or 0
        if found <= MAX_COUNTED_ROWS:
            return ListTotal(found, TotalAccuracy.EXACT)
        least = found
    else:
        least = 0
    believed = await estimate_cost(session, keys)
    return ListTotal(max(believed.rows, least), TotalAccuracy.ESTIMATED)


@dataclass(frozen=True)
class BoundedTotal:
    """An exact count or, if `has_more`, a lower bound; never an estimate."""

    count: int
    has_more: bool = False


async def count_bounded(
    session: AsyncSession, keys: Select[Any], *, seen: int, follows: bool
) -> BoundedTotal:
    """Count exactly up to `MAX_COUNTED_ROWS` rows; beyond that, report only that there are more.

    `seen` is the number of rows on the page, `follows` whether another page follows. The page and
    the count are two statements, and rows may change between them: the total is never less than
    what the page proves.
    """
    bounded = keys.limit(MAX_COUNTED_ROWS + 1)
    if (await estimate_cost(session, bounded)).cost > MAX_COUNT_COST:
        return BoundedTotal(seen, has_more=True)
    found = await session.scalar(select(func.count()).select_from(bounded.subquery())) or 0
    if found > MAX_COUNTED_ROWS:
        return BoundedTotal(MAX_COUNTED_ROWS, has_more=True)
    return BoundedTotal(max(found, seen + follows))


Item = TypeVar("Item")
T = TypeVar("T")


class ListPage(CursorPage[Item], Generic[Item]):
    """A page of a list; totals only if requested with `totals`."""

    total: int | None = Field(
        default=None, description="Matching rows on all pages; see `total_is`."
    )
    total_is: TotalAccuracy | None = Field(
        default=None,
        description="`exact`, or `estimated` by the query planner for very long lists.",
    )


class ListParameters(BaseModel):
    """Base of all parameter models: unknown parameters are rejected."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, given: Any) -> Any:
        unknown = sorted(set(given) - set(cls.model_fields)) if isinstance(given, dict) else []
        if unknown:
            known = ", ".join(cls.model_fields)
            said = {"unknown": str(unknown[0])[:100], "known": known}
            raise PydanticCustomError(
                "unknown", "unknown parameter {unknown}; use one of: {known}", said
            )
        return given

    @model_validator(mode="before")
    @classmethod
    def _wrap_single_values(cls, given: Any) -> Any:
        """Accept a single value where a list is expected."""
        if not isinstance(given, dict):
            return given
        return {
            name: [value]
            if isinstance(value, str | int) and name in cls._get_list_fields()
            else value
            for name, value in given.items()
        }

    @classmethod
    def _get_list_fields(cls) -> set[str]:
        return {
            name
            for name, each in cls.model_fields.items()
            if any(get_origin(kind) is list for kind in get_args(each.annotation))
        }

    def get_values(self) -> FilterValues:
        """Return the parameters that were given or have a default."""
        return {name: value for name, value in self if value is not None}


def build_dependency(
    function: Callable[..., T], name: str, model: Any, how: Any
) -> Callable[..., T]:
    """Give a function the signature of a dependency with a parameter model built at run time."""
    kind = Annotated[model, how]
    parameter = Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind)
    function.__signature__ = Signature([parameter])  # type: ignore[attr-defined]
    return function


@dataclass(frozen=True)
class ListQuery:
    """A validated list query: filters, sort order and page."""

    given: FilterValues = field(default_factory=dict)
    sort: str | None = None
    cursor: str | None = None
    limit: int = 50
    totals: bool = False


@dataclass(frozen=True)
class ListResult:
    rows: list[Any]
    next_cursor: str | None
    total: ListTotal | None

    def to_page(self, out: Callable[[Any], Item]) -> ListPage[Item]:
        return ListPage(
            items=[out(each) for each in self.rows],
            next_cursor=self.next_cursor,
            total=self.total.count if self.total else None,
            total_is=self.total.how if self.total else None,
        )


@dataclass(frozen=True)
class Listing:
    """Declaration of a list."""

    name: str
    model: Any
    columns: tuple[Column, ...] = ()
    more: tuple[Column, ...] = ()
    """Columns that are exported only when requested by name."""
    filters: tuple[ListFilter, ...] = ()
    """Filters that belong to no single column."""
    default_sort: str = "-created_at"
    """Must be indexed, so that it is fast at any size."""

    @property
    def all_columns(self) -> tuple[Column, ...]:
        return (*self.columns, *self.more)

    @cached_property
    def sorts(self) -> Mapping[str, ModelColumn]:
        """Sortable columns by name; a leading minus sorts descending."""
        return {each.name: each.value for each in self.all_columns if each.sort}

    @cached_property
    def all_filters(self) -> tuple[ListFilter, ...]:
        of_columns = (each for column in self.all_columns for each in column.filters)
        return (*of_columns, *self.filters)

    @cached_property
    def filter_labels(self) -> Mapping[str, str]:
        """Labels of the domain filter and of the filters that are named like their column."""
        named = {
            each.name: column.title
            for column in self.all_columns
            for each in column.filters
            if isinstance(each, ColumnFilter)
            and (each.name == column.name or isinstance(each, DateRangeFilter))
        }
        return {DomainFilter.name: "Site", **named}

    @cached_property
    def filter_model(self) -> type[ListParameters]:
        """Model of the filters only, used by bulk operations."""
        return create_model(f"{self.name}Filter", __base__=ListParameters, **self._filter_fields())

    @cached_property
    def query_model(self) -> type[ListParameters]:
        """Model of the filters and of sorting and paging."""
        words = tuple(word for name in self.sorts for word in (f"-{name}", name))
        upside = "Sort column. A leading minus sorts descending, with empty values first."
        shown: dict[str, Any] = {
            "sort": (Literal[words], Field(self.default_sort, description=upside)),
            "cursor": (str | None, Field(None, description="`next_cursor` of the previous page.")),
            "limit": (
                int,
                Field(50, ge=1, le=1000, description="Maximum number of items per page."),
            ),
            "totals": (
                bool,
                Field(False, description="Include the total number of matching rows."),
            ),
        }
        fields = {**self._filter_fields(), **shown}
        return create_model(f"{self.name}Query", __base__=ListParameters, **fields)

    @cached_property
    def filter_names(self) -> frozenset[str]:
        return frozenset(self._filter_fields())

    def _filter_fields(self) -> dict[str, Any]:
        return {name: kind for each in self.all_filters for name, kind in each.parameters().items()}

    @property
    def parse_query(self) -> Callable[..., ListQuery]:
        """FastAPI dependency that parses the query string."""

        def read(query: ListParameters) -> ListQuery:
            given = dict(query.get_values())
            shown = {name: given.pop(name, None) for name in ("sort", "cursor", "limit", "totals")}
            return ListQuery(given=given, **shown)

        return build_dependency(read, "query", self.query_model, Query())

    def conditions(self, given: FilterValues, actor: Actor) -> list[ColumnElement[bool]]:
        if unknown := set(given) - self.filter_names:
            known = ", ".join(sorted(self.filter_names))
            raise InvalidInput(f"Unknown filter: {min(unknown)}. Use one of: {known}.")
        narrowing = [each for f in self.all_filters for each in f.conditions(given, actor)]
        return [build_owner_condition(self.model, actor), *narrowing]

    def statement(self, given: FilterValues, actor: Actor) -> Select[Any]:
        return select(self.model).where(*self.conditions(given, actor))

    async def show(self, session: AsyncSession, actor: Actor, asked: ListQuery) -> ListResult:
        order = self.order(asked.sort or self.default_sort)
        mark = self._fingerprint(asked)
        cursor = asked.cursor
        after = None if cursor is None else KeysetPosition.decode(cursor, mark, order.kind)
        statement = self.statement(asked.given, actor)
        rows = await order.page(session, statement, after, asked.limit + 1)
        more = len(rows) > asked.limit
        rows = rows[: asked.limit]
        following = order.get_position(rows[-1]).encode(mark) if more else None
        total = await self._count_total(session, statement) if asked.totals else None
        if total is not None:  # an estimate may be lower than the rows of this page
            total = replace(total, count=max(total.count, len(rows) + more))
        return ListResult(rows, following, total)

    def order(self, sort: str) -> SortOrder:
        column = self.sorts[sort.removeprefix("-")]
        return SortOrder(column, self.model.id, descending=sort.startswith("-"))

    async def _count_total(self, session: AsyncSession, statement: Select[Any]) -> ListTotal:
        return await count_or_estimate(session, statement.with_only_columns(self.model.id))

    def _fingerprint(self, asked: ListQuery) -> str:
        """Hash list, sort and filters: a cursor is only valid for the query that returned it."""
        meant = [self.name, asked.sort or self.default_sort, sorted(asked.given.items())]
        return hashlib.sha256(json.dumps(meant, default=str).encode()).hexdigest()[:12]
