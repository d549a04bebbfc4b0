"""What every stage did in the last hour, and how long its rows took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Select, func, literal, select, union_all
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import EventKind, StageEvent

RATE_WINDOW = timedelta(hours=1)
EVENTS_LOOKED_AT = 5_000
"""For durations: of a stage that does more in an hour, the newest tell enough."""
WORKED = (EventKind.COMPLETED, EventKind.SKIPPED, EventKind.RETRIED, EventKind.FAILED)

Durations = tuple[float | None, float | None]


async def last_hours(
    session: AsyncSession, stages: Sequence[AnyStage]
) -> defaultdict[str, dict[str, int]]:
    """By stage and kind."""
    names = [each.name for each in stages]
    found = await session.execute(
        select(StageEvent.stage, StageEvent.kind, func.sum(StageEvent.rows))
        .where(StageEvent.stage.in_(names), StageEvent.at > func.now() - RATE_WINDOW)
        .group_by(StageEvent.stage, StageEvent.kind)
    )
    by_stage = defaultdict[str, dict[str, int]](dict)
    for stage, kind, count in found:
        by_stage[stage][kind] = int(count)
    return by_stage


async def durations(session: AsyncSession, stages: Sequence[AnyStage]) -> dict[str, Durations]:
    """The median and the 95th percentile of each, in milliseconds."""
    found = await session.execute(union_all(*(_of_stage(each.name) for each in stages)))
    return {stage: (p50, p95) for stage, p50, p95 in found}


def _of_stage(name: str) -> Select[Any]:
    lately = (
        select(StageEvent.durations_ms)
        .where(
            StageEvent.stage == name,
            StageEvent.at > func.now() - RATE_WINDOW,
            StageEvent.kind.in_(WORKED),
        )
        .order_by(StageEvent.at.desc())
        .limit(EVENTS_LOOKED_AT)
        .subquery()
    )
    each = select(func.unnest(lately.c.durations_ms).label("ms")).subquery()
    parts = [func.percentile_cont(part).within_group(each.c.ms) for part in (0.5, 0.95)]
    return select(literal(name), *parts)
