"""Collect the finished rows of a stage and settle them in batches, with retries during outages.

Each failure is narrowed down: a failed batch is repeated in careful mode (a savepoint per row), and
a batch that keeps losing its connection is split in halves, down to single rows. One bad row
therefore cannot keep the other rows of its batch from being stored.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import cast

from sqlalchemy.exc import DBAPIError

from scrapersky.db.outages import MAX_ROW_INTERRUPTIONS, is_outage, is_timeout
from scrapersky.db.session import Database
from scrapersky.errors import DatabaseUnavailable, RowInterrupted
from scrapersky.logging import get_logger
from scrapersky.pipeline.claims import QueueStatements
from scrapersky.pipeline.outcome import (
    AttemptOutcome,
    RetryPolicy,
    build_interruption_outcome,
    build_resource_outcome,
    summarize_error,
)
from scrapersky.pipeline.settle import (
    SettleResult,
    has_no_results,
    log_failure,
    settle,
    settle_without_results,
)
from scrapersky.pipeline.tables import EventKind
from scrapersky.pipeline.vitals import ResourceMonitor, find_exhausted_resource
from scrapersky.pipeline.workers import WorkerIdentity

BATCH_ROWS = 100
MAX_PARALLEL_BATCHES = 2
"""Batches settled concurrently. The second task starts only when another full batch is waiting."""
BATCH_WAIT_SECONDS = 0.02
"""How long finished rows wait for others to join their batch."""
OUTAGE_TIMEOUT_SECONDS = 30
"""How long to retry.

A restarting database is back within this time; after it, housekeeping finds the rows as strays.
"""
BATCH_DEADLINE_SECONDS = 60.0
"""Deadline for a whole batch.

A batch that exceeds it is repeated in careful mode, which isolates the row at fault.
"""
SETTLE_DEADLINE_SECONDS = 300.0
"""Deadline for a batch in careful mode, which needs many statements per row."""
LOSSES_TO_SPLIT = MAX_ROW_INTERRUPTIONS
"""Connection losses in a row after which a batch is split in halves, down to single rows.

One of its rows may be what breaks the connection. The others must not fail with it.
"""

log = get_logger(__name__)


class Settler:
    """Collects the finished rows of one stage and settles them in batches."""

    def __init__(
        self,
        database: Database,
        claims: QueueStatements,
        *,
        rule: RetryPolicy,
        worker: WorkerIdentity,
        own_limits: ResourceMonitor | None = None,
    ) -> None:
        self._database = database
        self._claims = claims
        self._rule = rule
        self._worker = worker
        self._own_limits = own_limits or ResourceMonitor()
        self._waiting: list[tuple[AttemptOutcome, asyncio.Future[EventKind]]] = []
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.under_way = 0
        """Rows in progress. When all of them are queued here, a batch need not wait any longer."""
        self.totals: Counter[EventKind] = Counter()
        self.last_error: str | None = None
        """Why the last batch could not be stored; None if it was."""

    def put(self, outcome: AttemptOutcome) -> asyncio.Future[EventKind]:
        """Queue an outcome.

        The future resolves to the final kind of the outcome once the row is settled.
        """
        settled: asyncio.Future[EventKind] = asyncio.get_running_loop().create_future()
        self._waiting.append((outcome, settled))
        self._changed.set()
        if not self._tasks or (
            len(self._waiting) >= BATCH_ROWS and len(self._tasks) < MAX_PARALLEL_BATCHES
        ):
            # Start with an empty context. The task settles rows other than the one that starts it,
            # and must not log under that row's ids.
            task = asyncio.create_task(
                self._settle_all(), name="settler", context=contextvars.Context()
            )
            self._tasks.add(task)
        return settled

    async def idle(self) -> None:
        """Wait until all queued outcomes have been settled."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _settle_all(self) -> None:
        try:
            while self._waiting:
                await self._wait_for_batch()
                batch, self._waiting = self._waiting[:BATCH_ROWS], self._waiting[BATCH_ROWS:]
                if batch:
                    await self._settle_batch(batch)
        finally:
            # Remove the task here, not in a done callback. A callback runs in a later iteration of
            # the event loop. `put` could be called in between: it would see a task, start no other,
            # and the outcome would wait for a task that has already ended.
            self._tasks.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _wait_for_batch(self) -> None:
        until = monotonic() + BATCH_WAIT_SECONDS
        # Wait only while further rows can still join the batch. When every row in progress is
        # already waiting, a longer wait would only add latency.
        while len(self._waiting) < min(BATCH_ROWS, self.under_way):
            self._changed.clear()
            try:
                async with asyncio.timeout(until - monotonic()):
                    await self._changed.wait()
            except TimeoutError:
                return

    async def _settle_batch(
        self, batch: Sequence[tuple[AttemptOutcome, asyncio.Future[EventKind]]]
    ) -> None:
        outcomes = [outcome for outcome, _ in batch]
        try:
            settlement = await self._settle_with_retry(outcomes)
            self.last_error = None
        except Exception as error:
            self.last_error = summarize_error(self._own_limits.note(error) or error)
            settlement = await self._hand_back(outcomes, error)
        kinds = {each.claim.row_id: each.kind for each in settlement.written}
        for outcome, settled in batch:
            kind = kinds.get(outcome.claim.row_id, EventKind.FENCED)
            self.totals[kind] += 1
            if not settled.done():
                settled.set_result(kind)

    async def _settle_with_retry(
        self,
        outcomes: Sequence[AttemptOutcome],
        give_up_at: float | None = None,
        *,
        careful: bool = False,
    ) -> SettleResult:
        """Settle a batch, and retry through a restart of the database.

        A batch may have been committed although its response was lost. The repetition then finds
        all its claims gone and reports the rows as fenced, which is harmless: they are settled.

        A batch that takes too long is repeated in careful mode, so that only the row at fault
        waits. If careful mode takes too long as well, or the connection keeps breaking, the batch
        is split.
        """
        give_up_at = give_up_at or monotonic() + OUTAGE_TIMEOUT_SECONDS
        pause = 0.05
        losses = 0
        while True:
            try:
                return await self._settle_once(outcomes, careful=careful)
            except Exception as error:
                if not is_outage(error):
                    if careful:
                        raise
                    careful = True
                    continue
                took_too_long = is_timeout(error)
                # A timeout may be caused by a single row. In careful mode the server cancels that
                # row's statement, and the rest of the batch is stored.
                if took_too_long and not careful:
                    careful = True
                    continue
                # Only losses that the batch itself may have caused count. A server that is down
                # refuses connections, and splitting the batch would not help.
                losses += isinstance(error, RowInterrupted) or _is_connection_lost(error)
                if len(outcomes) > 1 and (losses >= LOSSES_TO_SPLIT or took_too_long):
                    return await self._settle_in_halves(outcomes, give_up_at, careful=careful)
                if losses >= LOSSES_TO_SPLIT and isinstance(error, RowInterrupted):
                    return await self._settle_interrupted(outcomes[0], error)
                if monotonic() > give_up_at:
                    raise
                await asyncio.sleep(pause)
                pause = min(pause * 2, 2)

    async def _settle_interrupted(
        self, outcome: AttemptOutcome, error: RowInterrupted
    ) -> SettleResult:
        """Requeue a row whose store kept being interrupted even when settled alone."""
        interrupted = build_interruption_outcome(outcome.claim, error)
        log_failure(self._claims.stage, interrupted, error)
        return await self._settle_with_retry([interrupted])

    async def _settle_in_halves(
        self, outcomes: Sequence[AttemptOutcome], give_up_at: float, *, careful: bool
    ) -> SettleResult:
        middle = len(outcomes) // 2
        settlements = []
        for half in (outcomes[:middle], outcomes[middle:]):
            try:
                settlement = await self._settle_with_retry(half, give_up_at, careful=careful)
            except Exception as error:
                self._own_limits.note(error)
                settlement = await self._hand_back(half, error)
            settlements.append(settlement)
        written, fenced = zip(*((each.written, each.fenced) for each in settlements), strict=True)
        return SettleResult(sum(written, ()), sum(fenced, ()))

    async def _hand_back(
        self, outcomes: Sequence[AttemptOutcome], error: Exception
    ) -> SettleResult:
        """Abandon these results.

        Rows that hit one of this process's own resource limits are requeued immediately if that
        much can be written. It usually needs neither a pooled connection nor new disk space. All
        other rows are later found as strays by housekeeping. Neither counts against the row.
        """
        self._log_unsettled(outcomes)
        if limit := find_exhausted_resource(error):
            handed_back = [build_resource_outcome(each.claim, limit) for each in outcomes]
            with suppress(Exception):
                return await settle_without_results(
                    self._database, self._claims, handed_back, self._worker
                )
        return SettleResult((), tuple(outcomes))

    def _log_unsettled(self, outcomes: Sequence[AttemptOutcome]) -> None:
        log.exception(
            "batch not settled; its rows will be rescued and processed again",
            stage=self._claims.stage.name,
            rows=len(outcomes),
        )

    async def _settle_once(
        self, outcomes: Sequence[AttemptOutcome], *, careful: bool
    ) -> SettleResult:
        if has_no_results(self._claims.stage, outcomes):
            return await settle_without_results(
                self._database, self._claims, outcomes, self._worker
            )
        seconds = SETTLE_DEADLINE_SECONDS if careful else BATCH_DEADLINE_SECONDS
        async with self._database.bounded_transaction(seconds) as session:
            return await settle(
                session,
                self._claims,
                outcomes,
                rule=self._rule,
                worker=self._worker,
                careful=careful,
            )


def _is_connection_lost(error: BaseException) -> bool:
    """Return whether the server closed an established connection.

    A crashing backend does this. A server that cannot be reached says nothing about the statement.
    """
    cause = error.__cause__ if isinstance(error, DatabaseUnavailable) else error
    return isinstance(cause, DBAPIError) and cause.connection_invalidated
