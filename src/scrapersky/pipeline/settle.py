"""Store results and end attempts, many rows in one short transaction.

One transaction per row would be limited by commits per second. A batch pays for one commit, one
fenced UPDATE and one insert of events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any
from uuid import UUID

from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import Base
from scrapersky.db.outages import is_outage, is_statement_timeout, row_interruptions
from scrapersky.db.session import Database, limit_statements
from scrapersky.errors import RowInterrupted, ScraperSkyError
from scrapersky.logging import get_logger
from scrapersky.pipeline import dead_letters
from scrapersky.pipeline.claims import QueueStatements
from scrapersky.pipeline.outcome import (
    NO_RESULT,
    AttemptOutcome,
    RetryPolicy,
    build_error_outcome,
    build_outage_outcome,
)
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import EventKind, StageEvent
from scrapersky.pipeline.workers import WorkerIdentity

CAREFUL_STATEMENT_MS = 30_000
"""Statement timeout in careful mode, unless the server's own is shorter.

The server cancels the statement and the connection survives, so the other rows can still be stored.
A client-side deadline would have to drop the connection, and with it the whole batch.
"""

log = get_logger(__name__)


@dataclass(frozen=True)
class SettleResult:
    """The result of settling a batch: the outcomes written, and those whose claim was lost."""

    written: tuple[AttemptOutcome, ...]
    fenced: tuple[AttemptOutcome, ...]


async def settle(
    session: AsyncSession,
    claims: QueueStatements,
    outcomes: Sequence[AttemptOutcome],
    *,
    rule: RetryPolicy,
    worker: WorkerIdentity,
    careful: bool = True,
) -> SettleResult:
    """Settle a batch of attempts.

    The first statement verifies every lease token and locks the rows. Rows that it does not return
    have been taken over by another worker, and nothing is stored for them.

    With `careful`, each row's store runs in a savepoint, so that a store that fails or takes too
    long affects only its own row. Without it the first failure raises, and the caller retries in
    careful mode. Savepoints cost two round trips per row, which is why careful mode is not the
    default of the settler.
    """
    # Prove before storing. The UPDATE locks the rows until the commit, so no claim can be lost
    # between the proof and the store. In the opposite order, results of lost claims would have to
    # be undone.
    rows = await _prove_and_mark(session, claims, outcomes)
    written = [each for each in outcomes if each.claim.row_id in rows]
    fenced = [each for each in outcomes if each.claim.row_id not in rows]
    failed_to_store = await _store_results(session, claims.stage, rows, written, rule, careful)
    if failed_to_store:
        await _mark_failed_stores(session, claims, list(failed_to_store.values()))
        written = [failed_to_store.get(each.claim.row_id, each) for each in written]
    await write_dead_letters(session, claims.stage, rows, written, worker)
    await record_events(session, claims.stage, written, fenced, worker.id)
    return SettleResult(tuple(written), tuple(fenced))


def has_no_results(stage: AnyStage, outcomes: Sequence[AttemptOutcome]) -> bool:
    """Return whether these rows can be settled without loading them.

    That is so if there is no result to store and no dead letter to write.
    """
    return not any(
        each.kind is EventKind.FAILED or (stage.store is not None and each.result is not NO_RESULT)
        for each in outcomes
    )


async def settle_without_results(
    database: Database,
    claims: QueueStatements,
    outcomes: Sequence[AttemptOutcome],
    worker: WorkerIdentity,
) -> SettleResult:
    """Settle outcomes without results in one statement. Otherwise the same as `settle`."""
    parameters = {**_build_held_parameters(outcomes), "worker": worker.id}
    statement = claims.complete
    if any(each.kind is not EventKind.COMPLETED for each in outcomes):
        statement = claims.settle_plainly
        changes = claims.parameters([each.change(claims.stage.words) for each in outcomes])
        parameters |= {**changes, "kinds": [each.kind for each in outcomes]}
    held = {row_id for (row_id,) in await database.direct.fetch(statement, parameters)}
    return SettleResult(
        tuple(each for each in outcomes if each.claim.row_id in held),
        tuple(each for each in outcomes if each.claim.row_id not in held),
    )


def _build_held_parameters(outcomes: Sequence[AttemptOutcome]) -> dict[str, Any]:
    now = monotonic()
    claims = [each.claim for each in outcomes]
    return {
        "ids": [each.row_id for each in claims],
        "tokens": [each.token for each in claims],
        "attempts": [each.attempts for each in claims],
        "durations": [int((now - each.began) * 1000) for each in claims],
    }


async def _prove_and_mark(
    session: AsyncSession, claims: QueueStatements, outcomes: Sequence[AttemptOutcome]
) -> dict[UUID, Base | None]:
    """Verify the claims and mark the rows.

    Rows are loaded only if a store or a dead letter needs them.
    """
    words = claims.stage.words
    parameters = claims.parameters([each.change(words) for each in outcomes])
    if not has_no_results(claims.stage, outcomes):
        rows = await session.scalars(
            claims.settle_rows, parameters, execution_options={"synchronize_session": False}
        )
        return {row.id: row for row in rows}
    ids = await session.scalars(
        claims.settle_ids, parameters, execution_options={"synchronize_session": False}
    )
    return dict.fromkeys(ids)


async def _mark_failed_stores(
    session: AsyncSession, claims: QueueStatements, outcomes: Sequence[AttemptOutcome]
) -> None:
    """Overwrite the outcome of rows whose store failed.

    Needs no fencing: `_prove_and_mark` locked the rows in this transaction and cleared their
    tokens.
    """
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
    outcomes: Sequence[AttemptOutcome],
    rule: RetryPolicy,
    careful: bool,
) -> dict[UUID, AttemptOutcome]:
    """Store each result. Returns a new outcome for each row whose store failed."""
    if stage.store is None:
        return {}
    results = [each for each in outcomes if each.result is not NO_RESULT]
    if not careful:
        with row_interruptions():
            for each in results:
                await stage.store(session, rows[each.claim.row_id], each.result)
            await session.flush()
        return {}
    failed: list[tuple[AttemptOutcome, Exception]] = []
    if results:
        await limit_statements(session, CAREFUL_STATEMENT_MS)
    for each in results:
        try:
            with row_interruptions():
                async with session.begin_nested():
                    await stage.store(session, rows[each.claim.row_id], each.result)
        except Exception as error:
            # A lost connection takes the whole transaction with it, so there is nothing left to
            # save. A statement timeout does not: the savepoint was rolled back and the batch can
            # continue.
            if is_outage(error) and not is_statement_timeout(error):
                raise
            failed.append((each, error))
    return _judge_failed_stores(stage, failed, rule, stored=len(results) - len(failed))


def _judge_failed_stores(
    stage: AnyStage,
    failed: Sequence[tuple[AttemptOutcome, Exception]],
    rule: RetryPolicy,
    *,
    stored: int,
) -> dict[UUID, AttemptOutcome]:
    """Choose an outcome for each failed store.

    If several rows timed out and none was stored, the database is slow, and no row is to blame. A
    row that times out alone, or next to rows that were stored, is suspect.
    """
    is_slow = not stored and len(failed) > 1
    changed: dict[UUID, AttemptOutcome] = {}
    for each, error in failed:
        if is_slow and isinstance(error, RowInterrupted):
            outcome = build_outage_outcome(each.claim, error)
        else:
            outcome = build_error_outcome(each.claim, error, rule)
        changed[each.claim.row_id] = outcome
        log_failure(stage, outcome, error)
    return changed


async def write_dead_letters(
    session: AsyncSession,
    stage: AnyStage,
    rows: dict[UUID, Base | None],
    outcomes: Sequence[AttemptOutcome],
    worker: WorkerIdentity,
) -> None:
    """Write dead letters for rows that failed permanently, and call the `gave_up` hook."""
    dead = [each for each in outcomes if each.kind is EventKind.FAILED]
    if not dead:
        return
    loaded = {each.claim.row_id: await _load_row(session, stage, rows, each) for each in dead}
    tenants = {row_id: getattr(row, "tenant_id", None) for row_id, row in loaded.items()}
    await dead_letters.insert_dead_letters(
        session, stage, dead, tenants=tenants, worker=worker.readable
    )
    if stage.gave_up is not None:
        for each in dead:
            await stage.gave_up(session, loaded[each.claim.row_id], each.error or "")


async def _load_row(
    session: AsyncSession, stage: AnyStage, rows: dict[UUID, Base | None], outcome: AttemptOutcome
) -> Base:
    row_id = outcome.claim.row_id
    row = rows[row_id] or await session.get_one(stage.model, row_id, populate_existing=True)
    assert isinstance(row, Base)
    return row


async def record_events(
    session: AsyncSession,
    stage: AnyStage,
    written: Sequence[AttemptOutcome],
    fenced: Sequence[AttemptOutcome],
    worker_id: UUID,
) -> None:
    """Insert one event per ended attempt, but a single event for all completed rows of the batch.

    History and rates are computed from these events.
    """
    ended = [
        *((each.kind, each) for each in written if each.kind is not EventKind.COMPLETED),
        *((EventKind.FENCED, each) for each in fenced),
    ]
    events = [_build_event(kind, [each], each) for kind, each in ended]
    if completed := [each for each in written if each.kind is EventKind.COMPLETED]:
        events.append(_build_event(EventKind.COMPLETED, completed))
    shared = {"stage": stage.name, "worker_id": worker_id}
    await session.execute(insert(StageEvent), [{**shared, **each} for each in events])


def _build_event(
    kind: EventKind, outcomes: Sequence[AttemptOutcome], about: AttemptOutcome | None = None
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


def log_failure(stage: AnyStage, outcome: AttemptOutcome, error: BaseException) -> None:
    """Log a failed attempt with its traceback. The row itself stores only a one-line summary."""
    write = log.error if outcome.kind is EventKind.FAILED else log.warning
    if outcome.kind in (EventKind.SKIPPED, EventKind.SNOOZED):
        write = log.info
    write(
        "row " + outcome.kind.value.replace("_", " "),
        stage=stage.name,
        row_id=str(outcome.claim.row_id),
        attempt=outcome.claim.attempts,
        error=outcome.error,
        # Our own errors are raised on purpose, and their message is sufficient. A traceback adds
        # nothing.
        exc_info=None if isinstance(error, ScraperSkyError) else error,
    )
