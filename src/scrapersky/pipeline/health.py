"""Evaluate stages, chores and queues for probes, alerts, metrics, the dashboard and `doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from scrapersky.pipeline.queue_stats import MAX_UNHANDLED_COUNTED, UnhandledRows, describe_count
from scrapersky.pipeline.tables import ChoreFailure, Worker
from scrapersky.settings import Pace, Settings

TICK_GRACE_SECONDS = 60.0
RESCUE_GRACE_SECONDS = 30.0
"""Live workers rescue lost rows with every heartbeat. Only rows left for longer are an issue."""


class HealthIssueKind(StrEnum):
    NOT_REGISTERED = "stage_not_registered"
    RUN_FAILING = "stage_run_failing"
    NO_CONSUMER = "stage_without_consumer"
    STUCK_ROWS = "rows_stuck"
    OLDEST_DUE = "oldest_due_too_old"
    NOT_TICKING = "stage_not_ticking"
    PAUSED_LONG = "stage_paused_long"
    CHORE_FAILING = "chore_failing"
    UNHANDLED_ROWS = "rows_unhandled"
    OWN_LIMIT = "own_limit_reached"


@dataclass(frozen=True)
class HealthIssue:
    kind: HealthIssueKind
    sentence: str


@dataclass(frozen=True)
class StageSituation:
    """The state of a stage at one moment, as input of the checks."""

    states: Sequence[Mapping[str, Any]]
    """The stage state that each live worker reports, with the worker's name."""
    due: int
    oldest_ready_seconds: float | None
    """How long the oldest claimable row has waited. Rows that wait for their host do not count."""
    last_tick: datetime | None
    now: datetime
    paused_seconds: float | None
    stuck: int = 0
    """Rows in processing whose lease has expired or whose worker is dead."""
    stuck_seconds: float | None = None
    """For how long the first of them has been stuck, if it can be determined."""

    @property
    def has_consumer(self) -> bool:
        return any(is_ticking(each) for each in self.states)


def get_states(stage: str, workers: Sequence[Worker]) -> list[dict[str, Any]]:
    """Return the stage state that each of these workers reports, with the worker's name."""
    return [
        {**each.stages[stage], "worker": f"{each.hostname}:{each.pid}"}
        for each in workers
        if stage in each.stages
    ]


def is_ticking(state: Mapping[str, Any]) -> bool:
    """Return whether the worker consumes the stage.

    A process that works a single row on request holds the stage without consuming it. So does one
    that failed to register it.
    """
    return state.get("last_tick") is not None and "failed" not in state


def find_stage_issues(
    situation: StageSituation, pace: Pace, settings: Settings
) -> tuple[HealthIssue, ...]:
    """Return the stage's issues, in the order in which an operator should address them."""
    return (
        *_check_registration(situation),
        *_check_runs(situation),
        *_check_consumers(situation),
        *_check_stuck_rows(situation, settings.worker_beat_seconds),
        *_check_oldest_due(situation, settings.queue_oldest_due_limit_seconds),
        *_check_ticks(situation, pace, settings.alert_ticks_missed),
        *_check_pause(situation, settings.alert_paused_seconds),
    )


def _check_registration(situation: StageSituation) -> Iterator[HealthIssue]:
    for each in situation.states:
        if "failed" in each:
            sentence = f"It could not be registered: {each['failed']}"
            yield HealthIssue(HealthIssueKind.NOT_REGISTERED, sentence)


def _check_runs(situation: StageSituation) -> Iterator[HealthIssue]:
    failing = [each for each in situation.states if each.get("error")]
    if failing:
        first, more = failing[0], len(failing) - 1
        others = f" (and {more} more)" if more else ""
        sentence = f"The last run failed on {first['worker']}{others}: {first['error']}"
        yield HealthIssue(HealthIssueKind.RUN_FAILING, sentence)


def _check_consumers(situation: StageSituation) -> Iterator[HealthIssue]:
    if situation.due and not situation.has_consumer:
        due = describe_count(situation.due)
        sentence = f"Rows are due ({due}) and no consumer runs this stage."
        yield HealthIssue(HealthIssueKind.NO_CONSUMER, sentence)


def _check_stuck_rows(situation: StageSituation, beat_seconds: float) -> Iterator[HealthIssue]:
    """Report stuck rows.

    Immediately if no worker can rescue them, otherwise after the time that a rescue may take.
    """
    if not situation.stuck:
        return
    rows = "1 row is" if situation.stuck == 1 else f"{situation.stuck:,} rows are"
    stuck = f"{rows} stuck in processing: the worker is dead or the lease has expired"
    if not situation.has_consumer:
        sentence = (
            f"{stuck}, and no worker is running to rescue them. Start one with `scrapersky worker`."
        )
        yield HealthIssue(HealthIssueKind.STUCK_ROWS, sentence)
    elif (situation.stuck_seconds or 0) > max(RESCUE_GRACE_SECONDS, 3 * beat_seconds):
        sentence = (
            f"{stuck} for {situation.stuck_seconds:.0f} seconds, and no worker has rescued them. "
            "Look for rescue_lost_leases in the log."
        )
        yield HealthIssue(HealthIssueKind.STUCK_ROWS, sentence)


def _check_oldest_due(situation: StageSituation, limit: float) -> Iterator[HealthIssue]:
    oldest = situation.oldest_ready_seconds
    if oldest is not None and oldest > limit:
        sentence = (
            f"The oldest claimable row has waited for {oldest:.0f} seconds. The limit is "
            f"{limit:.0f}."
        )
        yield HealthIssue(HealthIssueKind.OLDEST_DUE, sentence)


def _check_ticks(situation: StageSituation, pace: Pace, missed: int) -> Iterator[HealthIssue]:
    last = situation.last_tick
    limit = missed * pace.interval_minutes * 60 + TICK_GRACE_SECONDS
    if last is not None and (situation.now - last).total_seconds() > limit:
        sentence = f"No consumer has ticked since {last:%Y-%m-%d %H:%M:%S} UTC."
        yield HealthIssue(HealthIssueKind.NOT_TICKING, sentence)


def _check_pause(situation: StageSituation, limit: float) -> Iterator[HealthIssue]:
    paused = situation.paused_seconds
    if situation.due and paused is not None and paused > limit:
        due = describe_count(situation.due)
        sentence = f"It has been paused for {paused / 60:.0f} minutes while {due} rows are due."
        yield HealthIssue(HealthIssueKind.PAUSED_LONG, sentence)


def find_chore_issues(failures: Sequence[ChoreFailure]) -> Iterator[tuple[str, HealthIssue]]:
    """Yield the name and the issue of each chore whose last run failed."""
    for each in failures:
        times = "" if each.failures == 1 else f", {each.failures:,} times in a row"
        sentence = f"The last run of {each.name} failed{times}: {each.error}"
        yield each.name, HealthIssue(HealthIssueKind.CHORE_FAILING, sentence)


def find_unhandled_issues(rowses: Sequence[UnhandledRows]) -> Iterator[tuple[str, HealthIssue]]:
    """Yield one issue per table with queued rows that no stage handles."""
    for table in sorted({each.table for each in rowses}):
        ours = [each for each in rowses if each.table == table]
        listed = ", ".join(
            f"{each.value!r} ({_format_unhandled_count(each.rows)})" for each in ours
        )
        sentence = (
            f"Queued {table} with a {ours[0].column} that no stage handles: {listed}. "
            f"They are never processed. Correct their {ours[0].column} or cancel them."
        )
        yield table, HealthIssue(HealthIssueKind.UNHANDLED_ROWS, sentence)


def judge_own_limits(workers: Sequence[Worker]) -> Iterator[tuple[str, HealthIssue]]:
    """Yield one issue per worker that has recently run out of a resource."""
    for each in workers:
        if reached := each.vitals.get("own_limits"):
            name = f"{each.hostname}:{each.pid}"
            yield (
                name,
                HealthIssue(HealthIssueKind.OWN_LIMIT, f"{name}: {' '.join(reached.values())}"),
            )


def _format_unhandled_count(count: int) -> str:
    most = MAX_UNHANDLED_COUNTED
    return f"{count:,}" if count <= most else f"more than {most:,}"
