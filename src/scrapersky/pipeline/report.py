"""How the stages are doing: depths, ages, who consumes them, and whether that is healthy.

All stages are asked together, in a handful of queries however many there are: pages that are looked
at all day ask every second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.pipeline.counting import Counts, count_rows
from scrapersky.pipeline.flow import changed_pace
from scrapersky.pipeline.queue_figures import QueueFigures, queue_figures
from scrapersky.pipeline.rates import Durations, durations, last_hours
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import StageControl, Worker
from scrapersky.pipeline.troubles import Situation, Trouble, ticks, troubles_of
from scrapersky.settings import Pace, Settings


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


@dataclass(frozen=True)
class Standing:
    """All stages at one moment: what is judged, and who is there."""

    stages: Sequence[AnyStage]
    settings: Settings
    workers: Sequence[Worker]
    """Those alive."""
    controls: Mapping[str, StageControl]
    figures: Mapping[str, QueueFigures]
    counts: Mapping[str, Counts] = field(default_factory=dict)
    last_hours: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    durations: Mapping[str, Durations] = field(default_factory=dict)

    @property
    def now(self) -> datetime:
        return next(iter(self.figures.values())).now

    @property
    def reports(self) -> list[StageReport]:
        return [self.report(each) for each in self.stages]

    def report(self, stage: AnyStage) -> StageReport:
        figures, control = self.figures[stage.name], self.controls.get(stage.name)
        pace = changed_pace(stage.paced(self.settings), control.pace if control else None)
        states = [each.stages[stage.name] for each in self.workers if stage.name in each.stages]
        last, since = _last_tick(states, figures.now), _paused_for(control, figures.now)
        situation = Situation(
            states, figures.due, figures.oldest_ready_seconds, last, figures.now, since
        )
        counts = self.counts.get(stage.name, Counts({}))
        p50, p95 = self.durations.get(stage.name, (None, None))
        return StageReport(
            name=stage.name,
            does=stage.does,
            paused=since is not None,
            paused_seconds=since,
            pace=pace,
            counts=counts.by_status,
            estimated=counts.estimated,
            queued=figures.queued,
            due=figures.due,
            oldest_due_seconds=figures.oldest_due_seconds,
            oldest_ready_seconds=figures.oldest_ready_seconds,
            next_due_at=figures.next_due_at,
            in_flight=figures.in_flight,
            overdue=figures.overdue,
            dead_letters=figures.dead_letters,
            last_hour=self.last_hours.get(stage.name, {}),
            p50_ms=p50,
            p95_ms=p95,
            consumers=sum(ticks(each) for each in states),
            last_tick=last,
            held_back=next((each["held_back"] for each in states if each.get("held_back")), None),
            troubles=troubles_of(situation, pace, self.settings),
        )


def _last_tick(states: Sequence[Mapping[str, Any]], now: datetime) -> datetime | None:
    known = [each["last_tick"] for each in states if each.get("last_tick")]
    return datetime.fromtimestamp(max(known), tz=now.tzinfo) if known else None


def _paused_for(control: StageControl | None, now: datetime) -> float | None:
    return (now - control.updated_at).total_seconds() if control and control.paused else None


async def standing(
    session: AsyncSession, stages: Sequence[AnyStage], settings: Settings
) -> Standing:
    """What health is judged by, in three queries; the reports lack counts and rates."""
    return Standing(
        stages,
        settings,
        await live_workers(session, settings),
        await _controls(session, stages),
        await queue_figures(session, stages, settings),
    )


async def full_standing(
    session: AsyncSession, stages: Sequence[AnyStage], settings: Settings
) -> Standing:
    """In six queries; eight when a table is so large that it is not counted."""
    brief = await standing(session, stages, settings)
    return replace(
        brief,
        counts=await count_rows(session, stages, brief.figures),
        last_hours=await last_hours(session, stages),
        durations=await durations(session, stages),
    )


async def report_stages(
    session: AsyncSession, stages: Sequence[AnyStage], settings: Settings
) -> list[StageReport]:
    return (await full_standing(session, stages, settings)).reports


async def report_stage(session: AsyncSession, stage: AnyStage, settings: Settings) -> StageReport:
    (report,) = await report_stages(session, [stage], settings)
    return report


async def live_workers(session: AsyncSession, settings: Settings) -> Sequence[Worker]:
    silent = func.now() - timedelta(seconds=settings.worker_dead_after_seconds)
    found = await session.scalars(
        select(Worker).where(Worker.beat_at > silent).order_by(Worker.started_at)
    )
    return found.all()


async def _controls(session: AsyncSession, stages: Sequence[AnyStage]) -> dict[str, StageControl]:
    names = [each.name for each in stages]
    found = await session.scalars(select(StageControl).where(StageControl.stage.in_(names)))
    return {each.stage: each for each in found}
