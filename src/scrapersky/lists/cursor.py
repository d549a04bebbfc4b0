"""Keyset pagination: sort orders, cursors and pages.

NULLs sort as in PostgreSQL's indexes: last ascending, first descending. Rows with and without a
value are read by separate queries, because a condition that covers both cannot use an index.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
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


def encode_cursor(*parts: Any) -> str:
    """Encode the position of the last row of a page: texts, numbers, times, ids and bytes."""
    plain = json.dumps(parts, default=_to_text, separators=(",", ":"))
    return base64.urlsafe_b64encode(plain.encode()).decode()


def _to_text(part: Any) -> str:
    return part.hex() if isinstance(part, bytes) else str(part)


def decode_cursor(cursor: str, *kinds: Any) -> tuple[Any, ...]:
    """Return the parts of a cursor, converted by these types or functions."""
    try:
        if len(cursor) > MAX_CURSOR_CHARACTERS:
            raise ValueError(cursor)
        parts = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        pairs = zip(parts, kinds, strict=True)
        return tuple(_CONVERTERS.get(kind, kind)(part) for part, kind in pairs)
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        raise InvalidInput(INVALID_CURSOR) from None


def _parse_time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parse_number(value: Any) -> int:
    """Refuse numbers that no column can hold: the driver would fail on them."""
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError(number)
    return number


_CONVERTERS: Mapping[Any, Callable[[Any], Any]] = {
    datetime: _parse_time,
    bytes: bytes.fromhex,
    int: _parse_number,
}


@dataclass(frozen=True)
class KeysetPosition:
    """Position of the last row of a page."""

    value: Any
    """Value of the sort column; None if it is NULL."""
    key: UUID

    def encode(self, fingerprint: str) -> str:
        return encode_cursor(fingerprint, self.value, self.key)

    @classmethod
    def decode(cls, cursor: str, fingerprint: str, kind: type) -> KeysetPosition:
        convert = _CONVERTERS.get(kind, kind)
        mark, value, key = decode_cursor(
            cursor, str, lambda part: None if part is None else convert(part), UUID
        )
        if mark != fingerprint:
            raise InvalidInput(MISMATCHED_CURSOR)
        return cls(value, key)


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


async def fetch_newest_first(
    session: AsyncSession,
    statement: Select[Any],
    *,
    at: InstrumentedAttribute[datetime],
    key: InstrumentedAttribute[Any],
    cursor: str | None,
    limit: int,
) -> tuple[Sequence[Any], str | None]:
    """Fetch one page, newest first, and the cursor of the next page (None on the last)."""
    if cursor is not None:
        after = decode_cursor(cursor, datetime, key.type.python_type)
        statement = statement.where(tuple_(at, key) < after)
    found = await session.scalars(statement.order_by(at.desc(), key.desc()).limit(limit + 1))
    rows = found.all()
    if len(rows) <= limit:
        return rows, None
    last = rows[limit - 1]
    return rows[:limit], encode_cursor(getattr(last, at.key), getattr(last, key.key))
