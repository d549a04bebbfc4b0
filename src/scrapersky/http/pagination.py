"""Lists in pages: newest first, with a cursor that stays right while rows are added."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field
from sqlalchemy import Select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from scrapersky.errors import InvalidInput

Item = TypeVar("Item")
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before.")]


class Page(BaseModel, Generic[Item]):
    items: list[Item]
    next_cursor: str | None = Field(description="Give it as `cursor` for the next page.")


@dataclass(frozen=True)
class Position:
    """After which row the next page begins."""

    at: datetime
    id: UUID

    def encode(self) -> str:
        return base64.urlsafe_b64encode(f"{self.at.isoformat()} {self.id}".encode()).decode()

    @classmethod
    def decode(cls, cursor: str) -> Position:
        try:
            at, _, row_id = base64.urlsafe_b64decode(cursor).decode().partition(" ")
            return cls(datetime.fromisoformat(at), UUID(row_id))
        except (ValueError, binascii.Error):
            raise InvalidInput("The cursor is not one of ours; start without one.") from None


async def newest_first(
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
        after = Position.decode(cursor)
        statement = statement.where(tuple_(at, key) < (after.at, after.id))
    found = await session.scalars(statement.order_by(at.desc(), key.desc()).limit(limit + 1))
    rows = found.all()
    if len(rows) <= limit:
        return rows, None
    last = rows[limit - 1]
    return rows[:limit], Position(getattr(last, at.key), getattr(last, key.key)).encode()
