"""What people do to many rows of a stage at once: start them over, or take them out of the queue.

Rows are locked in the order of their ids before anything is changed, so two people who act on the
same rows wait for each other, and each row is taken once.
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

from scrapersky.db.direct import written_out
from scrapersky.errors import Conflict
from scrapersky.pipeline.closing import close, close_these, is_of, is_open
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.settings import Settings

Where = Sequence[ColumnElement[bool]]
T = TypeVar("T")

AT_ONCE = 100_000
"""Rows of one transaction at most: a few seconds; whoever means more asks again."""
TRIES = 3
IN_EACH_OTHERS_WAY = ("40P01", "23505")
"""A deadlock, or a row that became active for the same thing in the same moment."""


@dataclass(frozen=True)
class Act:
    """A change of state: from some of a stage's words to another, each named by its role."""

    name: str
    takes: tuple[str, ...]
    gives: str

    def words(self, stage: AnyStage, *, also_processing: bool) -> list[str]:
        roles = (*self.takes, "processing") if also_processing else self.takes
        found = (getattr(stage.words, each) for each in roles)
        return [word for word in found if word is not None]


REQUEUE = Act("requeue", takes=("failed",), gives="queued")
RETRY = Act("retry", takes=("failed", "cancelled"), gives="queued")
RESET = Act("reset", takes=("done", "failed", "cancelled", "skipped"), gives="queued")
CANCEL = Act("cancel", takes=("queued",), gives="cancelled")


@dataclass(frozen=True)
class Manner:
    """Who does it, and how."""

    by: UUID | None = None
    note: str | None = None
    limit: int = AT_ONCE
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


def takeable(stage: AnyStage, act: Act, manner: Manner) -> list[ColumnElement[bool]]:
    """The rows of a stage that an act can be done to."""
    words = act.words(stage, also_processing=manner.also_processing)
    states = or_(*(stage.queue.status == written_out(word) for word in words))
    fixed = [getattr(stage.model, k) == written_out(v) for k, v in stage.only.items()]
    return [states, *fixed, *(_without_rival(stage) if act.gives == "queued" else ())]


def _rivalries(stage: AnyStage) -> list[tuple[str, ...]]:
    """The columns in which no two active rows may be the same, as the table's indexes say."""
    named = re.compile(rf"\b{stage.status}\b")
    table: Any = stage.model.__table__
    return [
        tuple(each.key for each in index.columns)
        for index in table.indexes
        if index.unique and named.search(str(index.dialect_options["postgresql"]["where"]))
    ]


def _without_rival(stage: AnyStage) -> Iterator[ColumnElement[bool]]:
    other: Any = aliased(stage.model)
    active = (stage.words.queued, stage.words.processing)
    for names in _rivalries(stage):
        same = [getattr(other, name) == getattr(stage.model, name) for name in names]
        status = getattr(other, stage.status)
        under_way = or_(*(status == written_out(word) for word in active))
        rival = select(other.id).where(*same, under_way, other.id != stage.model.id).limit(1)
        # Looked up row by row: joined, a plan made before many rows became active would compare
        # every row with every other.
        yield rival.scalar_subquery().is_(None)


async def start_over(
    session: AsyncSession, stage: AnyStage, act: Act, where: Where, *, manner: Manner
) -> list[UUID]:
    """Queue the rows that allow it, with all their attempts, and close their dead letters; returns
    the rows it took."""
    chosen = _chosen(stage, act, where, manner)

    async def deed() -> list[UUID]:
        ids = await _one_of_each(session, chosen)
        await _queue(session, stage, ids, manner)
        return ids

    return await patiently(session, deed)


async def cancel(
    session: AsyncSession, stage: AnyStage, where: Where, *, manner: Manner, settings: Settings
) -> list[UUID]:
    """Take rows out of the queue; returns the rows it took."""
    chosen = _chosen(stage, CANCEL, where, manner)

    async def deed() -> list[UUID]:
        ids = await _one_of_each(session, chosen)
        await _change(session, stage, ids, lambda _: _ended(stage, manner.note))
        if stage.cancelled is not None:
            await stage.cancelled(session, ids, settings)
        return ids

    return await patiently(session, deed)


async def count_rows(
    session: AsyncSession, stage: AnyStage, act: Act, where: Where, manner: Manner
) -> dict[str, int]:
    """How many rows would be taken, by their status."""
    status = stage.queue.status
    counted = select(status, func.count()).where(*where, *takeable(stage, act, manner))
    found = await session.execute(counted.group_by(status))
    return {word: count for word, count in found}  # noqa: C416 (rows are not pairs to mypy)


async def count_letters(
    session: AsyncSession, stage: AnyStage, letters: Where, manner: Manner
) -> dict[str, int]:
    """How many dead letters would be replayed, by the class of their error."""
    kind = DeadLetter.error_class
    counted = replayable(stage, letters, manner).with_only_columns(kind, func.count())
    found = await session.execute(counted.group_by(kind))
    return {name: count for name, count in found}  # noqa: C416 (rows are not pairs to mypy)


async def last_due(session: AsyncSession, stage: AnyStage, ids: Sequence[UUID]) -> datetime | None:
    """When the last of the rows that were taken is due."""
    if not ids:
        return None
    found: datetime | None = await session.scalar(
        select(stage.queue.due_at).where(stage.model.id == ids[-1])
    )
    return found


async def replay(
    session: AsyncSession, stage: AnyStage, letters: Where, *, manner: Manner
) -> list[UUID]:
    """Start the rows of open dead letters over, and close the letters; returns the rows."""
    chosen = replayable(stage, letters, manner).order_by(DeadLetter.row_id).limit(manner.limit)
    # The rows before their letters, as everybody locks them.
    chosen = chosen.with_for_update(of=[stage.model, DeadLetter])

    async def deed() -> list[UUID]:
        ids = await _one_of_each(session, chosen)
        await _queue(session, stage, ids, manner)
        return ids

    return await patiently(session, deed)


def replayable(stage: AnyStage, letters: Where, manner: Manner) -> Select[Any]:
    """Open letters of the stage whose rows still are as they were given up."""
    return (
        _keyed(stage)
        .join(DeadLetter, DeadLetter.row_id == stage.model.id)
        .where(is_of(stage), is_open(), *letters)
        .where(*takeable(stage, REQUEUE, manner))
    )


async def discard(session: AsyncSession, letters: Where, *, manner: Manner) -> list[UUID]:
    """Close open dead letters; their rows stay failed. Returns the letters."""
    chosen = select(DeadLetter.id).where(is_open(), *letters)
    chosen = chosen.order_by(DeadLetter.id).limit(manner.limit).with_for_update()

    async def deed() -> list[UUID]:
        ids = list(await session.scalars(chosen))
        closed = DeadLetterState.DISCARDED
        await close_these(session, ids, state=closed, by=manner.by, note=manner.note)
        return ids

    return await patiently(session, deed)


def _chosen(stage: AnyStage, act: Act, where: Where, manner: Manner) -> Select[Any]:
    rows = _keyed(stage).where(*where, *takeable(stage, act, manner))
    return rows.order_by(stage.model.id).limit(manner.limit).with_for_update(of=stage.model)


def _keyed(stage: AnyStage) -> Select[Any]:
    """The id, then whatever two active rows may not share."""
    shared = {name for names in _rivalries(stage) for name in names}
    return select(stage.model.id, *(getattr(stage.model, name) for name in sorted(shared)))


async def _one_of_each(session: AsyncSession, chosen: Select[Any]) -> list[UUID]:
    """Of rows that cannot be active together the newest; the others stay as they are."""
    found = (await session.execute(chosen)).all()
    newest = {tuple(rest) or row_id: row_id for row_id, *rest in found}
    return list(newest.values())


async def _queue(session: AsyncSession, stage: AnyStage, ids: list[UUID], manner: Manner) -> None:
    await _change(session, stage, ids, lambda place: _anew(stage, manner.due(place)))
    replayed = DeadLetterState.REPLAYED
    await close(session, stage, ids, state=replayed, by=manner.by, note=manner.note)
    wake_after_commit(session, stage.name)


async def _change(
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


def _anew(stage: AnyStage, due: ColumnElement[Any]) -> dict[Any, Any]:
    queue, model = stage.queue, stage.model
    noted = [getattr(model, each) for each in (stage.started, stage.finished) if each]
    return {
        queue.status: stage.words.queued,
        queue.due_at: due,
        queue.attempts: 0,
        queue.rescues: 0,
        queue.interruptions: 0,
        queue.error: null(),
        **_let_go(stage),
        **dict.fromkeys(noted, null()),
        **stage.follow(stage.words.queued),
        **{getattr(model, name): value for name, value in stage.fresh.items()},
    }


def _ended(stage: AnyStage, note: str | None) -> dict[Any, Any]:
    queue, status = stage.queue, stage.words.cancelled or stage.words.failed
    finished = {getattr(stage.model, stage.finished): func.now()} if stage.finished else {}
    return {
        queue.status: status,
        **stage.follow(status),
        queue.error: f"Cancelled: {note}" if note else "Cancelled.",
        **_let_go(stage),
        **finished,
    }


def _let_go(stage: AnyStage) -> dict[Any, Any]:
    queue = stage.queue
    return dict.fromkeys((queue.lease_token, queue.lease_expires_at, queue.worker_id), null())


def is_one_of(key: Any, ids: Sequence[UUID]) -> ColumnElement[bool]:
    """One statement for any number of ids."""
    found: ColumnElement[bool] = key == any_(literal(list(ids), ARRAY(Uuid)))
    return found


async def patiently(session: AsyncSession, deed: Callable[[], Awaitable[T]]) -> T:
    """Begin again when somebody else's change of the same rows came in between."""
    for _ in range(TRIES):
        try:
            async with session.begin_nested():
                return await deed()
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) not in IN_EACH_OTHERS_WAY:
                raise
    raise Conflict("Somebody else is changing the same rows; try again in a moment.")
