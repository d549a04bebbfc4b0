"""Bulk operations on rows and dead letters: requeue, retry, reset, cancel, replay and discard.

Rows are locked in the order of their ids before anything is changed, so concurrent operations on
the same rows wait for each other, and each row is taken once.

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
    """Close the open dead letters of these rows."""
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
    """Close those of these dead letters that are open."""
    which = (DeadLetter.id == func.any(list(letters)),)
    return await _close(session, which, {"state": state, "closed_by": by, "note": note})


async def _close(
    session: AsyncSession, which: Sequence[ColumnElement[bool]], values: dict[str, Any]
) -> int:
    """It stays, with who closed it and when: letters are history."""
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
    """Under the name the stage has or one it had."""
    return or_(*(DeadLetter.stage == inline_text(name) for name in (stage.name, *stage.aliases)))


# What people do to many rows of a stage at once: start them over, or take them out of the queue.
#
# Rows are locked in the order of their ids before anything is changed, so two people who act on the
# same rows wait for each other, and each row is taken once.

Where = Sequence[ColumnElement[bool]]
T = TypeVar("T")

MAX_BULK_ROWS = 100_000
"""Rows of one transaction at most: a few seconds; whoever means more asks again."""
MAX_TRIES = 3
RETRYABLE_SQLSTATES = ("40P01", "23505")
"""A deadlock, or a row that became active for the same thing in the same moment."""


@dataclass(frozen=True)
class StatusTransition:
    """A change of state: from some of a stage's words to another, each named by its role."""

    name: str
    takes: tuple[str, ...]
    gives: str

    def words(self, stage: AnyStage, *, also_processing: bool) -> list[str]:
        roles = (*self.takes, "processing") if also_processing else self.takes
        found = (getattr(stage.words, each) for each in roles)
        return [word for word in found if word is not None]


REQUEUE = StatusTransition("requeue", takes=("failed",), gives="queued")
RETRY = StatusTransition("retry", takes=("failed", "cancelled"), gives="queued")
RESET = StatusTransition("reset", takes=("done", "failed", "cancelled", "skipped"), gives="queued")
CANCEL = StatusTransition("cancel", takes=("queued",), gives="cancelled")


@dataclass(frozen=True)
class BulkOptions:
    """Who does it, and how."""

    by: UUID | None = None
    note: str | None = None
    limit: int = MAX_BULK_ROWS
    also_processing: bool = False
    """Whether rows that are being worked lose their claim; their workers stop at the next beat."""
    per_minute: float | None = None
    """How many become due in a minute; nothing means all at once."""
    starting_at: datetime | None = None
    """When the first of them becomes due."""

    def due(self, place: ColumnElement[int]) -> ColumnElement[Any]:
        now: ColumnElement[Any] = func.now()
        start = now if self.starting_at is None else func.greatest(now, self.starting_at)
        if self.per_minute is None:
            return start
        gap = literal(timedelta(minutes=1) / self.per_minute, Interval)
        return start + type_coerce((place - 1) * gap, Interval)


def match_eligible(
    stage: AnyStage, act: StatusTransition, manner: BulkOptions
) -> list[ColumnElement[bool]]:
    """The rows of a stage that an act can be done to."""
    words = act.words(stage, also_processing=manner.also_processing)
    states = or_(*(stage.queue.status == inline_text(word) for word in words))
    fixed = [getattr(stage.model, k) == inline_text(v) for k, v in stage.only.items()]
    return [states, *fixed, *(_exclude_active_duplicates(stage) if act.gives == "queued" else ())]


def _list_unique_keys(stage: AnyStage) -> list[tuple[str, ...]]:
    """The columns in which no two active rows may be the same, as the table's indexes say."""
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
        rival = select(other.id).where(*same, under_way, other.id != stage.model.id).limit(1)
        # Looked up row by row: joined, a plan made before many rows became active would compare
        # every row with every other.
        yield rival.scalar_subquery().is_(None)


async def restart_rows(
    session: AsyncSession,
    stage: AnyStage,
    act: StatusTransition,
    where: Where,
    *,
    manner: BulkOptions,
) -> list[UUID]:
    """Queue the rows that allow it, with all their attempts, and close their dead letters; returns
    the rows it took."""
    chosen = _select_rows(stage, act, where, manner)

    async def operation() -> list[UUID]:
        ids = await _lock_newest(session, chosen)
        await _queue_rows(session, stage, ids, manner)
        return ids

    return await retry_on_conflict(session, operation)


async def cancel_rows(
    session: AsyncSession, stage: AnyStage, where: Where, *, manner: BulkOptions, settings: Settings
) -> list[UUID]:
    """Take rows out of the queue; returns the rows it took."""
    chosen = _select_rows(stage, CANCEL, where, manner)

    async def operation() -> list[UUID]:
        ids = await _lock_newest(session, chosen)
        await _update_rows(
            session, stage, ids, lambda _: _build_cancelled_values(stage, manner.note)
        )
        if stage.cancelled is not None:
            await stage.cancelled(session, ids, settings)
        return ids

    return await retry_on_conflict(session, operation)


async def count_rows(
    session: AsyncSession, stage: AnyStage, act: StatusTransition, where: Where, manner: BulkOptions
) -> dict[str, int]:
    """How many rows would be taken, by their status."""
    status = stage.queue.status
    counted = select(status, func.count()).where(*where, *match_eligible(stage, act, manner))
    found = await session.execute(counted.group_by(status))
    return {word: count for word, count in found}  # noqa: C416 (rows are not pairs to mypy)


async def count_letters(
    session: AsyncSession, stage: AnyStage, letters: Where, manner: BulkOptions
) -> dict[str, int]:
    """How many dead letters would be replayed, by the class of their error."""
    kind = DeadLetter.error_class
    counted = select_replayable(stage, letters, manner).with_only_columns(kind, func.count())
    found = await session.execute(counted.group_by(kind))
    return {name: count for name, count in found}  # noqa: C416 (rows are not pairs to mypy)


async def get_last_due(
    session: AsyncSession, stage: AnyStage, ids: Sequence[UUID]
) -> datetime | None:
    """When the last of the rows that were taken is due."""
    if not ids:
        return None
    found: datetime | None = await session.scalar(
        select(stage.queue.due_at).where(stage.model.id == ids[-1])
    )
    return found


async def replay_letters(
    session: AsyncSession, stage: AnyStage, letters: Where, *, manner: BulkOptions
) -> list[UUID]:
    """Start the rows of open dead letters over, and close the letters; returns the rows."""
    chosen = (
        select_replayable(stage, letters, manner).order_by(DeadLetter.row_id).limit(manner.limit)
    )
    # The rows before their letters, as everybody locks them.
    chosen = chosen.with_for_update(of=[stage.model, DeadLetter])

    async def operation() -> list[UUID]:
        ids = await _lock_newest(session, chosen)
        await _queue_rows(session, stage, ids, manner)
        return ids

    return await retry_on_conflict(session, operation)


def select_replayable(stage: AnyStage, letters: Where, manner: BulkOptions) -> Select[Any]:
    """Open letters of the stage whose rows still are as they were given up."""
    return (
        _select_keys(stage)
        .join(DeadLetter, DeadLetter.row_id == stage.model.id)
        .where(is_stage_letter(stage), is_letter_open(), *letters)
        .where(*match_eligible(stage, REQUEUE, manner))
    )


async def discard_letters(
    session: AsyncSession, letters: Where, *, manner: BulkOptions
) -> list[UUID]:
    """Close open dead letters; their rows stay failed. Returns the letters."""
    chosen = select(DeadLetter.id).where(is_letter_open(), *letters)
    chosen = chosen.order_by(DeadLetter.id).limit(manner.limit).with_for_update()

    async def operation() -> list[UUID]:
        ids = list(await session.scalars(chosen))
        closed = DeadLetterState.DISCARDED
        await close_letters(session, ids, state=closed, by=manner.by, note=manner.note)
        return ids

    return await retry_on_conflict(session, operation)


def _select_rows(
    stage: AnyStage, act: StatusTransition, where: Where, manner: BulkOptions
) -> Select[Any]:
    rows = _select_keys(stage).where(*where, *match_eligible(stage, act, manner))
    return rows.order_by(stage.model.id).limit(manner.limit).with_for_update(of=stage.model)


def _select_keys(stage: AnyStage) -> Select[Any]:
    """The id, then whatever two active rows may not share."""
    shared = {name for names in _list_unique_keys(stage) for name in names}
    return select(stage.model.id, *(getattr(stage.model, name) for name in sorted(shared)))


async def _lock_newest(session: AsyncSession, chosen: Select[Any]) -> list[UUID]:
    """Of rows that cannot be active together the newest; the others stay as they are."""
    found = (await session.execute(chosen)).all()
    newest = {tuple(rest) or row_id: row_id for row_id, *rest in found}
    return list(newest.values())


async def _queue_rows(
    session: AsyncSession, stage: AnyStage, ids: list[UUID], manner: BulkOptions
) -> None:
    await _update_rows(
        session, stage, ids, lambda place: _build_queued_values(stage, manner.due(place))
    )
    replayed = DeadLetterState.REPLAYED
    await close_row_letters(session, stage, ids, state=replayed, by=manner.by, note=manner.note)
    wake_after_commit(session, stage.name)


async def _update_rows(
    session: AsyncSession,
    stage: AnyStage,
    ids: list[UUID],
    values: Callable[[ColumnElement[int]], dict[Any, Any]],
) -> None:
    """The values may depend on a row's place among those given."""
    rows = func.unnest(literal(ids, ARRAY(Uuid)))
    given = rows.table_valued(column("id", Uuid), with_ordinality="place").render_derived("given")
    await session.execute(
        update(stage.model)
        .where(stage.model.id == given.c.id)
        .values(values(given.c.place))
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
    """One statement for any number of ids."""
    found: ColumnElement[bool] = key == any_(literal(list(ids), ARRAY(Uuid)))
    return found


async def retry_on_conflict(session: AsyncSession, deed: Callable[[], Awaitable[T]]) -> T:
    """Begin again when somebody else's change of the same rows came in between."""
    for _ in range(MAX_TRIES):
        try:
            async with session.begin_nested():
                return await deed()
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) not in RETRYABLE_SQLSTATES:
                raise
    raise Conflict("Somebody else is changing the same rows; try again in a moment.")
