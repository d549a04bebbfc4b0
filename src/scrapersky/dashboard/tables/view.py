"""One page of a table with everything its template needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.tables import narrowing
from scrapersky.dashboard.tables.address import Address
from scrapersky.dashboard.tables.asking import SIZES, Wanted
from scrapersky.dashboard.tables.narrowing import Chip, Choice, Entry
from scrapersky.dashboard.tables.table import Act, Column, Row, Table
from scrapersky.dashboard.wording import number
from scrapersky.http.lists import Asked, Listing
from scrapersky.http.lists.listing import Shown
from scrapersky.http.lists.totals import BoundedTotal, count_bounded
from scrapersky.models import Actor, Role


@dataclass(frozen=True)
class Heading:
    column: Column
    href: str
    """Where a click leads; empty where the list has no such order."""
    sorted: str
    """As ARIA says it: `ascending`, `descending`, `none`; empty where it cannot be sorted."""


@dataclass(frozen=True)
class View:
    table: Table
    wanted: Wanted
    address: Address
    page: Shown
    rows: Sequence[Row]
    may_change: bool
    counted: BoundedTotal

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.table.shown(self.wanted.columns)

    @cached_property
    def acts(self) -> tuple[Act, ...]:
        return self.table.all_acts if self.may_change else ()

    def leaves(self, act: Act) -> bool:
        """Whether rows are no longer in this list once the act was done to them."""
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
    def headings(self) -> tuple[Heading, ...]:
        return tuple(self._heading(each) for each in self.columns)

    def _heading(self, column: Column) -> Heading:
        if column.sort is None:
            return Heading(column, "", "")
        up, down = column.sort, f"-{column.sort}"
        kind = self.table.listing.sorts[column.sort].type.python_type
        first, second = (up, down) if kind is str else (down, up)
        following = second if self.sort == first else first
        state = {up: "ascending", down: "descending"}.get(self.sort, "none")
        return Heading(column, self.address.setting("sort", following).href, state)

    @property
    def chips(self) -> tuple[Chip, ...]:
        return narrowing.chips(self.table, self.address, self.given)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return narrowing.entries(self.table, self.address, self.given)

    @property
    def segments(self) -> tuple[Choice, ...]:
        return narrowing.segments(self.table, self.address, self.given)

    @property
    def sizes(self) -> tuple[Choice, ...]:
        limit = self.wanted.asked.limit
        return tuple(
            Choice(str(each), self.address.setting("limit", str(each)).href, each == limit)
            for each in SIZES
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
        """`1 lead`, `9,999 leads`, `10,000+ leads`."""
        count, has_more = self.counted.count, self.counted.has_more
        noun = self.table.noun if count == 1 and not has_more else self.table.nouns
        return f"{number(count)}{'+' if has_more else ''} {noun}"

    @property
    def filter_json(self) -> str:
        """The filters in force as the API takes them."""
        narrowed = self.table.listing.filter_model(**self.given)
        return json.dumps(narrowed.model_dump(mode="json", exclude_none=True))

    def kept(self, *but: str) -> list[tuple[str, str]]:
        """What a form has to send along, to change only what it is about."""
        return list(self.address.without(*but).values)

    def export_values(self) -> list[tuple[str, str]]:
        names = {*self.table.listing.filter_model.model_fields, "sort"}
        return [each for each in self.address.values if each[0] in names]


async def view_of(
    table: Table, session: AsyncSession, actor: Actor, wanted: Wanted, address: Address
) -> View:
    page = await table.listing.show(session, actor, wanted.asked)
    rows = page.rows if table.prepare is None else await table.prepare(session, page.rows)
    may_change = actor.role.includes(Role.CURATOR)
    counted = await _count(table.listing, session, actor, wanted.asked, page)
    return View(table, wanted, address, page, rows, may_change, counted)


async def _count(
    listing: Listing, session: AsyncSession, actor: Actor, asked: Asked, page: Shown
) -> BoundedTotal:
    follows = page.next_cursor is not None
    if asked.cursor is None and not follows:  # the page is the whole list
        return BoundedTotal(len(page.rows))
    keys = listing.statement(asked.given, actor).with_only_columns(listing.model.id)
    return await count_bounded(session, keys, seen=len(page.rows), follows=follows)
