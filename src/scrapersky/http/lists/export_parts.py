"""All rows of a list, a part at a time: none twice, and all that are there the whole time.

Between two parts no connection is held, however slowly they are taken.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Select, Uuid, column, func, literal, tuple_

from scrapersky.db.bulk import copy_out
from scrapersky.db.session import Database
from scrapersky.http.lists.exporting import Export, ExportAsked
from scrapersky.http.lists.sorting import Order
from scrapersky.models import Actor, keep_to_tenant

Part = Callable[[Select[Any]], Select[Any]]
"""Narrows a statement to some of the rows, and puts these in order."""
Place = tuple[Any, UUID]

NEVER_CHANGES = "created_at"
KEPT_IN_MEMORY = 1024 * 1024
BYTES_OF_ID = 37
"""In CSV, with the end of its line."""


def parts(
    database: Database, export: Export, actor: Actor, asked: ExportAsked, *, size: int
) -> AsyncGenerator[Part, None]:
    """By the order of the list. Where a row may change its place in it meanwhile, or where every
    part would mean to sort all rows, the ids are set down in order first."""
    listing = export.listing
    order = listing.order(asked.sort or listing.default_sort)
    chosen = listing.statement(asked.given, actor)
    if order.column.key == NEVER_CHANGES:
        return _ranges(database, chosen, order, actor, size)
    return _handfuls(database, chosen, order, size)


async def _ranges(
    database: Database, chosen: Select[Any], order: Order, actor: Actor, size: int
) -> AsyncGenerator[Part, None]:
    after: Place | None = None
    while True:
        following = chosen if after is None else chosen.where(_beyond(order, after))
        last = following.with_only_columns(order.column, order.key).order_by(*_ordering(order))
        async with database.reading() as session:
            keep_to_tenant(session, actor.tenant_id)
            found = (await session.execute(last.offset(size - 1).limit(1))).one_or_none()
        until = None if found is None else (found[0], found[1])
        yield _between(following.whereclause, order, until)
        if until is None:
            return
        after = until


def _between(following: ColumnElement[bool] | None, order: Order, until: Place | None) -> Part:
    def narrow(statement: Select[Any]) -> Select[Any]:
        if following is not None:
            statement = statement.where(following)
        if until is not None:
            statement = statement.where(~_beyond(order, until))
        return statement.order_by(*_ordering(order))

    return narrow


def _beyond(order: Order, place: Place) -> ColumnElement[bool]:
    both: Any = tuple_(order.column, order.key)
    found: ColumnElement[bool] = both < place if order.descending else both > place
    return found


def _ordering(order: Order) -> tuple[Any, Any]:
    if order.descending:
        return order.column.desc(), order.key.desc()
    return order.column.asc(), order.key.asc()


async def _handfuls(
    database: Database, chosen: Select[Any], order: Order, size: int
) -> AsyncGenerator[Part, None]:
    with SpooledTemporaryFile(KEPT_IN_MEMORY) as ids:
        await _set_down(database, chosen.with_only_columns(order.key), order, ids)
        ids.seek(0)
        for some in _read(ids, size):
            yield _named(order, some)


async def _set_down(database: Database, keys: Select[Any], order: Order, ids: IO[bytes]) -> None:
    async def write(data: bytes) -> None:
        ids.write(data)

    async with database.reading() as session:
        await copy_out(session, keys.order_by(*_ordering(order)), write)


def _read(ids: IO[bytes], size: int) -> Iterator[list[UUID]]:
    while lines := ids.read(size * BYTES_OF_ID):
        yield [UUID(each) for each in lines.decode().split()]


def _named(order: Order, ids: list[UUID]) -> Part:
    """Whether they still fit what was asked is not looked at again: they did."""
    given = (
        func.unnest(literal(ids, ARRAY(Uuid)))
        .table_valued(column("id", Uuid), with_ordinality="place", name="given")
        .render_derived()
    )

    def narrow(statement: Select[Any]) -> Select[Any]:
        place = given.c.place
        return statement.join(given, given.c.id == order.key).order_by(place)

    return narrow
