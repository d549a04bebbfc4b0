"""Load the status of all stages: depths, ages, consumers and health.

All stages are queried together in a few statements, because dashboards poll this every second.


All stages are asked together, in a handful of queries however many there are: pages that are looked
at all day ask every second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.pipeline.chores import list_chore_failures
from scrapersky.pipeline.flow import apply_pace_changes
from scrapersky.pipeline.health import (
    HealthIssue,
    StageSituation,
    find_chore_issues,
    find_stage_issues,
    find_unhandled_issues,
    get_states,
    is_ticking,
    judge_own_limits,
)
from scrapersky.pipeline.queue_stats import (
    QueueStats,
    UnhandledRows,
    count_whole_queues,
    find_unhandled,
    load_queue_stats,
)
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.stats import (
    Durations,
    StatusCounts,
    count_recent_events,
    count_rows,
    measure_durations,
)
from scrapersky.pipeline.tables import ChoreFailure, StageControl, Worker
from scrapersky.pipeline.workers import is_alive
from scrapersky.settings import Pace, Settings


@dataclass(frozen=True)
class StageReport:
    """One stage right now."""

    name: str
    does: str
    workflow: str | None
    paused: bool
    paused_seconds: float | None
    """Since when, if it is."""
    note: str | None
    """Why it is paused, if somebody said."""
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
    stuck: int
    """Of those, rows past their lease or of a dead worker, which nobody will end."""
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
    failing: bool
    """The last run failed, in some process."""
    held_back: str | None
    """Why it claims less or nothing because of what waits behind it."""
    troubles: tuple[HealthIssue, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in sentences; nothing is wrong when empty."""
        return tuple(each.sentence for each in self.troubles)


@dataclass(frozen=True)
class PipelineStatus:
    """All stages at one moment: what is judged, and who is there."""

    stages: Sequence[AnyStage]
    settings: Settings
    workers: Sequence[Worker]
    """Those alive."""
    controls: Mapping[str, StageControl]
    figures: Mapping[str, QueueStats]
    chore_failures: Sequence[ChoreFailure] = ()
    unhandled: Sequence[UnhandledRows] = ()
    counts: Mapping[str, StatusCounts] = field(default_factory=dict)
    last_hours: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    durations: Mapping[str, Durations] = field(default_factory=dict)

    @property
    def now(self) -> datetime:
        return next(iter(self.figures.values())).now

    @property
    def own_limits(self) -> list[str]:
        """What the live workers have run out of lately, each with who says so."""
        return [each.sentence for _, each in judge_own_limits(self.workers)]

    @property
    def reports(self) -> list[StageReport]:
        return [self.report(each) for each in self.stages]

    @property
    def troubles(self) -> list[tuple[str, HealthIssue]]:
        """Everything that is wrong, each with its subject: stage, chore, table or worker."""
        of_stages = [(each.name, trouble) for each in self.reports for trouble in each.troubles]
        return [*of_stages, *self.other_troubles]

    @property
    def other_troubles(self) -> list[tuple[str, HealthIssue]]:
        """Those that are not of one stage."""
        return [
            *find_chore_issues(self.chore_failures),
            *find_unhandled_issues(self.unhandled),
            *judge_own_limits(self.workers),
        ]

    def report(self, stage: AnyStage) -> StageReport:
        figures, control = self.figures[stage.name], self.controls.get(stage.name)
        pace = apply_pace_changes(stage.get_pace(self.settings), control.pace if control else None)
        states = get_states(stage.name, self.workers)
        last, since = (
            _find_last_tick(states, figures.now),
            _get_paused_seconds(control, figures.now),
        )
        situation = StageSituation(
            states=states,
            due=figures.due,
            oldest_ready_seconds=figures.oldest_ready_seconds,
            last_tick=last,
            now=figures.now,
            paused_seconds=since,
            stuck=figures.stuck,
            stuck_seconds=figures.stuck_seconds,
        )
        counts = self.counts.get(stage.name, StatusCounts({}))
        p50, p95 = self.durations.get(stage.name, (None, None))
        return StageReport(
            name=stage.name,
            does=stage.does,
            workflow=stage.workflow,
            paused=since is not None,
            paused_seconds=since,
            note=control.note if control and control.paused else None,
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
            stuck=figures.stuck,
            dead_letters=figures.dead_letters,
            last_hour=self.last_hours.get(stage.name, {}),
            p50_ms=p50,
            p95_ms=p95,
            consumers=sum(is_ticking(each) for each in states),
            last_tick=last,
            failing=any(each.get("error") for each in states),
            held_back=next((each["held_back"] for each in states if each.get("held_back")), None),
            troubles=find_stage_issues(situation, pace, self.settings),
        )


def _find_last_tick(states: Sequence[Mapping[str, Any]], now: datetime) -> datetime | None:
    known = [each["last_tick"] for each in states if each.get("last_tick")]
    return datetime.fromtimestamp(max(known), tz=now.tzinfo) if known else None


def _get_paused_seconds(control: StageControl | None, now: datetime) -> float | None:
    return (now - control.updated_at).total_seconds() if control and control.paused else None


async def load_status(
    session: AsyncSession, stages: Sequence[AnyStage], settings: Settings
) -> PipelineStatus:
    """What health is judged by, in five queries; the reports lack counts and rates, and no queue is
    counted further than `MAX_COUNTED`. `stages` are all there are: rows that none of them takes are
    reported."""
    brief = await _load_brief_status(session, stages, settings)
    return replace(
        brief,
        chore_failures=await list_chore_failures(session),
        unhandled=await find_unhandled(session, stages),
    )


async def _load_brief_status(
    session: AsyncSession, stages: Sequence[AnyStage], settings: Settings
) -> PipelineStatus:
    return PipelineStatus(
        stages,
        settings,
        await list_live_workers(session, settings),
        await _load_controls(session, stages),
        await load_queue_stats(session, stages, settings),
    )


async def load_full_status(
    session: AsyncSession, stages: Sequence[AnyStage], settings: Settings
) -> PipelineStatus:
    """In eight queries; ten when a table is so large that it is not counted, and one more when a
    queue is longer than what `standing` counts, for here queues are counted whole."""
    return await _add_counts(session, await load_status(session, stages, settings))


async def _add_counts(session: AsyncSession, brief: PipelineStatus) -> PipelineStatus:
    stages = brief.stages
    figures = await count_whole_queues(session, stages, brief.figures)
    return replace(
        brief,
        figures=figures,
        counts=await count_rows(session, stages, figures),
        last_hours=await count_recent_events(session, stages),
        durations=await measure_durations(session, stages),
    )


async def report_stages(
    session: AsyncSession, stages: Sequence[AnyStage], settings: Settings
) -> list[StageReport]:
    """Of some stages, or of all, in six queries."""
    brief = await _load_brief_status(session, stages, settings)
    return (await _add_counts(session, brief)).reports


async def report_stage(session: AsyncSession, stage: AnyStage, settings: Settings) -> StageReport:
    (report,) = await report_stages(session, [stage], settings)
    return report


async def list_live_workers(session: AsyncSession, settings: Settings) -> Sequence[Worker]:
    dead_after = timedelta(seconds=settings.worker_dead_after_seconds)
    found = await session.scalars(
        select(Worker).where(is_alive(dead_after)).order_by(Worker.started_at)
    )
    return found.all()


async def _load_controls(
    session: AsyncSession, stages: Sequence[AnyStage]
) -> dict[str, StageControl]:
    names = [each.name for each in stages]
    found = await session.scalars(select(StageControl).where(StageControl.stage.in_(names)))
    return {each.stage: each for each in found}
