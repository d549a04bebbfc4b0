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

INVALID_CURSOR = "The cursor is not valid. Start again without a cursor."
MISMATCHED_CURSOR = (
    "The cursor belongs to another sort order or filter. Start again without a cursor."
)
MAX_CURSOR_CHARACTERS = 8_000


@dataclass(frozen=True)
class KeysetPosition:
    """Position of the last row of a page."""

    value: Any
    """Value of the sort column; None if it is NULL."""
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
    """Order by a column, with the primary key as tie-breaker."""

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
        """Yield the conditions of the remaining rows, one query each: NULL and non-NULL values in
        sort order.
        """
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
            elif among_missing == self.descending:  # this segment follows the cursor's
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
LimitParam = Annotated[int, Query(ge=1, le=1000, description="Maximum number of items per page.")]
CursorParam = Annotated[str | None, Query(description="`next_cursor` of the previous page.")]


class CursorPage(BaseModel, Generic[Item]):
    items: list[Item]
    next_cursor: str | None = Field(
        description="Pass it as `cursor` to get the next page. Null on the last page."
    )


@dataclass(frozen=True)
class TimePosition:
    """Position of the last row of a page that is sorted by time and id."""

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
            raise InvalidInput(INVALID_CURSOR) from None


async def fetch_newest_first(
    session: AsyncSession,
    statement: Select[Any],
    *,
    at: InstrumentedAttribute[datetime],
    key: InstrumentedAttribute[UUID],
    cursor: str | None,
    limit: int,
) -> tuple[Sequence[Any], str | None]:
    """Fetch one page, newest first, and the cursor of the next page (None on the last)."""
    if cursor is not None:
        after = TimePosition.decode(cursor)
        statement = statement.where(tuple_(at, key) < (after.at, after.id))
    found = await session.scalars(statement.order_by(at.desc(), key.desc()).limit(limit + 1))
    rows = found.all()
    if len(rows) <= limit:
        return rows, None
    last = rows[limit - 1]
    return rows[:limit], TimePosition(getattr(last, at.key), getattr(last, key.key)).encode()
