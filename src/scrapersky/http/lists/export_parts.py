"""All rows of a list, a part at a time: none twice, and all that are there the whole time.

Between two parts no connection is held, however slowly they are taken.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from tempfile import SpooledTemporaryFile
from typing import IO, Any, NamedTuple, Protocol
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Select, Uuid, bindparam, column, func, tuple_

from scrapersky.db.bulk import CopyOut
from scrapersky.db.session import Database
from scrapersky.http.lists.listing import Listing
from scrapersky.http.lists.sorting import Order
from scrapersky.models import Actor, keep_to_tenant

Values = Mapping[str, Any]

NEVER_CHANGES = "created_at"
KEPT_IN_MEMORY = 1024 * 1024
BYTES_OF_ID = 37
"""In CSV, with the end of its line."""


class Place(NamedTuple):
    """Of a row in the order of time."""

    moment: datetime
    key: UUID


FIRST = Place(datetime(1, 1, 1, tzinfo=UTC), UUID(int=0))
LAST = Place(datetime(9999, 12, 31, tzinfo=UTC), UUID(int=2**128 - 1))
"""No row is beyond these."""


class Parts(Protocol):
    def narrow(self, statement: Select[Any]) -> Select[Any]:
        """The statement for one part, in order; which part is left open."""

    def values(self, size: int) -> AsyncGenerator[Values, None]:
        """What to put there, for one part after the other."""


def parts_of(
    database: Database, listing: Listing, actor: Actor, given: Values, sort: str | None
) -> Parts:
    """In the order of the list. Where a row may change its place in it meanwhile, or where every
    part would mean to sort all rows, the ids are set down in order first."""
    order = listing.order(sort or listing.default_sort)
    chosen = listing.statement(given, actor)
    if order.column.key == NEVER_CHANGES:
        return Spans(database, actor, chosen, order)
    return Handfuls(database, chosen, order)


@dataclass(frozen=True)
class Spans:
    """From one moment to another, with so many rows between them."""

    database: Database
    actor: Actor
    chosen: Select[Any]
    order: Order

    def narrow(self, statement: Select[Any]) -> Select[Any]:
        low, high = ("until", "after") if self.order.descending else ("after", "until")
        moment, chosen = self.order.column, self.chosen.whereclause
        assert chosen is not None  # it says at least whose rows they are
        return statement.where(
            chosen,
            self._beyond("after"),
            ~self._beyond("until"),
            # Said again of the moments alone: of these the planner knows how few lie between.
            moment.between(_moment(low, moment), _moment(high, moment)),
        ).order_by(*_ordering(self.order))

    async def values(self, size: int) -> AsyncGenerator[Values, None]:
        after, end = (LAST, FIRST) if self.order.descending else (FIRST, LAST)
        until: Place | None = after
        while until is not None:
            until = await self._after(after, size)
            yield {**_named("after", after), **_named("until", until or end)}
            after = until or end

    async def _after(self, place: Place, size: int) -> Place | None:
        """So many rows later."""
        order = self.order
        rows = self.chosen.with_only_columns(order.column, order.key).where(self._beyond("after"))
        rows = rows.order_by(*_ordering(order)).offset(size - 1).limit(1)
        async with self.database.reading() as session:
            keep_to_tenant(session, self.actor.tenant_id)
            found = (await session.execute(rows, _named("after", place))).one_or_none()
        return None if found is None else Place(*found)

    def _beyond(self, name: str) -> ColumnElement[bool]:
        moment, key = self.order.column, self.order.key
        here: Any = tuple_(moment, key)
        there = tuple_(_moment(name, moment), bindparam(f"{name}_key", None, key.type))
        found: ColumnElement[bool] = here < there if self.order.descending else here > there
        return found


def _moment(name: str, moment: Any) -> ColumnElement[datetime]:
    return bindparam(f"{name}_moment", None, moment.type)


def _named(name: str, place: Place) -> Values:
    return {f"{name}_moment": place.moment, f"{name}_key": place.key}


def _ordering(order: Order) -> tuple[Any, Any]:
    if order.descending:
        return order.column.desc(), order.key.desc()
    return order.column.asc(), order.key.asc()


@dataclass(frozen=True)
class Handfuls:
    """By their ids. Whether they still fit what was asked is not looked at again: they did."""

    database: Database
    chosen: Select[Any]
    order: Order

    def narrow(self, statement: Select[Any]) -> Select[Any]:
        given = (
            func.unnest(bindparam("ids", None, ARRAY(Uuid)))
            .table_valued(column("id", Uuid), with_ordinality="place", name="given")
            .render_derived()
        )
        return statement.join(given, given.c.id == self.order.key).order_by(given.c.place)

    async def values(self, size: int) -> AsyncGenerator[Values, None]:
        with SpooledTemporaryFile(KEPT_IN_MEMORY) as ids:
            await self._set_down(ids)
            ids.seek(0)
            while lines := ids.read(size * BYTES_OF_ID):
                yield {"ids": [UUID(each) for each in lines.decode().split()]}

    async def _set_down(self, ids: IO[bytes]) -> None:
        async def write(data: bytes) -> None:
            ids.write(data)

        keys = self.chosen.with_only_columns(self.order.key).order_by(*_ordering(self.order))
        async with self.database.reading() as session:
            await CopyOut(keys).run(session, write, {})
