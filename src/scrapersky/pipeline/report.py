"""How the stages are doing: depths, ages, who consumes them, and whether that is healthy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, extract, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.pipeline.claims import claims_of
from scrapersky.pipeline.counting import count_open_letters, count_rows
from scrapersky.pipeline.flow import changed_pace
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import EventKind, StageControl, StageEvent, Worker
from scrapersky.pipeline.troubles import Situation, Trouble, ticks, troubles_of
from scrapersky.settings import Pace, Settings

RATE_WINDOW = timedelta(hours=1)
EVENTS_LOOKED_AT = 5_000
"""For durations: of a stage that does more in an hour, the newest tell enough."""
WORKED = (EventKind.COMPLETED, EventKind.SKIPPED, EventKind.RETRIED, EventKind.FAILED)


@dataclass(frozen=True)
class StageReport:
    """One stage right now."""

    name: str
    does: str
    paused: bool
    paused_seconds: float | None
    """Since when, if it is."""
    pace: Pace
    counts: Mapping[str, int]
    """Rows by status."""
    estimated: tuple[str, ...]
    """The statuses of large tables whose count is an estimate."""
    queued: int
    due: int
    """Queued rows whose time has come."""
    oldest_due_seconds: float | None
    """How long the longest-waiting due row has been due."""
    oldest_ready_seconds: float | None
    """The same of rows that could be worked now: their hosts may be asked and have a place."""
    next_due_at: datetime | None
    """When the next row that waits for its time is due."""
    in_flight: int
    """Rows being worked."""
    overdue: int
    """Of those, rows past the stage's timeout or without a lease, which should have ended."""
    dead_letters: int
    """Open ones."""
    last_hour: Mapping[str, int]
    """Ended attempts of the last hour, by kind."""
    p50_ms: float | None
    """Half of the attempts of the last hour took no longer than this."""
    p95_ms: float | None
    consumers: int
    """Live workers that run this stage."""
    last_tick: datetime | None
    held_back: str | None
    """Why it claims less or nothing because of what waits behind it."""
    troubles: tuple[Trouble, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in sentences; nothing is wrong when empty."""
        return tuple(each.sentence for each in self.troubles)


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
    control = await session.get(StageControl, stage.name)
    pace = changed_pace(stage.paced(settings), control.pace if control else None)
    now = await session.scalar(select(func.now()))
    assert now is not None
    queued, due, oldest, next_due_at = await _waiting(session, stage)
    places = settings.host_concurrency
    ready = await session.scalar(select(claims_of(stage).ready_seconds(places)))
    in_flight, overdue = await _held(session, stage, settings)
    dead = await count_open_letters(session, stage)
    counts = await count_rows(session, stage, queued=queued, in_flight=in_flight)
    p50, p95 = await _durations(session, stage)
    states = [each.stages[stage.name] for each in workers if stage.name in each.stages]
    paused = control is not None and control.paused
    last = _last_tick(states, now)
    since = (now - control.updated_at).total_seconds() if control and paused else None
    return StageReport(
        name=stage.name,
        does=stage.does,
        paused=paused,
        paused_seconds=since,
        pace=pace,
        counts=counts.by_status,
        estimated=counts.estimated,
        queued=queued,
        due=due,
        oldest_due_seconds=oldest,
        oldest_ready_seconds=ready,
        next_due_at=next_due_at,
        in_flight=in_flight,
        overdue=overdue,
        dead_letters=dead,
        last_hour=await _last_hour(session, stage),
        p50_ms=p50,
        p95_ms=p95,
        consumers=sum(ticks(each) for each in states),
        last_tick=last,
        held_back=next((each["held_back"] for each in states if each.get("held_back")), None),
        troubles=troubles_of(Situation(states, due, ready, last, now, since), pace, settings),
    )


async def is_paused(session: AsyncSession, stage: AnyStage) -> bool:
    control = await session.get(StageControl, stage.name)
    return control is not None and control.paused


async def _waiting(
    session: AsyncSession, stage: AnyStage
) -> tuple[int, int, float | None, datetime | None]:
    """Queued, due, the age of the oldest due and the time of the next: one look at the queue's
    own index, however large the table is."""
    claims, due_at = claims_of(stage), stage.queue.due_at
    is_due: ColumnElement[bool] = due_at <= func.now()
    age = extract("epoch", func.now() - func.min(due_at).filter(is_due))
    found = await session.execute(
        select(
            func.count(), func.count().filter(is_due), age, func.min(due_at).filter(~is_due)
        ).where(claims.is_queued(), *claims.only())
    )
    queued, due, oldest, next_due_at = found.one()
    return int(queued), int(due), None if oldest is None else float(oldest), next_due_at


async def _held(session: AsyncSession, stage: AnyStage, settings: Settings) -> tuple[int, int]:
    """In flight, and of those past their timeout: the lease lasts for it and a grace."""
    claims, queue = claims_of(stage), stage.queue
    grace = timedelta(seconds=settings.lease_grace_seconds)
    overdue = or_(
        queue.lease_token.is_(None),
        queue.lease_expires_at.is_(None),
        queue.lease_expires_at < func.now() + grace,
    )
    counted = select(func.count(), func.count().filter(overdue))
    found = await session.execute(counted.where(claims.is_processing(), *claims.only()))
    in_flight, late = found.one()
    return int(in_flight), int(late)


async def _last_hour(session: AsyncSession, stage: AnyStage) -> dict[str, int]:
    found = await session.execute(
        select(StageEvent.kind, func.sum(StageEvent.rows))
        .where(StageEvent.stage == stage.name, StageEvent.at > func.now() - RATE_WINDOW)
        .group_by(StageEvent.kind)
    )
    return {word: int(count) for word, count in found}


async def _durations(session: AsyncSession, stage: AnyStage) -> tuple[float | None, float | None]:
    """The median and the 95th percentile, in milliseconds."""
    lately = (
        select(StageEvent.durations_ms)
        .where(
            StageEvent.stage == stage.name,
            StageEvent.at > func.now() - RATE_WINDOW,
            StageEvent.kind.in_(WORKED),
        )
        .order_by(StageEvent.at.desc())
        .limit(EVENTS_LOOKED_AT)
        .subquery()
    )
    each = select(func.unnest(lately.c.durations_ms).label("ms")).subquery()
    parts = [func.percentile_cont(part).within_group(each.c.ms) for part in (0.5, 0.95)]
    p50, p95 = (await session.execute(select(*parts))).one()
    return p50, p95


def _last_tick(states: Sequence[Mapping[str, Any]], now: datetime) -> datetime | None:
    known = [each["last_tick"] for each in states if each.get("last_tick")]
    return datetime.fromtimestamp(max(known), tz=now.tzinfo) if known else None
