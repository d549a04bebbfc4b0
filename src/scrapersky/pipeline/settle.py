"""Store results and end attempts, many rows in one short transaction."""

from __future__ import annotations

import asyncio
import contextvars
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, cast
from uuid import UUID

from sqlalchemy import insert, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.away import (
    MAX_ROW_INTERRUPTIONS,
    is_outage,
    is_statement_timeout,
    is_timeout,
    row_interruptions,
)
from scrapersky.db.base import Base
from scrapersky.db.session import Database
from scrapersky.errors import DatabaseUnavailable, RowInterrupted, ScraperSkyError
from scrapersky.logging import get_logger
from scrapersky.pipeline import dead_letters
from scrapersky.pipeline.claims import Claims
from scrapersky.pipeline.outcome import (
    NOTHING,
    Outcome,
    RetryRule,
    outcome_of_error,
    outcome_of_interruption,
    outcome_of_outage,
    outcome_of_own_limit,
    summarize_error,
)
from scrapersky.pipeline.own_limits import OwnLimits, find_own_limit
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import EventKind, StageEvent
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
CAREFUL_STATEMENT_MS = 30_000
"""Statement timeout while a batch is settled carefully, where the server's own is not shorter. The
server ends the statement and the connection survives, so the other rows can be stored; a deadline
of ours would have to drop the connection and with it the whole batch."""
LIMIT_STATEMENTS = text(
    "SELECT set_config('statement_timeout', :limit, true) FROM pg_settings "
    "WHERE name = 'statement_timeout' AND CAST(setting AS int) NOT BETWEEN 1 AND :ms"
)
LOSSES_TO_SPLIT = MAX_ROW_INTERRUPTIONS
"""A batch that lost its connection this often in a row is settled in halves, down to single rows:
one of them may be what breaks the connection, and the others are not to end with it."""

log = get_logger(__name__)


@dataclass(frozen=True)
class Settlement:
    """What really happened to the batch: the outcomes written, and the claims that were lost."""

    written: tuple[Outcome, ...]
    fenced: tuple[Outcome, ...]


async def settle(
    session: AsyncSession,
    claims: Claims,
    outcomes: Sequence[Outcome],
    *,
    rule: RetryRule,
    worker: WorkerIdentity,
    careful: bool = True,
) -> Settlement:
    """End these attempts. The first statement proves every claim; what it does not return is lost.

    `careful` puts a savepoint around each row's store, so that one that fails or takes too long
    ends alone; without it the first failure raises, and the caller comes back carefully.
    """
    rows = await _prove_and_mark(session, claims, outcomes)
    written = [each for each in outcomes if each.claim.row_id in rows]
    fenced = [each for each in outcomes if each.claim.row_id not in rows]
    failed_to_store = await _store_results(session, claims.stage, rows, written, rule, careful)
    if failed_to_store:
        await _mark_again(session, claims, list(failed_to_store.values()))
        written = [failed_to_store.get(each.claim.row_id, each) for each in written]
    await bury_the_dead(session, claims.stage, rows, written, worker)
    await record(session, claims.stage, written, fenced, worker.id)
    return Settlement(tuple(written), tuple(fenced))


def is_plain(stage: AnyStage, outcomes: Sequence[Outcome]) -> bool:
    """Nobody will look at these rows: nothing to store, nobody to tell that they were given up."""
    return not any(
        each.kind is EventKind.FAILED or (stage.store is not None and each.result is not NOTHING)
        for each in outcomes
    )


async def settle_plainly(
    database: Database, claims: Claims, outcomes: Sequence[Outcome], worker: WorkerIdentity
) -> Settlement:
    """The same as `settle` in one statement, for outcomes of which nothing is stored."""
    parameters = {**_held_by(outcomes), "worker": worker.id}
    statement = claims.complete
    if any(each.kind is not EventKind.COMPLETED for each in outcomes):
        statement = claims.settle_plainly
        changes = claims.parameters([each.change(claims.stage.words) for each in outcomes])
        parameters |= {**changes, "kinds": [each.kind for each in outcomes]}
    held = {row_id for (row_id,) in await database.direct.fetch(statement, parameters)}
    return Settlement(
        tuple(each for each in outcomes if each.claim.row_id in held),
        tuple(each for each in outcomes if each.claim.row_id not in held),
    )


def _held_by(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    now = monotonic()
    claims = [each.claim for each in outcomes]
    return {
        "ids": [each.row_id for each in claims],
        "tokens": [each.token for each in claims],
        "attempts": [each.attempts for each in claims],
        "durations": [int((now - each.began) * 1000) for each in claims],
    }


async def _prove_and_mark(
    session: AsyncSession, claims: Claims, outcomes: Sequence[Outcome]
) -> dict[UUID, Base | None]:
    """Rows are loaded only where somebody will look at them."""
    words = claims.stage.words
    parameters = claims.parameters([each.change(words) for each in outcomes])
    if not is_plain(claims.stage, outcomes):
        found = await session.scalars(
            claims.settle_rows, parameters, execution_options={"synchronize_session": False}
        )
        return {row.id: row for row in found}
    ids = await session.scalars(
        claims.settle_ids, parameters, execution_options={"synchronize_session": False}
    )
    return dict.fromkeys(ids)


async def _mark_again(session: AsyncSession, claims: Claims, outcomes: Sequence[Outcome]) -> None:
    """The rows are locked by us, so this needs no fence."""
    words = claims.stage.words
    await session.execute(
        claims.resettle,
        claims.parameters([each.change(words) for each in outcomes]),
        execution_options={"synchronize_session": False},
    )


async def _store_results(
    session: AsyncSession,
    stage: AnyStage,
    rows: dict[UUID, Base | None],
    outcomes: Sequence[Outcome],
    rule: RetryRule,
    careful: bool,
) -> dict[UUID, Outcome]:
    """Store each result; returns the new outcome of each row whose store did not succeed."""
    if stage.store is None:
        return {}
    results = [each for each in outcomes if each.result is not NOTHING]
    if not careful:
        with row_interruptions():
            for each in results:
                await stage.store(session, rows[each.claim.row_id], each.result)
            await session.flush()
        return {}
    failed: list[tuple[Outcome, Exception]] = []
    if results:
        ms = CAREFUL_STATEMENT_MS
        await session.execute(LIMIT_STATEMENTS, {"limit": str(ms), "ms": ms})
    for each in results:
        try:
            with row_interruptions():
                async with session.begin_nested():
                    await stage.store(session, rows[each.claim.row_id], each.result)
        except Exception as error:
            if is_outage(error) and not is_statement_timeout(error):
                raise
            failed.append((each, error))
    return _judge_failed_stores(stage, failed, rule, stored=len(results) - len(failed))


def _judge_failed_stores(
    stage: AnyStage,
    failed: Sequence[tuple[Outcome, Exception]],
    rule: RetryRule,
    *,
    stored: int,
) -> dict[UUID, Outcome]:
    """Where several rows timed out and none was stored, the database is slow and no row is
    suspected; one that times out beside others that do not, or alone, is."""
    is_slow = not stored and len(failed) > 1
    changed: dict[UUID, Outcome] = {}
    for each, error in failed:
        if is_slow and isinstance(error, RowInterrupted):
            outcome = outcome_of_outage(each.claim, error)
        else:
            outcome = outcome_of_error(each.claim, error, rule)
        changed[each.claim.row_id] = outcome
        log_failure(stage, outcome, error)
    return changed


async def bury_the_dead(
    session: AsyncSession,
    stage: AnyStage,
    rows: dict[UUID, Base | None],
    outcomes: Sequence[Outcome],
    worker: WorkerIdentity,
) -> None:
    """A dead letter for each row given up, and the stage is told."""
    dead = [each for each in outcomes if each.kind is EventKind.FAILED]
    if not dead:
        return
    loaded = {each.claim.row_id: await _loaded(session, stage, rows, each) for each in dead}
    tenants = {row_id: getattr(row, "tenant_id", None) for row_id, row in loaded.items()}
    await dead_letters.bury(session, stage, dead, tenants=tenants, worker=worker.readable)
    if stage.gave_up is not None:
        for each in dead:
            await stage.gave_up(session, loaded[each.claim.row_id], each.error or "")


async def _loaded(
    session: AsyncSession, stage: AnyStage, rows: dict[UUID, Base | None], outcome: Outcome
) -> Base:
    row_id = outcome.claim.row_id
    row = rows[row_id] or await session.get_one(stage.model, row_id, populate_existing=True)
    assert isinstance(row, Base)
    return row


async def record(
    session: AsyncSession,
    stage: AnyStage,
    written: Sequence[Outcome],
    fenced: Sequence[Outcome],
    worker_id: UUID,
) -> None:
    """One event per ended attempt, and one for all that were completed together: history and
    rates come from these."""
    ended = [
        *((each.kind, each) for each in written if each.kind is not EventKind.COMPLETED),
        *((EventKind.FENCED, each) for each in fenced),
    ]
    events = [_event(kind, [each], each) for kind, each in ended]
    if completed := [each for each in written if each.kind is EventKind.COMPLETED]:
        events.append(_event(EventKind.COMPLETED, completed))
    shared = {"stage": stage.name, "worker_id": worker_id}
    await session.execute(insert(StageEvent), [{**shared, **each} for each in events])


def _event(
    kind: EventKind, outcomes: Sequence[Outcome], about: Outcome | None = None
) -> dict[str, Any]:
    now = monotonic()
    return {
        "kind": kind,
        "rows": len(outcomes),
        "durations_ms": [int((now - each.claim.began) * 1000) for each in outcomes],
        "row_id": about.claim.row_id if about else None,
        "attempt": about.claim.attempts if about else None,
        "error": about.error if about else None,
    }


def log_failure(stage: AnyStage, outcome: Outcome, error: BaseException) -> None:
    """The whole traceback goes to the log, and to the dead letter; the row keeps a line."""
    say = log.error if outcome.kind is EventKind.FAILED else log.warning
    if outcome.kind in (EventKind.SKIPPED, EventKind.SNOOZED):
        say = log.info
    say(
        "row " + outcome.kind.value.replace("_", " "),
        stage=stage.name,
        row_id=str(outcome.claim.row_id),
        attempt=outcome.claim.attempts,
        error=outcome.error,
        # What we raised on purpose says all in its sentence.
        exc_info=None if isinstance(error, ScraperSkyError) else error,
    )


class Settler:
    """Collects the finished rows of one stage and settles them together."""

    def __init__(
        self,
        database: Database,
        claims: Claims,
        *,
        rule: RetryRule,
        worker: WorkerIdentity,
        own_limits: OwnLimits | None = None,
    ) -> None:
        self._database = database
        self._claims = claims
        self._rule = rule
        self._worker = worker
        self._own_limits = own_limits or OwnLimits()
        self._waiting: list[tuple[Outcome, asyncio.Future[EventKind]]] = []
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.under_way = 0
        """Rows being worked; when all of them are waiting here, nobody else will come."""
        self.totals: Counter[EventKind] = Counter()
        self.last_error: str | None = None
        """Why the last batch could not be stored; None when it was."""

    def put(self, outcome: Outcome) -> asyncio.Future[EventKind]:
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
        self, batch: Sequence[tuple[Outcome, asyncio.Future[EventKind]]]
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
        outcomes: Sequence[Outcome],
        give_up_at: float | None = None,
        *,
        careful: bool = False,
    ) -> Settlement:
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

    async def _settle_interrupted(self, outcome: Outcome, error: RowInterrupted) -> Settlement:
        """Requeue a row whose store was interrupted again and again with no other row beside it."""
        interrupted = outcome_of_interruption(outcome.claim, error)
        log_failure(self._claims.stage, interrupted, error)
        return await self._settle_patiently([interrupted])

    async def _settle_in_halves(
        self, outcomes: Sequence[Outcome], give_up_at: float, *, careful: bool
    ) -> Settlement:
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
        return Settlement(sum(written, ()), sum(fenced, ()))

    async def _hand_back(self, outcomes: Sequence[Outcome], error: Exception) -> Settlement:
        """Give up storing these results. What met a limit of ours is handed back at once if that
        much can be written; it needs neither a connection of the pool nor new disk space, mostly.
        All other rows are found as strays, which does not count against them either."""
        self._log_unsettled(outcomes)
        if limit := find_own_limit(error):
            handed_back = [outcome_of_own_limit(each.claim, limit) for each in outcomes]
            with suppress(Exception):
                return await settle_plainly(self._database, self._claims, handed_back, self._worker)
        return Settlement((), tuple(outcomes))

    def _log_unsettled(self, outcomes: Sequence[Outcome]) -> None:
        log.exception(
            "could not settle; the rows will be rescued and worked again",
            stage=self._claims.stage.name,
            rows=len(outcomes),
        )

    async def _settle_once(self, outcomes: Sequence[Outcome], *, careful: bool) -> Settlement:
        if is_plain(self._claims.stage, outcomes):
            return await settle_plainly(self._database, self._claims, outcomes, self._worker)
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
