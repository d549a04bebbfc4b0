"""A list is a declaration: what it shows, how it is narrowed and sorted.

Its query parameters with their documentation, its SQL and the filters of bulk acts come from here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import Parameter, Signature
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin

from fastapi import Query
from pydantic import BaseModel, Field, create_model, model_validator
from pydantic_core import PydanticCustomError
from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import InvalidInput
from scrapersky.http.lists.filters import Column, Filter, Given
from scrapersky.http.lists.ownership import owned_by
from scrapersky.http.lists.sorting import Order, read_cursor
from scrapersky.http.lists.totals import Total, TotalIs, count
from scrapersky.http.pagination import Page
from scrapersky.models import Actor

Item = TypeVar("Item")
T = TypeVar("T")


class Listed(Page[Item], Generic[Item]):
    """A page of a list; the totals only when they were asked for."""

    total: int | None = Field(default=None, description="Of all pages; see `total_is`.")
    total_is: TotalIs | None = Field(
        default=None, description="`exact`, or what the planner believes of a very long list."
    )


class Narrowed(BaseModel):
    """What all parameters have in common: one that is not known is refused."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, given: Any) -> Any:
        unknown = sorted(set(given) - set(cls.model_fields)) if isinstance(given, dict) else []
        if unknown:
            known = ", ".join(cls.model_fields)
            said = {"unknown": str(unknown[0])[:100], "known": known}
            raise PydanticCustomError(
                "unknown", "there is no {unknown} here; known are {known}", said
            )
        return given

    @model_validator(mode="before")
    @classmethod
    def _take_one_for_a_list(cls, given: Any) -> Any:
        """Who means one value need not write a list."""
        if not isinstance(given, dict):
            return given
        return {
            name: [value] if isinstance(value, str | int) and name in cls._lists() else value
            for name, value in given.items()
        }

    @classmethod
    def _lists(cls) -> set[str]:
        return {
            name
            for name, each in cls.model_fields.items()
            if any(get_origin(kind) is list for kind in get_args(each.annotation))
        }

    def given(self) -> Given:
        """Only what narrows something."""
        return {name: value for name, value in self if value is not None}


def with_model(function: Callable[..., T], name: str, model: Any, how: Any) -> Callable[..., T]:
    """The function as a dependency whose one parameter is of a model made at run time."""
    kind = Annotated[model, how]
    parameter = Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind)
    function.__signature__ = Signature([parameter])  # type: ignore[attr-defined]
    return function


@dataclass(frozen=True)
class Asked:
    """What somebody wants to see of a list."""

    given: Given = field(default_factory=dict)
    sort: str | None = None
    cursor: str | None = None
    limit: int = 50
    totals: bool = False


@dataclass(frozen=True)
class Shown:
    """One page of rows."""

    rows: list[Any]
    next_cursor: str | None
    total: Total | None

    def listed(self, out: Callable[[Any], Item]) -> Listed[Item]:
        return Listed(
            items=[out(each) for each in self.rows],
            next_cursor=self.next_cursor,
            total=self.total.count if self.total else None,
            total_is=self.total.how if self.total else None,
        )


@dataclass(frozen=True)
class Listing:
    """One kind of list."""

    name: str
    model: Any
    filters: tuple[Filter, ...]
    sorts: Mapping[str, Column]
    """By which columns; each upwards, and downwards with a minus before it."""
    default_sort: str = "-created_at"
    """The one that has an index at any size."""

    @cached_property
    def filter_model(self) -> type[Narrowed]:
        """The filters alone, as bulk acts take them."""
        return create_model(f"{self.name}Filter", __base__=Narrowed, **self._filter_fields())

    @cached_property
    def query_model(self) -> type[Narrowed]:
        """The filters, and how the list is to be shown."""
        words = tuple(word for name in self.sorts for word in (f"-{name}", name))
        upside = "By what; with a minus the highest first, and rows without a value before those."
        shown: dict[str, Any] = {
            "sort": (Literal[words], Field(self.default_sort, description=upside)),
            "cursor": (str | None, Field(None, description="`next_cursor` of the page before.")),
            "limit": (int, Field(50, ge=1, le=1000, description="How many at most.")),
            "totals": (bool, Field(False, description="Whether to say how many there are.")),
        }
        fields = {**self._filter_fields(), **shown}
        return create_model(f"{self.name}Query", __base__=Narrowed, **fields)

    @cached_property
    def filter_names(self) -> frozenset[str]:
        return frozenset(self._filter_fields())

    def _filter_fields(self) -> dict[str, Any]:
        return {name: kind for each in self.filters for name, kind in each.parameters().items()}

    @property
    def asked(self) -> Callable[..., Asked]:
        """A dependency that reads a request's query."""

        def read(query: Narrowed) -> Asked:
            given = dict(query.given())
            shown = {name: given.pop(name, None) for name in ("sort", "cursor", "limit", "totals")}
            return Asked(given=given, **shown)

        return with_model(read, "query", self.query_model, Query())

    def conditions(self, given: Given, actor: Actor) -> list[ColumnElement[bool]]:
        if unknown := set(given) - self.filter_names:
            raise InvalidInput(f"These rows cannot be chosen by {min(unknown)}.")
        narrowing = [each for f in self.filters for each in f.conditions(given, actor)]
        return [owned_by(self.model, actor), *narrowing]

    def statement(self, given: Given, actor: Actor) -> Select[Any]:
        return select(self.model).where(*self.conditions(given, actor))

    async def show(self, session: AsyncSession, actor: Actor, asked: Asked) -> Shown:
        order = self.order(asked.sort or self.default_sort)
        mark = self._fingerprint(asked)
        after = read_cursor(asked.cursor, mark, order.kind) if asked.cursor is not None else None
        statement = self.statement(asked.given, actor)
        rows = await order.page(session, statement, after, asked.limit + 1)
        more = len(rows) > asked.limit
        rows = rows[: asked.limit]
        following = order.position_of(rows[-1]).encode(mark) if more else None
        total = await self._total(session, statement) if asked.totals else None
        if total is not None:  # an estimate may be less than the rows that are shown with it
            total = replace(total, count=max(total.count, len(rows) + more))
        return Shown(rows, following, total)

    def order(self, sort: str) -> Order:
        column = self.sorts[sort.removeprefix("-")]
        return Order(column, self.model.id, descending=sort.startswith("-"))

    async def _total(self, session: AsyncSession, statement: Select[Any]) -> Total:
        return await count(session, statement.with_only_columns(self.model.id))

    def _fingerprint(self, asked: Asked) -> str:
        """A cursor is only good for the list it came from."""
        meant = [self.name, asked.sort or self.default_sort, sorted(asked.given.items())]
        return hashlib.sha256(json.dumps(meant, default=str).encode()).hexdigest()[:12]
