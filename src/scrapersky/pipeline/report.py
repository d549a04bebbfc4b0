"""How the stages are doing: depths, ages, who consumes them, and whether that is healthy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import extract, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.pipeline.claims import Claims
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import StageControl, StageEvent, Worker
from scrapersky.settings import Pace, Settings

RATE_WINDOW = timedelta(hours=1)
TICKS_MISSED = 3
"""A consumer that has not ticked for so many intervals has stopped."""
TICK_GRACE_SECONDS = 60.0


@dataclass(frozen=True)
class StageReport:
    """One stage right now."""

    name: str
    does: str
    paused: bool
    pace: Pace
    counts: Mapping[str, int]
    """Rows by status."""
    due: int
    """Queued rows whose time has come."""
    oldest_due_seconds: float | None
    """How long the longest-waiting due row has been due."""
    next_due_at: datetime | None
    """When the next row that waits for its time is due."""
    last_hour: Mapping[str, int]
    """Ended attempts of the last hour, by kind."""
    consumers: int
    """Live workers that run this stage."""
    last_tick: datetime | None
    problems: tuple[str, ...]
    """What is wrong, in sentences; nothing is wrong when empty."""


async def report_stages(
    session: AsyncSession, stages: Sequence[AnyStage], settings: Settings
) -> list[StageReport]:
    workers = await live_workers(session, settings)
    return [await report_stage(session, stage, settings, workers) for stage in stages]


async def live_workers(session: AsyncSession, settings: Settings) -> Sequence[Worker]:
    silent = func.now() - timedelta(seconds=settings.worker_dead_after_seconds)
    found = await session.scalars(
        select(Worker).where(Worker.beat_at > silent).order_by(Worker.started_at)
    )
    return found.all()


async def report_stage(
    session: AsyncSession, stage: AnyStage, settings: Settings, workers: Sequence[Worker]
) -> StageReport:
    pace = stage.paced(settings)
    due, oldest = await _due(session, stage)
    now = await session.scalar(select(func.now()))
    ticks = [each.stages[stage.name] for each in workers if stage.name in each.stages]
    return StageReport(
        name=stage.name,
        does=stage.does,
        paused=await is_paused(session, stage),
        pace=pace,
        counts=await _counts(session, stage),
        due=due,
        oldest_due_seconds=oldest,
        next_due_at=await _next_due_at(session, stage),
        last_hour=await _last_hour(session, stage),
        consumers=sum(_ticks(each) for each in ticks),
        last_tick=_last_tick(ticks, now),
        problems=tuple(_problems(ticks, due, oldest, pace, settings, now)),
    )


async def is_paused(session: AsyncSession, stage: AnyStage) -> bool:
    control = await session.get(StageControl, stage.name)
    return control is not None and control.paused


async def _counts(session: AsyncSession, stage: AnyStage) -> dict[str, int]:
    status = stage.queue.status
    found = await session.execute(
        select(status, func.count()).where(*Claims(stage).only()).group_by(status)
    )
    return {word: count for word, count in found}  # noqa: C416 (rows are not pairs to mypy)


async def _due(session: AsyncSession, stage: AnyStage) -> tuple[int, float | None]:
    claims = Claims(stage)
    age = extract("epoch", func.now() - func.min(stage.queue.due_at))
    found = await session.execute(select(func.count(), age).where(claims.is_due(), *claims.only()))
    count, oldest = found.one()
    return int(count), None if oldest is None else float(oldest)


async def _next_due_at(session: AsyncSession, stage: AnyStage) -> datetime | None:
    claims, due_at = Claims(stage), stage.queue.due_at
    waiting = (claims.is_queued(), due_at > func.now(), *claims.only())
    return await session.scalar(select(func.min(due_at)).where(*waiting))


async def _last_hour(session: AsyncSession, stage: AnyStage) -> dict[str, int]:
    found = await session.execute(
        select(StageEvent.kind, func.sum(StageEvent.rows))
        .where(StageEvent.stage == stage.name, StageEvent.at > func.now() - RATE_WINDOW)
        .group_by(StageEvent.kind)
    )
    return {word: count for word, count in found}  # noqa: C416 (rows are not pairs to mypy)


def _last_tick(ticks: Sequence[Mapping[str, Any]], now: datetime | None) -> datetime | None:
    known = [each["last_tick"] for each in ticks if each.get("last_tick")]
    return datetime.fromtimestamp(max(known), tz=now.tzinfo) if known and now else None


def _ticks(state: Mapping[str, Any]) -> bool:
    """A process that works one row for a person holds the stage too, but does not consume it."""
    return state.get("last_tick") is not None


def _problems(
    ticks: Sequence[Mapping[str, Any]],
    due: int,
    oldest: float | None,
    pace: Pace,
    settings: Settings,
    now: datetime | None,
) -> list[str]:
    """In the order an operator should look at them."""
    found = [f"It could not be registered: {each['failed']}" for each in ticks if "failed" in each]
    running = [each for each in ticks if _ticks(each)]
    if due and not running:
        found.append(f"Rows are due ({due}) and no consumer runs this stage.")
    if oldest is not None and oldest > settings.queue_oldest_due_limit_seconds:
        found.append(
            f"The oldest due row has waited for {oldest:.0f} seconds, "
            f"more than the limit of {settings.queue_oldest_due_limit_seconds:.0f}."
        )
    last = _last_tick(running, now)
    limit = TICKS_MISSED * pace.interval_minutes * 60 + TICK_GRACE_SECONDS
    if last is not None and now is not None and (now - last).total_seconds() > limit:
        found.append(f"No consumer has ticked since {last:%Y-%m-%d %H:%M:%S} UTC.")
    return found
