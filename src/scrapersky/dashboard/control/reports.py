"""The reports of all stages in a handful of queries, however many stages there are.

They say what `pipeline.report.report_stages` says, which asks several times for each stage: pages
that are looked at all day ask every second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.control.queue_figures import QueueFigures, queue_figures
from scrapersky.dashboard.control.rates import Durations, durations, last_hours
from scrapersky.dashboard.control.row_counts import count_all_rows
from scrapersky.pipeline.counting import Counts
from scrapersky.pipeline.flow import changed_pace
from scrapersky.pipeline.report import StageReport, live_workers
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import StageControl, Worker
from scrapersky.pipeline.troubles import Situation, ticks, troubles_of
from scrapersky.settings import Settings


@dataclass(frozen=True)
class Standing:
    """All stages at one moment: what is judged, and who is there."""

    settings: Settings
    workers: Sequence[Worker]
    """Those alive."""
    controls: Mapping[str, StageControl]
    figures: Mapping[str, QueueFigures]
    counts: Mapping[str, Counts] = field(default_factory=dict)
    last_hours: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    durations: Mapping[str, Durations] = field(default_factory=dict)

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
    return Standing(
        settings,
        brief.workers,
        brief.controls,
        brief.figures,
        await count_all_rows(session, stages, brief.figures),
        await last_hours(session, stages),
        await durations(session, stages),
    )


async def report_together(
    session: AsyncSession, stages: Sequence[AnyStage], settings: Settings
) -> list[StageReport]:
    found = await full_standing(session, stages, settings)
    return [found.report(each) for each in stages]


async def _controls(session: AsyncSession, stages: Sequence[AnyStage]) -> dict[str, StageControl]:
    names = [each.name for each in stages]
    found = await session.scalars(select(StageControl).where(StageControl.stage.in_(names)))
    return {each.stage: each for each in found}
