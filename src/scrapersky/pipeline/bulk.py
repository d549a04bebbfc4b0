"""Bulk operations on rows and dead letters: requeue, retry, reset, cancel, replay and discard.

Rows are locked in the order of their ids before anything is changed. Concurrent operations on the
same rows therefore wait for each other instead of deadlocking, and each row is changed once.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Interval,
    Select,
    Uuid,
    any_,
    column,
    func,
    literal,
    null,
    or_,
    select,
    type_coerce,
    update,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from scrapersky.db.statements import inline_text
from scrapersky.errors import Conflict
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.settings import Settings


async def close_row_letters(
    session: AsyncSession,
    stage: AnyStage,
    rows: Sequence[UUID],
    *,
    state: DeadLetterState,
    by: UUID | None = None,
    note: str | None = None,
) -> int:
    which = (is_stage_letter(stage), DeadLetter.row_id == func.any(list(rows)))
    return await _close(session, which, {"state": state, "closed_by": by, "note": note})


async def close_letters(
    session: AsyncSession,
    letters: Sequence[UUID],
    *,
    state: DeadLetterState,
    by: UUID | None = None,
    note: str | None = None,
) -> int:
    """Close these dead letters, if they are open."""
    which = (DeadLetter.id == func.any(list(letters)),)
    return await _close(session, which, {"state": state, "closed_by": by, "note": note})


async def _close(
    session: AsyncSession, which: Sequence[ColumnElement[bool]], values: dict[str, Any]
) -> int:
    """Close dead letters. They are history: they are kept, with who closed them and when."""
    closed = await session.execute(
        update(DeadLetter)
        .where(*which, is_letter_open())
        .values(closed_at=func.now(), **values)
        .execution_options(synchronize_session=False)
    )
    return int(closed.rowcount)  # type: ignore[attr-defined]


def is_letter_open() -> ColumnElement[bool]:
    return DeadLetter.state == inline_text(DeadLetterState.OPEN.value)


def is_stage_letter(stage: AnyStage) -> ColumnElement[bool]:
    """Match dead letters of the stage under its current and former names."""
    return or_(*(DeadLetter.stage == inline_text(name) for name in (stage.name, *stage.aliases)))


Where = Sequence[ColumnElement[bool]]
T = TypeVar("T")

MAX_BULK_ROWS = 100_000
"""Most rows per transaction; takes a few seconds. Callers repeat the operation for more."""
MAX_TRIES = 3
RETRYABLE_SQLSTATES = ("40P01", "23505")
"""Deadlock, and unique violation: another row for the same key became active concurrently."""


@dataclass(frozen=True)
class StatusTransition:
    """A change of status.

    Statuses are named by their role, such as `queued`; each stage has its own words.
    """

    name: str
    takes: tuple[str, ...]
    gives: str

    def words(self, stage: AnyStage, *, also_processing: bool) -> list[str]:
        roles = (*self.takes, "processing") if also_processing else self.takes
        words = (getattr(stage.words, each) for each in roles)
        return [word for word in words if word is not None]


REQUEUE = StatusTransition("requeue", takes=("failed",), gives="queued")
RETRY = StatusTransition("retry", takes=("failed", "cancelled"), gives="queued")
RESET = StatusTransition("reset", takes=("done", "failed", "cancelled", "skipped"), gives="queued")
CANCEL = StatusTransition("cancel", takes=("queued",), gives="cancelled")


@dataclass(frozen=True)
class BulkOptions:
    """Who runs the operation, and how."""

    by: UUID | None = None
    note: str | None = None
    limit: int = MAX_BULK_ROWS
    also_processing: bool = False
    """Whether rows in processing lose their claim. Their workers stop at the next heartbeat."""
    per_minute: float | None = None
    """How many rows become due per minute; None makes all of them due together."""
    starting_at: datetime | None = None
    """When the first row becomes due."""

    def due(self, place: ColumnElement[int]) -> ColumnElement[Any]:
        now: ColumnElement[Any] = func.now()
        start = now if self.starting_at is None else func.greatest(now, self.starting_at)
        if self.per_minute is None:
            return start
        gap = literal(timedelta(minutes=1) / self.per_minute, Interval)
        return start + type_coerce((place - 1) * gap, Interval)


def match_eligible(
    stage: AnyStage, act: StatusTransition, options: BulkOptions
) -> list[ColumnElement[bool]]:
    """Return the conditions that a stage's rows must meet for a transition."""
    words = act.words(stage, also_processing=options.also_processing)
    states = or_(*(stage.queue.status == inline_text(word) for word in words))
    fixed = [getattr(stage.model, k) == inline_text(v) for k, v in stage.only.items()]
    return [states, *fixed, *(_exclude_active_duplicates(stage) if act.gives == "queued" else ())]


def _list_unique_keys(stage: AnyStage) -> list[tuple[str, ...]]:
    """Return the column sets in which active rows must be unique.

    They are read from the table's partial unique indexes.
    """
    named = re.compile(rf"\b{stage.status}\b")
    table: Any = stage.model.__table__
    return [
        tuple(each.key for each in index.columns)
        for index in table.indexes
        if index.unique and named.search(str(index.dialect_options["postgresql"]["where"]))
    ]


def _exclude_active_duplicates(stage: AnyStage) -> Iterator[ColumnElement[bool]]:
    other: Any = aliased(stage.model)
    active = (stage.words.queued, stage.words.processing)
    for names in _list_unique_keys(stage):
        same = [getattr(other, name) == getattr(stage.model, name) for name in names]
        status = getattr(other, stage.status)
        under_way = or_(*(status == inline_text(word) for word in active))
        duplicate = select(other.id).where(*same, under_way, other.id != stage.model.id).limit(1)
        # A correlated subquery, so that it is an index lookup per row. If written as a join, a plan
        # made before many rows became active would compare every row with every other.
        yield duplicate.scalar_subquery().is_(None)


async def restart_rows(
    session: AsyncSession,
    stage: AnyStage,
    act: StatusTransition,
    where: Where,
    *,
    options: BulkOptions,
) -> list[UUID]:
    """Queue the eligible rows with all their attempts, and close their dead letters.

    Returns the ids of the rows changed.
    """
    chosen = _select_rows(stage, act, where, options)

    async def operation() -> list[UUID]:
        ids = await _lock_newest(session, chosen)
        await _queue_rows(session, stage, ids, options)
        return ids

    return await retry_on_conflict(session, operation)


async def cancel_rows(
    session: AsyncSession,
    stage: AnyStage,
    where: Where,
    *,
    options: BulkOptions,
    settings: Settings,
) -> list[UUID]:
    """Remove rows from the queue, and return their ids."""
    chosen = _select_rows(stage, CANCEL, where, options)

    async def operation() -> list[UUID]:
        ids = await _lock_newest(session, chosen)
        await _update_rows(
            session, stage, ids, lambda _: _build_cancelled_values(stage, options.note)
        )
        if stage.cancelled is not None:
            await stage.cancelled(session, ids, settings)
        return ids

    return await retry_on_conflict(session, operation)


async def count_rows(
    session: AsyncSession,
    stage: AnyStage,
    act: StatusTransition,
    where: Where,
    options: BulkOptions,
) -> dict[str, int]:
    """Count the eligible rows by status."""
    status = stage.queue.status
    counted = select(status, func.count()).where(*where, *match_eligible(stage, act, options))
    result = await session.execute(counted.group_by(status))
    return {word: count for word, count in result}  # noqa: C416 (rows are not pairs to mypy)


async def count_letters(
    session: AsyncSession, stage: AnyStage, letters: Where, options: BulkOptions
) -> dict[str, int]:
    """Count the replayable dead letters by error class."""
    kind = DeadLetter.error_class
    counted = select_replayable(stage, letters, options).with_only_columns(kind, func.count())
    result = await session.execute(counted.group_by(kind))
    return {name: count for name, count in result}  # noqa: C416 (rows are not pairs to mypy)


async def get_last_due(
    session: AsyncSession, stage: AnyStage, ids: Sequence[UUID]
) -> datetime | None:
    """Return when the last of the given rows is due."""
    if not ids:
        return None
    last_due: datetime | None = await session.scalar(
        select(stage.queue.due_at).where(stage.model.id == ids[-1])
    )
    return last_due


async def replay_letters(
    session: AsyncSession, stage: AnyStage, letters: Where, *, options: BulkOptions
) -> list[UUID]:
    """Requeue the rows of open dead letters, and close the letters. Returns the ids of the rows."""
    chosen = (
        select_replayable(stage, letters, options).order_by(DeadLetter.row_id).limit(options.limit)
    )
    # Lock the rows before their letters. Every transaction that locks both uses this order; the
    # opposite order would deadlock with it.
    chosen = chosen.with_for_update(of=[stage.model, DeadLetter])

    async def operation() -> list[UUID]:
        ids = await _lock_newest(session, chosen)
        await _queue_rows(session, stage, ids, options)
        return ids

    return await retry_on_conflict(session, operation)


def select_replayable(stage: AnyStage, letters: Where, options: BulkOptions) -> Select[Any]:
    """Select open dead letters of the stage whose rows are still failed."""
    return (
        _select_keys(stage)
        .join(DeadLetter, DeadLetter.row_id == stage.model.id)
        .where(is_stage_letter(stage), is_letter_open(), *letters)
        .where(*match_eligible(stage, REQUEUE, options))
    )


async def discard_letters(
    session: AsyncSession, letters: Where, *, options: BulkOptions
) -> list[UUID]:
    """Close open dead letters, and return their ids. Their rows stay failed."""
    chosen = select(DeadLetter.id).where(is_letter_open(), *letters)
    chosen = chosen.order_by(DeadLetter.id).limit(options.limit).with_for_update()

    async def operation() -> list[UUID]:
        ids = list(await session.scalars(chosen))
        closed = DeadLetterState.DISCARDED
        await close_letters(session, ids, state=closed, by=options.by, note=options.note)
        return ids

    return await retry_on_conflict(session, operation)


def _select_rows(
    stage: AnyStage, act: StatusTransition, where: Where, options: BulkOptions
) -> Select[Any]:
    rows = _select_keys(stage).where(*where, *match_eligible(stage, act, options))
    return rows.order_by(stage.model.id).limit(options.limit).with_for_update(of=stage.model)


def _select_keys(stage: AnyStage) -> Select[Any]:
    """Select the id, then the columns that two active rows must not share."""
    shared = {name for names in _list_unique_keys(stage) for name in names}
    return select(stage.model.id, *(getattr(stage.model, name) for name in sorted(shared)))


async def _lock_newest(session: AsyncSession, chosen: Select[Any]) -> list[UUID]:
    """Lock the rows, and return the newest of each set that cannot be active together.

    The others stay unchanged.
    """
    rows = (await session.execute(chosen)).all()
    newest = {tuple(rest) or row_id: row_id for row_id, *rest in rows}
    return list(newest.values())


async def _queue_rows(
    session: AsyncSession, stage: AnyStage, ids: list[UUID], options: BulkOptions
) -> None:
    await _update_rows(
        session, stage, ids, lambda place: _build_queued_values(stage, options.due(place))
    )
    replayed = DeadLetterState.REPLAYED
    await close_row_letters(session, stage, ids, state=replayed, by=options.by, note=options.note)
    wake_after_commit(session, stage.name)


async def _update_rows(
    session: AsyncSession,
    stage: AnyStage,
    ids: list[UUID],
    values: Callable[[ColumnElement[int]], dict[Any, Any]],
) -> None:
    """Update rows by id. The values may depend on a row's position in `ids`."""
    rows = func.unnest(literal(ids, ARRAY(Uuid)))
    numbered = rows.table_valued(column("id", Uuid), with_ordinality="place").render_derived(
        "given"
    )
    await session.execute(
        update(stage.model)
        .where(stage.model.id == numbered.c.id)
        .values(values(numbered.c.place))
        .execution_options(synchronize_session=False)
    )


def _build_queued_values(stage: AnyStage, due: ColumnElement[Any]) -> dict[Any, Any]:
    queue, model = stage.queue, stage.model
    noted = [getattr(model, each) for each in (stage.started, stage.finished) if each]
    return {
        queue.status: stage.words.queued,
        queue.due_at: due,
        queue.attempts: 0,
        queue.rescues: 0,
        queue.interruptions: 0,
        queue.error: null(),
        **_build_released_lease(stage),
        **dict.fromkeys(noted, null()),
        **stage.follow(stage.words.queued),
        **{getattr(model, name): value for name, value in stage.fresh.items()},
    }


def _build_cancelled_values(stage: AnyStage, note: str | None) -> dict[Any, Any]:
    queue, status = stage.queue, stage.words.cancelled or stage.words.failed
    finished = {getattr(stage.model, stage.finished): func.now()} if stage.finished else {}
    return {
        queue.status: status,
        **stage.follow(status),
        queue.error: f"Cancelled: {note}" if note else "Cancelled.",
        **_build_released_lease(stage),
        **finished,
    }


def _build_released_lease(stage: AnyStage) -> dict[Any, Any]:
    queue = stage.queue
    return dict.fromkeys((queue.lease_token, queue.lease_expires_at, queue.worker_id), null())


def matches_ids(key: Any, ids: Sequence[UUID]) -> ColumnElement[bool]:
    """Match ids by one array parameter, so that one statement serves any number of ids."""
    condition: ColumnElement[bool] = key == any_(literal(list(ids), ARRAY(Uuid)))
    return condition


async def retry_on_conflict(session: AsyncSession, operation: Callable[[], Awaitable[T]]) -> T:
    """Retry an operation that conflicts with a concurrent change of the same rows.

    Each try runs in a savepoint, because an error would otherwise abort the caller's whole
    transaction.
    """
    for _ in range(MAX_TRIES):
        try:
            async with session.begin_nested():
                return await operation()
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) not in RETRYABLE_SQLSTATES:
                raise
    raise Conflict("Another operation is changing the same rows. Retry in a moment.")
