"""Keyset pagination: sort orders, cursors and pages.

NULLs sort as in PostgreSQL's indexes: last ascending, first descending. Rows with and without a
value are read by separate queries, because a condition that covers both cannot use an index.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, Select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from scrapersky.errors import InvalidInput
from scrapersky.lists.filters import ModelColumn

# Any declared order, read page by page: a cursor says after which row the next page begins.
#
# A row without a value stands as PostgreSQL's indexes have it: last upwards, first downwards. The
# rows with and those without a value are read one after the other, for a condition that covers both
# could not be looked up in an index.

INVALID_CURSOR = "The cursor is not one of ours; start without one."
MISMATCHED_CURSOR = "The cursor belongs to another sort or filter; start without one."
MAX_CURSOR_CHARACTERS = 8_000


@dataclass(frozen=True)
class KeysetPosition:
    """The last row of a page."""

    value: Any
    """In the sorted column; None where the row has none."""
    key: UUID

    def encode(self, fingerprint: str) -> str:
        value = str(self.value) if isinstance(self.value, datetime | UUID) else self.value
        plain = json.dumps([fingerprint, value, str(self.key)], separators=(",", ":"))
        return base64.urlsafe_b64encode(plain.encode()).decode()


def decode_cursor(cursor: str, fingerprint: str, kind: type) -> KeysetPosition:
    try:
        if len(cursor) > MAX_CURSOR_CHARACTERS:
            raise ValueError(cursor)
        mark, value, key = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        position = KeysetPosition(_convert_value(value, kind), UUID(key))
    except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error):
        raise InvalidInput(INVALID_CURSOR) from None
    if mark != fingerprint:
        raise InvalidInput(MISMATCHED_CURSOR)
    return position


def _convert_value(value: Any, kind: type) -> Any:
    if value is None:
        return None
    if kind is datetime:
        return datetime.fromisoformat(value)
    return kind(value)


@dataclass(frozen=True)
class SortOrder:
    """By a column, and among equals by the key."""

    column: ModelColumn
    key: ModelColumn
    descending: bool

    @property
    def kind(self) -> type:
        found: type = self.column.type.python_type
        return found

    @property
    def nullable(self) -> bool:
        return bool(self.column.expression.nullable)

    async def page(
        self,
        session: AsyncSession,
        statement: Select[Any],
        after: KeysetPosition | None,
        limit: int,
    ) -> list[Any]:
        rows: list[Any] = []
        ordered = statement.order_by(*self._ordering())
        for part in self._build_segments(after):
            found = await session.scalars(ordered.where(*part).limit(limit - len(rows)))
            rows += found.all()
            if len(rows) == limit:
                break
        return rows

    def get_position(self, row: Any) -> KeysetPosition:
        return KeysetPosition(getattr(row, self.column.key), getattr(row, self.key.key))

    def _ordering(self) -> tuple[Any, Any]:
        if self.descending:
            return self.column.desc(), self.key.desc()
        return self.column.asc(), self.key.asc()

    def _build_segments(self, after: KeysetPosition | None) -> Iterator[list[ColumnElement[bool]]]:
        """The conditions of what follows: those without a value and those with one, in order."""
        if not self.nullable:
            yield [] if after is None else [self._build_after_condition(after)]
            return
        among_missing = after is not None and after.value is None
        for missing in (True, False) if self.descending else (False, True):
            if after is None or missing == among_missing:
                yield [
                    self._is_missing(missing),
                    *([] if after is None else [self._build_after_condition(after)]),
                ]
            elif among_missing == self.descending:  # that part comes after the cursor's
                yield [self._is_missing(missing)]

    def _is_missing(self, missing: bool) -> ColumnElement[bool]:
        found: ColumnElement[bool] = self.column.is_(None) if missing else self.column.is_not(None)
        return found

    def _build_after_condition(self, after: KeysetPosition) -> ColumnElement[bool]:
        place: Any = self.key
        last: Any = after.key
        if after.value is not None:
            place, last = tuple_(self.column, self.key), (after.value, after.key)
        found: ColumnElement[bool] = place < last if self.descending else place > last
        return found


Item = TypeVar("Item")
LimitParam = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
CursorParam = Annotated[str | None, Query(description="`next_cursor` of the page before.")]


class CursorPage(BaseModel, Generic[Item]):
    items: list[Item]
    next_cursor: str | None = Field(description="Give it as `cursor` for the next page.")


@dataclass(frozen=True)
class TimePosition:
    """After which row the next page begins."""

    at: datetime
    id: UUID

    def encode(self) -> str:
        return base64.urlsafe_b64encode(f"{self.at.isoformat()} {self.id}".encode()).decode()

    @classmethod
    def decode(cls, cursor: str) -> TimePosition:
        try:
            at, _, row_id = base64.urlsafe_b64decode(cursor).decode().partition(" ")
            return cls(datetime.fromisoformat(at), UUID(row_id))
        except (ValueError, binascii.Error):
            raise InvalidInput("The cursor is not one of ours; start without one.") from None


async def fetch_newest_first(
    session: AsyncSession,
    statement: Select[Any],
    *,
    at: InstrumentedAttribute[datetime],
    key: InstrumentedAttribute[UUID],
    cursor: str | None,
    limit: int,
) -> tuple[Sequence[Any], str | None]:
    """One page of rows, and the cursor of the next if there is one."""
    if cursor is not None:
        after = TimePosition.decode(cursor)
        statement = statement.where(tuple_(at, key) < (after.at, after.id))
    found = await session.scalars(statement.order_by(at.desc(), key.desc()).limit(limit + 1))
    rows = found.all()
    if len(rows) <= limit:
        return rows, None
    last = rows[limit - 1]
    return rows[:limit], TimePosition(getattr(last, at.key), getattr(last, key.key)).encode()
