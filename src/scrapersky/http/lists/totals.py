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


async def count(
    session: AsyncSession, keys: Select[Any], *, costs_at_most: float | None = None
) -> Total:
    """Of a statement that selects keys, without order or limit."""
    bounded = keys.limit(COUNTED_AT_MOST + 1)
    affordable = COUNTING_COSTS_AT_MOST if costs_at_most is None else costs_at_most
    if (await estimate(session, bounded)).cost <= affordable:
        found = await session.scalar(select(func.count()).select_from(bounded.subquery())) or 0
        if found <= COUNTED_AT_MOST:
            return Total(found, TotalIs.EXACT)
        least = found
    else:
        least = 0
    believed = await estimate(session, keys)
    return Total(max(believed.rows, least), TotalIs.ESTIMATED)
