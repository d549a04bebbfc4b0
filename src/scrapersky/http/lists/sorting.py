"""Any declared order, read page by page: a cursor says after which row the next page begins.

A row without a value stands as PostgreSQL's indexes have it: last upwards, first downwards. The
rows with and those without a value are read one after the other, for a condition that covers both
could not be looked up in an index.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import InvalidInput
from scrapersky.http.lists.filters import Column

NOT_OURS = "The cursor is not one of ours; start without one."
FOR_ANOTHER = "The cursor belongs to another sort or filter; start without one."
MAX_CURSOR_CHARACTERS = 8_000


@dataclass(frozen=True)
class Position:
    """The last row of a page."""

    value: Any
    """In the sorted column; None where the row has none."""
    key: UUID

    def encode(self, fingerprint: str) -> str:
        value = str(self.value) if isinstance(self.value, datetime | UUID) else self.value
        plain = json.dumps([fingerprint, value, str(self.key)], separators=(",", ":"))
        return base64.urlsafe_b64encode(plain.encode()).decode()


def read_cursor(cursor: str, fingerprint: str, kind: type) -> Position:
    try:
        if len(cursor) > MAX_CURSOR_CHARACTERS:
            raise ValueError(cursor)
        mark, value, key = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        position = Position(_read(value, kind), UUID(key))
    except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error):
        raise InvalidInput(NOT_OURS) from None
    if mark != fingerprint:
        raise InvalidInput(FOR_ANOTHER)
    return position


def _read(value: Any, kind: type) -> Any:
    if value is None:
        return None
    if kind is datetime:
        return datetime.fromisoformat(value)
    return kind(value)


@dataclass(frozen=True)
class Order:
    """By a column, and among equals by the key."""

    column: Column
    key: Column
    descending: bool

    @property
    def kind(self) -> type:
        found: type = self.column.type.python_type
        return found

    @property
    def nullable(self) -> bool:
        return bool(self.column.expression.nullable)

    async def page(
        self, session: AsyncSession, statement: Select[Any], after: Position | None, limit: int
    ) -> list[Any]:
        rows: list[Any] = []
        ordered = statement.order_by(*self._ordering())
        for part in self._parts(after):
            found = await session.scalars(ordered.where(*part).limit(limit - len(rows)))
            rows += found.all()
            if len(rows) == limit:
                break
        return rows

    def position_of(self, row: Any) -> Position:
        return Position(getattr(row, self.column.key), getattr(row, self.key.key))

    def _ordering(self) -> tuple[Any, Any]:
        if self.descending:
            return self.column.desc(), self.key.desc()
        return self.column.asc(), self.key.asc()

    def _parts(self, after: Position | None) -> Iterator[list[ColumnElement[bool]]]:
        """The conditions of what follows: those without a value and those with one, in order."""
        if not self.nullable:
            yield [] if after is None else [self._beyond(after)]
            return
        among_missing = after is not None and after.value is None
        for missing in (True, False) if self.descending else (False, True):
            if after is None or missing == among_missing:
                yield [self._is_missing(missing), *([] if after is None else [self._beyond(after)])]
            elif among_missing == self.descending:  # that part comes after the cursor's
                yield [self._is_missing(missing)]

    def _is_missing(self, missing: bool) -> ColumnElement[bool]:
        found: ColumnElement[bool] = self.column.is_(None) if missing else self.column.is_not(None)
        return found

    def _beyond(self, after: Position) -> ColumnElement[bool]:
        place: Any = self.key
        last: Any = after.key
        if after.value is not None:
            place, last = tuple_(self.column, self.key), (after.value, after.key)
        found: ColumnElement[bool] = place < last if self.descending else place > last
        return found
