"""Load the status of all stages: depths, ages, consumers and health.

All stages are queried together in a few statements, however many there are, because dashboards poll
this every second.
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
    """The status of one stage."""

    name: str
    does: str
    workflow: str | None
    paused: bool
    paused_seconds: float | None
    """For how long it has been paused; None if it is not."""
    note: str | None
    """The note given when it was paused."""
    pace: Pace
    counts: Mapping[str, int]
    """Rows by status."""
    estimated: tuple[str, ...]
    """Statuses of large tables whose count is an estimate."""
    queued: int
    due: int
    """Queued rows whose due time has passed."""
    oldest_due_seconds: float | None
    """How long the oldest due row has been due."""
    oldest_ready_seconds: float | None
    """The same, for rows that are claimable: their host is ready and has a free place."""
    next_due_at: datetime | None
    """When the next queued row that is not due yet becomes due."""
    in_flight: int
    """Rows in processing."""
    overdue: int
    """Rows in processing past the stage's timeout or without a lease. They should have ended."""
    stuck: int
    """Rows in processing past their lease or of a dead worker. They wait for a rescue."""
    dead_letters: int
    """Open dead letters."""
    last_hour: Mapping[str, int]
    """Attempts that ended in the last hour, by kind."""
    p50_ms: float | None
    """Median duration of the attempts of the last hour."""
    p95_ms: float | None
    consumers: int
    """Live workers that run this stage."""
    last_tick: datetime | None
    failing: bool
    """Whether the last run failed in any process."""
    held_back: str | None
    """Why backpressure from downstream stages makes it claim less or nothing."""
    troubles: tuple[HealthIssue, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """The issues as sentences; empty if the stage is healthy."""
        return tuple(each.sentence for each in self.troubles)


@dataclass(frozen=True)
class PipelineStatus:
    """The status of all stages, and of the workers that run them."""

    stages: Sequence[AnyStage]
    settings: Settings
    workers: Sequence[Worker]
    """Live workers."""
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
        """The resources that live workers have recently run out of, as sentences."""
        return [each.sentence for _, each in judge_own_limits(self.workers)]

    @property
    def reports(self) -> list[StageReport]:
        return [self.report(each) for each in self.stages]

    @property
    def troubles(self) -> list[tuple[str, HealthIssue]]:
        """All issues, each with its subject: stage, chore, table or worker."""
        of_stages = [(each.name, trouble) for each in self.reports for trouble in each.troubles]
        return [*of_stages, *self.other_troubles]

    @property
    def other_troubles(self) -> list[tuple[str, HealthIssue]]:
        """Issues that do not belong to a single stage."""
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
    """Load what health checks need, in five queries.

    The reports lack counts and rates, and no queue is counted further than `MAX_COUNTED`. `stages`
    must contain all stages, because rows that none of them handles are reported.
    """
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
    """Load the status with counts and rates, in eight queries.

    Two more are needed if a table is too large to count, and one more if a queue is longer than
    `load_status` counts, because queues are counted exactly here.
    """
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
    """Report the given stages in six queries."""
    brief = await _load_brief_status(session, stages, settings)
    return (await _add_counts(session, brief)).reports


async def report_stage(session: AsyncSession, stage: AnyStage, settings: Settings) -> StageReport:
    (report,) = await report_stages(session, [stage], settings)
    return report


async def list_live_workers(session: AsyncSession, settings: Settings) -> Sequence[Worker]:
    dead_after = timedelta(seconds=settings.worker_dead_after_seconds)
    rows = await session.scalars(
        select(Worker).where(is_alive(dead_after)).order_by(Worker.started_at)
    )
    return rows.all()


async def _load_controls(
    session: AsyncSession, stages: Sequence[AnyStage]
) -> dict[str, StageControl]:
    names = [each.name for each in stages]
    rows = await session.scalars(select(StageControl).where(StageControl.stage.in_(names)))
    return {each.stage: each for each in rows}
