"""Collect the finished rows of a stage and settle them together, through outages."""

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
    outcome_of_interruption,
    outcome_of_own_limit,
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
SETTLERS = 2
"""Batches on their way at once; the second begins only when another whole batch waits."""
BATCH_SECONDS = 0.02
"""Finished rows wait this long for company before they are stored."""
DATABASE_PATIENCE_SECONDS = 30
"""A database that restarts is back within this; after that the heartbeat finds the row astray."""
BATCH_DEADLINE_SECONDS = 60.0
"""For a whole batch. One that takes longer is settled carefully, which finds the row at fault."""
SETTLE_DEADLINE_SECONDS = 300.0
"""For a batch that is settled carefully, with many statements for each row."""
LOSSES_TO_SPLIT = MAX_ROW_INTERRUPTIONS
"""A batch that lost its connection this often in a row is settled in halves, down to single rows:
one of them may be what breaks the connection, and the others are not to end with it."""

log = get_logger(__name__)


class Settler:
    """Collects the finished rows of one stage and settles them together."""

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
        """Rows being worked; when all of them are waiting here, nobody else will come."""
        self.totals: Counter[EventKind] = Counter()
        self.last_error: str | None = None
        """Why the last batch could not be stored; None when it was."""

    def put(self, outcome: AttemptOutcome) -> asyncio.Future[EventKind]:
        """Done when the row is settled; says what it came to."""
        settled: asyncio.Future[EventKind] = asyncio.get_running_loop().create_future()
        self._waiting.append((outcome, settled))
        self._changed.set()
        if not self._tasks or (len(self._waiting) >= BATCH_ROWS and len(self._tasks) < SETTLERS):
            # In a context of its own: it settles other rows than the one that started it.
            task = asyncio.create_task(
                self._settle_all(), name="settler", context=contextvars.Context()
            )
            self._tasks.add(task)
        return settled

    async def idle(self) -> None:
        """Wait until everything put in has been settled."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _settle_all(self) -> None:
        try:
            while self._waiting:
                await self._gather_company()
                batch, self._waiting = self._waiting[:BATCH_ROWS], self._waiting[BATCH_ROWS:]
                if batch:
                    await self._settle_batch(batch)
        finally:
            # At once, and not when the loop comes to it: what is put in meanwhile would wait for
            # somebody who has left.
            self._tasks.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _gather_company(self) -> None:
        until = monotonic() + BATCH_SECONDS
        while len(self._waiting) < min(BATCH_ROWS, self.under_way):
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), until - monotonic())
            except TimeoutError:
                return

    async def _settle_batch(
        self, batch: Sequence[tuple[AttemptOutcome, asyncio.Future[EventKind]]]
    ) -> None:
        outcomes = [outcome for outcome, _ in batch]
        try:
            settlement = await self._settle_patiently(outcomes)
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

    async def _settle_patiently(
        self,
        outcomes: Sequence[AttemptOutcome],
        give_up_at: float | None = None,
        *,
        careful: bool = False,
    ) -> SettleResult:
        """Through a restart of the database. A batch that was committed although we did not hear
        of it is fenced the second time, which is the truth: it is settled.

        A batch that takes too long is settled carefully, so that only the row at fault waits; if
        that takes too long as well, or the connection is lost again and again, it is split.
        """
        give_up_at = give_up_at or monotonic() + DATABASE_PATIENCE_SECONDS
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
                if took_too_long and not careful:
                    careful = True
                    continue
                losses += isinstance(error, RowInterrupted) or _lost_its_connection(error)
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
        """Requeue a row whose store was interrupted again and again with no other row beside it."""
        interrupted = outcome_of_interruption(outcome.claim, error)
        log_failure(self._claims.stage, interrupted, error)
        return await self._settle_patiently([interrupted])

    async def _settle_in_halves(
        self, outcomes: Sequence[AttemptOutcome], give_up_at: float, *, careful: bool
    ) -> SettleResult:
        middle = len(outcomes) // 2
        settlements = []
        for half in (outcomes[:middle], outcomes[middle:]):
            try:
                settlement = await self._settle_patiently(half, give_up_at, careful=careful)
            except Exception as error:
                self._own_limits.note(error)
                settlement = await self._hand_back(half, error)
            settlements.append(settlement)
        written, fenced = zip(*((each.written, each.fenced) for each in settlements), strict=True)
        return SettleResult(sum(written, ()), sum(fenced, ()))

    async def _hand_back(
        self, outcomes: Sequence[AttemptOutcome], error: Exception
    ) -> SettleResult:
        """Give up storing these results. What met a limit of ours is handed back at once if that
        much can be written; it needs neither a connection of the pool nor new disk space, mostly.
        All other rows are found as strays, which does not count against them either."""
        self._log_unsettled(outcomes)
        if limit := find_exhausted_resource(error):
            handed_back = [outcome_of_own_limit(each.claim, limit) for each in outcomes]
            with suppress(Exception):
                return await settle_without_results(
                    self._database, self._claims, handed_back, self._worker
                )
        return SettleResult((), tuple(outcomes))

    def _log_unsettled(self, outcomes: Sequence[AttemptOutcome]) -> None:
        log.exception(
            "could not settle; the rows will be rescued and worked again",
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


def _lost_its_connection(error: BaseException) -> bool:
    """Whether there was a connection and the server closed it, as a crashed backend does; a
    server that cannot be reached says nothing about what it was asked."""
    cause = error.__cause__ if isinstance(error, DatabaseUnavailable) else error
    return isinstance(cause, DBAPIError) and cause.connection_invalidated
