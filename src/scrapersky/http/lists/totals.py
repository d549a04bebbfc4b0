"""How many rows a list has: counted while that is cheap, else as the planner believes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.estimates import estimate

COUNTED_AT_MOST = 10_000
COUNTING_COSTS_AT_MOST = 100_000.0
"""In the planner's unit; about half a second of a small machine."""


class TotalIs(StrEnum):
    EXACT = "exact"
    ESTIMATED = "estimated"


@dataclass(frozen=True)
class Total:
    count: int
    how: TotalIs


async def count(session: AsyncSession, keys: Select[Any]) -> Total:
    """Of a statement that selects keys, without order or limit."""
    bounded = keys.limit(COUNTED_AT_MOST + 1)
    if (await estimate(session, bounded)).cost <= COUNTING_COSTS_AT_MOST:
        found = await session.scalar(select(func.count()).select_from(bounded.subquery())) or 0
        if found <= COUNTED_AT_MOST:
            return Total(found, TotalIs.EXACT)
        least = found
    else:
        least = 0
    believed = await estimate(session, keys)
    return Total(max(believed.rows, least), TotalIs.ESTIMATED)


@dataclass(frozen=True)
class BoundedTotal:
    """A count that is never a guess: exact, or a number that is known to be exceeded."""

    count: int
    has_more: bool = False


async def count_bounded(
    session: AsyncSession, keys: Select[Any], *, seen: int, follows: bool
) -> BoundedTotal:
    """Count exactly up to `COUNTED_AT_MOST` rows; beyond that, say only that there are more.

    `seen` are the rows on the page the total is for, `follows` whether another page follows. The
    page and the count are two statements, and rows come and go between them: the total is never
    less than what the page itself proves.
    """
    bounded = keys.limit(COUNTED_AT_MOST + 1)
    if (await estimate(session, bounded)).cost > COUNTING_COSTS_AT_MOST:
        return BoundedTotal(seen, has_more=True)
    found = await session.scalar(select(func.count()).select_from(bounded.subquery())) or 0
    if found > COUNTED_AT_MOST:
        return BoundedTotal(COUNTED_AT_MOST, has_more=True)
    return BoundedTotal(max(found, seen + follows))
