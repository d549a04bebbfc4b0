"""The statements of a queue, built once per stage: claim, prove, settle, look for lost rows.

All times are the database's; a status is always written out as a literal, because with a bound
one a generic plan cannot use the partial index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Integer,
    Interval,
    Select,
    Text,
    Update,
    Uuid,
    all_,
    and_,
    bindparam,
    case,
    column,
    exists,
    func,
    literal,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.sql.selectable import TableValuedAlias

from scrapersky.db.base import Base
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import StageControl, Worker

JUST_NOW = timedelta(seconds=2)


@dataclass(frozen=True)
class Claim:
    """A row that is ours for now: the token proves it."""

    row_id: UUID
    token: UUID
    attempts: int
    began: float = field(default_factory=monotonic, compare=False)


@dataclass(frozen=True)
class Change:
    """What settling does to a row: its next status, and when it is due if it waits again."""

    row_id: UUID
    token: UUID | None
    status: str
    delay: timedelta | None = None
    refund: int = 0
    error: str | None = None


class Claims:
    """The statements of one stage."""

    def __init__(self, stage: AnyStage) -> None:
        self.stage = stage
        self.model: Any = stage.model
        self.queue = stage.queue
        self.claim = self._claim()
        self.claim_by_id = self._claim_by_id()
        self.prove = self._prove()
        self.settle_rows = self._settle(fenced=True, returning_rows=True)
        self.settle_ids = self._settle(fenced=True, returning_rows=False)
        self.resettle = self._settle(fenced=False, returning_rows=False)
        self.lost = self._lost()
        self.strays = self._strays()
        self.disowned = self._disowned()
        self.next_due = self._next_due()

    def is_queued(self) -> ColumnElement[bool]:
        return self.queue.status == _word(self.stage.words.queued)

    def is_processing(self) -> ColumnElement[bool]:
        return self.queue.status == _word(self.stage.words.processing)

    def is_due(self) -> ColumnElement[bool]:
        return and_(self.is_queued(), self.queue.due_at <= func.now())

    def only(self) -> list[ColumnElement[bool]]:
        """The stage's fixed filter."""
        return [getattr(self.model, k) == _word(v) for k, v in self.stage.only.items()]

    def order(self) -> list[Any]:
        first = [getattr(self.model, self.stage.priority)] if self.stage.priority else []
        return [*first, self.queue.due_at, self.model.id]

    def _claim(self) -> Update:
        """Due rows, in order, nobody else's. The CTE is materialised on purpose: as a plain
        sub-select a nested loop would run it again and claim more than asked for."""
        paused = exists().where(StageControl.stage == _word(self.stage.name), StageControl.paused)
        due = (
            select(self.model.id)
            .where(self.is_due(), *self.only(), ~paused)
            .order_by(*self.order())
            .limit(bindparam("limit", type_=Integer))
            .with_for_update(skip_locked=True)
            .cte("due")
            .prefix_with("MATERIALIZED")
        )
        return self._taking().where(self.model.id == due.c.id)

    def _claim_by_id(self) -> Update:
        """That one row, due or not, if it is queued."""
        wanted = self.model.id == bindparam("row_id", type_=Uuid)
        return self._taking().where(wanted, self.is_queued(), *self.only())

    def _taking(self) -> Update:
        queue = self.queue
        values: dict[Any, Any] = {
            queue.status: self.stage.words.processing,
            queue.attempts: queue.attempts + 1,
            queue.lease_token: func.gen_random_uuid(),
            queue.lease_expires_at: func.now() + bindparam("lease", type_=Interval),
            queue.worker_id: bindparam("worker", type_=Uuid),
        }
        if self.stage.started:
            values[getattr(self.model, self.stage.started)] = func.now()
        return update(self.model).values(values).returning(self.model)

    def _prove(self) -> Select[Any]:
        """Lock the claimed row to store a result; nothing when the claim was lost meanwhile."""
        return (
            select(self.model)
            .where(
                self.model.id == bindparam("row_id", type_=Uuid),
                self.queue.lease_token == bindparam("token", type_=Uuid),
                self.is_processing(),
            )
            .with_for_update()
        )

    def _settle(self, *, fenced: bool, returning_rows: bool) -> Update:
        """Many rows at once, each with its own outcome; fenced, only those still held."""
        queue, change = self.queue, _changes()
        due = case((change.c.delay.is_(None), queue.due_at), else_=func.now() + change.c.delay)
        values: dict[Any, Any] = {
            queue.status: change.c.status,
            queue.due_at: due,
            queue.attempts: queue.attempts - change.c.refund,
            queue.lease_token: null(),
            queue.lease_expires_at: null(),
            queue.worker_id: null(),
            queue.error: change.c.error,
        }
        if self.stage.finished:
            ended = case((change.c.status != self.stage.words.queued, func.now()), else_=null())
            values[getattr(self.model, self.stage.finished)] = ended
        fence = [queue.lease_token == change.c.token, self.is_processing()] if fenced else []
        statement = update(self.model).where(self.model.id == change.c.id, *fence).values(values)
        return statement.returning(self.model if returning_rows else self.model.id)

    def _lost(self) -> Select[Any]:
        """Rows whose lease ran out or whose worker is dead; whoever else looks passes them by."""
        alive = exists().where(
            Worker.id == self.queue.worker_id,
            Worker.beat_at > func.now() - bindparam("dead_after", type_=Interval),
        )
        return (
            select(self.model)
            .where(
                self.is_processing(),
                *self.only(),
                or_(self.queue.lease_expires_at < func.now(), ~alive),
            )
            .limit(bindparam("limit", type_=Integer))
            .with_for_update(skip_locked=True)
        )

    def _strays(self) -> Select[Any]:
        """Rows that are ours by name but that we know nothing of: the answer to a claim, or a
        settlement, was lost with its connection. Rows just claimed are left alone."""
        return (
            select(self.model)
            .where(
                self.is_processing(),
                *self.only(),
                self.queue.worker_id == bindparam("worker", type_=Uuid),
                self.queue.lease_token != all_(bindparam("tokens", type_=ARRAY(Uuid))),
                self.queue.lease_expires_at < func.now() + bindparam("seen_by_now", type_=Interval),
            )
            .limit(bindparam("limit", type_=Integer))
            .with_for_update(skip_locked=True)
        )

    def _disowned(self) -> Select[Any]:
        """Of the tokens given, those that hold nothing any more."""
        held = _held()
        ours = and_(
            self.model.id == held.c.id,
            self.queue.lease_token == held.c.token,
            self.is_processing(),
        )
        return (
            select(held.c.token)
            .select_from(held.outerjoin(self.model, ours))
            .where(self.model.id.is_(None))
        )

    def _next_due(self) -> Select[Any]:
        """How long until the next row that waits for its time is due. Rows that became due a
        moment ago count: the last claim may have looked just before."""
        lately = func.now() - JUST_NOW
        waiting = and_(self.is_queued(), self.queue.due_at > lately, *self.only())
        return select(func.min(self.queue.due_at) - func.now()).where(waiting)

    def parameters(self, changes: Sequence[Change]) -> dict[str, list[Any]]:
        """What the settling statements take, as columns."""
        return {
            "ids": [each.row_id for each in changes],
            "tokens": [each.token for each in changes],
            "statuses": [each.status for each in changes],
            "delays": [each.delay for each in changes],
            "refunds": [each.refund for each in changes],
            "errors": [each.error for each in changes],
        }

    def claim_of(self, row: Base) -> Claim:
        state = self.queue.of(row)
        assert state.lease_token is not None, "a row just claimed carries its token"
        return Claim(row.id, state.lease_token, state.attempts)  # type: ignore[attr-defined]


def _word(value: str) -> ColumnElement[str]:
    return literal(value, literal_execute=True)


def _changes() -> TableValuedAlias:
    return (
        func.unnest(
            bindparam("ids", type_=ARRAY(Uuid)),
            bindparam("tokens", type_=ARRAY(Uuid)),
            bindparam("statuses", type_=ARRAY(Text)),
            bindparam("delays", type_=ARRAY(Interval)),
            bindparam("refunds", type_=ARRAY(Integer)),
            bindparam("errors", type_=ARRAY(Text)),
        )
        .table_valued(
            column("id", Uuid),
            column("token", Uuid),
            column("status", Text),
            column("delay", Interval),
            column("refund", Integer),
            column("error", Text),
        )
        .render_derived("change")
    )


def _held() -> TableValuedAlias:
    return (
        func.unnest(
            bindparam("ids", type_=ARRAY(Uuid)),
            bindparam("tokens", type_=ARRAY(Uuid)),
        )
        .table_valued(column("id", Uuid), column("token", Uuid))
        .render_derived("held")
    )


def lease_of(timeout: timedelta, grace_seconds: float) -> timedelta:
    return timeout + timedelta(seconds=grace_seconds)
