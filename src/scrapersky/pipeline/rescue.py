"""Requeue rows whose worker died or whose lease expired.

Any live worker rescues the rows of any other. Several may do so concurrently: SKIP LOCKED gives
each of them different rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from datetime import timedelta
from time import monotonic
from typing import Any
from uuid import UUID

from sqlalchemy import Select

from scrapersky.db.base import Base
from scrapersky.db.session import Database
from scrapersky.errors import DatabaseUnavailable
from scrapersky.logging import get_logger
from scrapersky.pipeline.claims import QueueStatements, get_statements
from scrapersky.pipeline.hosts import free_lost_slots, reset_future_slots
from scrapersky.pipeline.loop import StageRunner
from scrapersky.pipeline.outcome import (
    AttemptOutcome,
    RetryPolicy,
    WorkerDied,
    build_outage_outcome,
    build_rescue_outcome,
)
from scrapersky.pipeline.queue import Claim
from scrapersky.pipeline.settle import record_events, write_dead_letters
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import EventKind
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.pipeline.workers import (
    WorkerIdentity,
    reap_local_dead_workers,
    reset_future_beats,
)
from scrapersky.settings import Settings

BATCH_ROWS = 100
RESCUE_DEADLINE_SECONDS = 30.0
OutcomeBuilder = Callable[[Claim, UUID | None, RetryPolicy], AttemptOutcome]
"""Builds the outcome of a lost row from its claim and the id of the worker that held it."""

log = get_logger(__name__)


class Rescuer:
    """Finds and requeues rows that no worker is working.

    A worker is considered dead when its heartbeat is missing. A process that lost contact with the
    database itself cannot judge that: while the database was away, no worker could record a
    heartbeat, and all of them would look dead. After a gap in its own heartbeats the rescuer
    therefore waits until the others have had time to record theirs.
    """

    def __init__(
        self,
        database: Database,
        settings: Settings,
        stages: list[AnyStage],
        worker: WorkerIdentity,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._database = database
        self._worker = worker
        self._clock = clock
        beat = settings.worker_beat_seconds
        self._time_to_speak = 2 * beat
        self._longest_gap = max(1.5 * beat, settings.worker_dead_after_seconds - 2 * beat)
        self._last_beat: float | None = None
        self._judges_from = 0.0
        self.totals: defaultdict[str, Counter[EventKind]] = defaultdict(Counter)
        """Outcomes of rescued rows by stage, since the process started."""
        self._dead_after = timedelta(seconds=settings.worker_dead_after_seconds)
        self._queues = [
            (
                get_statements(each),
                RetryPolicy.from_settings(settings, each.get_pace(settings).max_attempts),
            )
            for each in stages
        ]

    def note_beat(self) -> None:
        """Record that this process has just written its own heartbeat."""
        if self._has_missed_beats():
            self._judges_from = self._clock() + self._time_to_speak
        self._last_beat = self._clock()

    def _has_missed_beats(self) -> bool:
        beat = self._last_beat
        return beat is not None and self._clock() - beat > self._longest_gap

    async def rescue(self) -> int:
        """Requeue all rows that are currently lost, and return their number.

        A dead process on the same machine is detected immediately. Returns 0 while this process
        cannot judge others.
        """
        if self._has_missed_beats() or self._clock() < self._judges_from:
            return 0
        async with self._database.bounded_transaction(RESCUE_DEADLINE_SECONDS) as session:
            # The order matters. Timestamps from before a clock step are repaired before anything is
            # judged by them, and dead local workers are deleted before their host slots are freed.
            await reset_future_beats(session, dead_after=self._dead_after)
            await reap_local_dead_workers(session)
            await reset_future_slots(session, dead_after=self._dead_after)
            await free_lost_slots(session, dead_after=self._dead_after)
        return await self._rescue_every_stage()

    async def _rescue_every_stage(self) -> int:
        """Rescue the rows of every stage.

        A failure in one stage does not stop the others. The first error is raised at the end, so
        that the chore counts as failed.
        """
        total, errors = 0, list[Exception]()
        for claims, rule in self._queues:
            lost = {"dead_after": self._dead_after}
            try:
                total += await self._rescue(claims, rule, claims.lost, lost, _build_lost_outcome)
            except Exception as error:
                errors.append(error)
                log.warning("rescue failed", stage=claims.stage.name, error=str(error))
        if errors:
            raise errors[0]
        return total

    async def rescue_strays(self, runner: StageRunner) -> int:
        """Requeue rows that carry this worker's id but that it does not hold.

        They appear when the response to a claim, or a whole settlement, was lost in an outage.
        """
        strays = {
            "worker": runner.worker.id,
            "tokens": list(runner.held),
            "seen_by_now": runner.lease - self._dead_after,
            "from_the_future": runner.lease + self._dead_after,
        }
        return await self._rescue(
            runner.claims, runner.rule, runner.claims.strays, strays, _build_stray_outcome
        )

    async def _rescue(
        self,
        claims: QueueStatements,
        rule: RetryPolicy,
        statement: Select[Any],
        parameters: Mapping[str, Any],
        judge: OutcomeBuilder,
    ) -> int:
        total = 0
        while count := await self._rescue_batch(claims, rule, statement, parameters, judge):
            total += count
        if total:
            log.warning("rows rescued", stage=claims.stage.name, rows=total)
        return total

    async def _rescue_batch(
        self,
        claims: QueueStatements,
        rule: RetryPolicy,
        statement: Select[Any],
        parameters: Mapping[str, Any],
        judge: OutcomeBuilder,
    ) -> int:
        """Lock one batch of lost rows, choose their outcomes and write them, in one transaction."""
        stage = claims.stage
        async with self._database.bounded_transaction(RESCUE_DEADLINE_SECONDS) as session:
            found_rows = await session.scalars(statement, {**parameters, "limit": BATCH_ROWS})
            rows: dict[UUID, Base | None] = {row.id: row for row in found_rows}
            if not rows:
                return 0
            outcomes = [
                judge(claims.read_claim(row), claims.queue.of(row).worker_id, rule)
                for row in rows.values()
                if row is not None
            ]
            changes = [each.change(stage.words) for each in outcomes]
            # The statement needs no fencing: the rows were locked in this transaction. It clears
            # their tokens, so that a worker that is still alive after all is fenced when it tries
            # to store.
            await session.execute(
                claims.resettle,
                claims.parameters(changes),
                execution_options={"synchronize_session": False},
            )
            await write_dead_letters(session, stage, rows, outcomes, self._worker)
            await record_events(session, stage, outcomes, (), self._worker.id)
            self.totals[stage.name].update(each.kind for each in outcomes)
            wake_after_commit(session, stage.name)
            return len(rows)


def _build_lost_outcome(claim: Claim, holder: UUID | None, rule: RetryPolicy) -> AttemptOutcome:
    error = WorkerDied(
        f"Worker {holder} died, stopped sending heartbeats or held the row past its lease."
    )
    return build_rescue_outcome(claim, error, rule)


def _build_stray_outcome(claim: Claim, _holder: UUID | None, _rule: RetryPolicy) -> AttemptOutcome:
    return build_outage_outcome(
        claim,
        DatabaseUnavailable("The database was unavailable while the row was claimed or settled."),
    )
