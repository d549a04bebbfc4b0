"""The SQL statements of a stage's queue: claim, prove, settle, find lost rows.

All times are the database's. A status is always an inlined literal: with a bound parameter a
generic plan cannot use the partial index.


All times are the database's; a status is always written out as a literal, because with a bound
one a generic plan cannot use the partial index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CTE,
    ColumnElement,
    Float,
    FromClause,
    Integer,
    Interval,
    Select,
    SmallInteger,
    Text,
    Update,
    Uuid,
    all_,
    and_,
    any_,
    bindparam,
    case,
    cast,
    column,
    exists,
    extract,
    func,
    insert,
    inspect,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.sql.selectable import TableValuedAlias

from scrapersky.db.base import Base
from scrapersky.db.statements import CompiledStatement, RowValues, inline_integer, inline_text
from scrapersky.pipeline.host_claims import HostClaimStatements
from scrapersky.pipeline.queue import ISOLATE_AFTER_RESCUES, Claim, LossTally, RowChange
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import EventKind, StageControl, StageEvent, Worker
from scrapersky.pipeline.workers import is_alive

RECENTLY_DUE_WINDOW = timedelta(seconds=2)


class QueueStatements:
    """The statements of one stage."""

    def __init__(self, stage: AnyStage) -> None:
        self.stage = stage
        self.model: Any = stage.model
        self.queue = stage.queue
        self._by_host = HostClaimStatements(self, stage.host) if stage.host else None
        self.claim_by_id = CompiledStatement(self._claim_by_id())
        self.prove = self._prove()
        self.complete = CompiledStatement(self._complete())
        self.settle_plainly = CompiledStatement(self._settle_without_results())
        self.settle_rows = self._settle(fenced=True, returning_rows=True)
        self.settle_ids = self._settle(fenced=True, returning_rows=False)
        self.resettle = self._settle(fenced=False, returning_rows=False)
        self.lost = self._lost()
        self.strays = self._strays()
        self.disowned = self._disowned()
        self._claim_keys = [
            each.key
            for each in (
                self.queue.lease_token,
                self.queue.attempts,
                self.queue.rescues,
                self.queue.interruptions,
            )
        ]
        self._new_row = inspect(stage.model).class_manager.new_instance
        self._keys = [each.key for each in inspect(stage.model).column_attrs]

    @cached_property
    def claim(self) -> CompiledStatement:
        return CompiledStatement(
            self._by_host.claim() if self._by_host else self._claim(self.is_shared())
        )

    @cached_property
    def claim_isolated(self) -> CompiledStatement:
        """The next due row that is to be worked alone."""
        return CompiledStatement(self._claim(self.is_isolated()))

    @cached_property
    def next_due(self) -> Select[Any]:
        return self._by_host.next_due() if self._by_host else self._next_due()

    def is_queued(self) -> ColumnElement[bool]:
        return self.queue.status == inline_text(self.stage.words.queued)

    def is_processing(self) -> ColumnElement[bool]:
        return self.queue.status == inline_text(self.stage.words.processing)

    def is_due(self) -> ColumnElement[bool]:
        return and_(self.is_queued(), self.queue.due_at <= func.now())

    def is_shared(self) -> ColumnElement[bool]:
        """Whether the row may be worked beside others. A process that cannot start another one
        for isolated rows takes all of them, by giving a bound that none reaches."""
        return self.queue.rescues < bindparam("isolate_after", type_=SmallInteger)

    def is_isolated(self) -> ColumnElement[bool]:
        return self.queue.rescues >= inline_integer(ISOLATE_AFTER_RESCUES)

    def only(self) -> list[ColumnElement[bool]]:
        """The stage's fixed filter."""
        return [getattr(self.model, k) == inline_text(v) for k, v in self.stage.only.items()]

    def ready_seconds(self, places: int, *only: ColumnElement[bool]) -> ColumnElement[float | None]:
        """For how long a row could have been worked and was not; nothing where none can be now.
        `places` are those of a host of which nothing else is known. Reads the whole queue."""
        if self._by_host:
            since = self._by_host.ready_since(places, self._by_host.due_hosts(*only))
        else:
            since = select(func.min(self.queue.due_at)).where(self.is_due(), *self.only(), *only)
        return cast(extract("epoch", func.now() - since.scalar_subquery()), Float)

    def ready_since(self, places: int, heads: FromClause) -> Select[Any]:
        """The same as a moment, of these rows only: `due_at`, and `key0` with the host of a stage
        that goes by hosts."""
        is_due = heads.c.due_at <= func.now()
        first = func.min(heads.c.due_at)
        if self._by_host is None:
            return select(first).where(is_due)
        hosts = select(heads.c.key0.label("host"), first.label("due_at")).where(is_due)
        return self._by_host.ready_since(places, hosts.group_by(heads.c.key0))

    def group(self) -> list[Any]:
        """The columns that stand before the due time in the queue's index, besides the fixed
        filter: rows of one group are found in the order of their due time."""
        names = (self.stage.host, self.stage.priority)
        return [getattr(self.model, name) for name in names if name]

    def order(self) -> list[Any]:
        first = [getattr(self.model, self.stage.priority)] if self.stage.priority else []
        return [*first, self.queue.due_at, self.model.id]

    def paused(self) -> ColumnElement[bool]:
        ours = StageControl.stage == inline_text(self.stage.name)
        return exists().where(ours, StageControl.paused)

    def _claim(self, which: ColumnElement[bool]) -> Update:
        """Due rows, in order, nobody else's. The CTE is materialised on purpose: as a plain
        sub-select a nested loop would run it again and claim more than asked for."""
        due = (
            select(self.model.id)
            .where(self.is_due(), which, *self.only(), ~self.paused())
            .order_by(*self.order())
            .limit(bindparam("limit", type_=Integer))
            .with_for_update(skip_locked=True)
            .cte("due")
            .prefix_with("MATERIALIZED")
        )
        # As an array, so that no plan reads the whole table to join it, whatever the limit is.
        taken = func.array(select(due.c.id).scalar_subquery(), type_=ARRAY(Uuid))
        return self.build_claim_update().where(self.model.id == any_(taken))

    def _claim_by_id(self) -> Update:
        """That one row, due or not, if it is queued."""
        wanted = self.model.id == bindparam("row_id", type_=Uuid)
        return self.build_claim_update().where(wanted, self.is_queued(), *self.only())

    def build_claim_update(self) -> Update:
        queue = self.queue
        values: dict[Any, Any] = {
            queue.status: self.stage.words.processing,
            queue.attempts: queue.attempts + 1,
            queue.lease_token: func.gen_random_uuid(),
            queue.lease_expires_at: func.now() + bindparam("lease", type_=Interval),
            queue.worker_id: bindparam("worker", type_=Uuid),
            # Of the attempt before; while the row is being worked nothing is wrong with it.
            queue.error: null(),
            **self.stage.follow(self.stage.words.processing),
        }
        if self.stage.started:
            values[getattr(self.model, self.stage.started)] = func.now()
        columns = [each.expression for each in inspect(self.stage.model).column_attrs]
        return update(self.model.__table__).values(values).returning(*columns)

    def parse_claimed(self, values: RowValues) -> tuple[Claim, Base]:
        """What a claim returned; the row is an object of the model that no session knows."""
        row: Base = self._new_row()
        state = vars(row)
        state.update(zip(self._keys, values, strict=True))
        return Claim(state["id"], *(state[key] for key in self._claim_keys)), row

    def _prove(self) -> Select[Any]:
        """Lock the claimed row to store a result; nothing when the claim was lost meanwhile.

        As strongly as an update of it would, and as settling does: whoever takes the row over,
        changes or deletes it waits or passes it by. Who only refers to it does not wait, for its
        key stays; otherwise two that store for rows of each other would wait crosswise."""
        return (
            select(self.model)
            .where(
                self.model.id == bindparam("row_id", type_=Uuid),
                self.queue.lease_token == bindparam("token", type_=Uuid),
                self.is_processing(),
            )
            .with_for_update(key_share=True)
        )

    def _settle(self, *, fenced: bool, returning_rows: bool) -> Update:
        """Many rows at once, each with its own outcome; fenced, only those still held."""
        marking = self._build_settle_update(
            _unnest_parameters(CHANGE_COLUMNS, "change"), fenced=fenced
        )
        return marking.returning(self.model if returning_rows else self.model.id)

    def _build_settle_update(self, change: Any, *, fenced: bool) -> Update:
        queue = self.queue
        due = case((change.c.delay.is_(None), queue.due_at), else_=func.now() + change.c.delay)
        values: dict[Any, Any] = {
            queue.status: change.c.status,
            queue.due_at: due,
            queue.attempts: queue.attempts - change.c.refund,
            queue.rescues: _count_losses(queue.rescues, change.c.tally, LossTally.RESCUED),
            queue.interruptions: _count_losses(
                queue.interruptions, change.c.tally, LossTally.INTERRUPTED
            ),
            queue.error: change.c.error,
            **self._clear_lease(),
            **self.stage.follow(change.c.status),
        }
        if self.stage.finished:
            ended = case((change.c.status != self.stage.words.queued, func.now()), else_=null())
            values[getattr(self.model, self.stage.finished)] = ended
        return self._update_changed(change, fenced=fenced).values(values)

    def _update_changed(self, change: Any, *, fenced: bool) -> Update:
        held = [self.queue.lease_token == change.c.token, self.is_processing()] if fenced else []
        return update(self.model).where(self.model.id == change.c.id, *held)

    def _clear_lease(self) -> dict[Any, Any]:
        queue = self.queue
        return dict.fromkeys((queue.lease_token, queue.lease_expires_at, queue.worker_id), null())

    def _complete(self) -> Select[Any]:
        """`_settle_plainly` for rows whose work succeeded, which are nearly all: one event for
        all of them, and one for each that was not held any more."""
        change = select(_unnest_parameters(COMPLETED_COLUMNS, "given")).cte("change")
        values: dict[Any, Any] = {
            self.queue.status: inline_text(self.stage.words.done),
            self.queue.rescues: 0,
            self.queue.interruptions: 0,
            self.queue.error: null(),
            **self._clear_lease(),
            **self.stage.follow(self.stage.words.done),
        }
        if self.stage.finished:
            values[getattr(self.model, self.stage.finished)] = func.now()
        marked = self._update_changed(change, fenced=True).values(values).returning(self.model.id)
        settled = marked.cte("settled")
        together = (
            select(
                inline_text(self.stage.name),
                inline_text(EventKind.COMPLETED.value),
                bindparam("worker", type_=Uuid),
                func.count(),
                func.array_agg(change.c.duration_ms),
            )
            .select_from(change.join(settled, settled.c.id == change.c.id))
            .having(func.count() > 0)
        )
        names = ["stage", "kind", "worker_id", "rows", "durations_ms"]
        told = insert(StageEvent).from_select(names, together, include_defaults=False)
        lost = self._select_events(change, settled, null(), null()).where(settled.c.id.is_(None))
        return select(settled.c.id).add_cte(told.cte("told"), self._insert_events(lost).cte("lost"))

    def _settle_without_results(self) -> Select[Any]:
        """Settle rows of which nobody stores anything, and write their events, in one statement;
        returns the ids that were still held."""
        change = select(_unnest_parameters(CHANGE_COLUMNS | EVENT_COLUMNS, "given")).cte("change")
        settled = (
            self._build_settle_update(change, fenced=True).returning(self.model.id).cte("settled")
        )
        events = self._select_events(change, settled, change.c.kind, change.c.error)
        return select(settled.c.id).add_cte(self._insert_events(events).cte("told"))

    def _select_events(self, change: CTE, settled: CTE, kind: Any, error: Any) -> Select[Any]:
        return select(
            inline_text(self.stage.name),
            change.c.id,
            case((settled.c.id.is_(None), inline_text(EventKind.FENCED.value)), else_=kind),
            bindparam("worker", type_=Uuid),
            change.c.attempt,
            func.array_append(null(), change.c.duration_ms, type_=ARRAY(Integer)),
            error,
        ).select_from(change.outerjoin(settled, settled.c.id == change.c.id))

    def _insert_events(self, events: Select[Any]) -> Any:
        names = ["stage", "row_id", "kind", "worker_id", "attempt", "durations_ms", "error"]
        return insert(StageEvent).from_select(names, events, include_defaults=False)

    def is_lost(self, dead_after: Any) -> ColumnElement[bool]:
        """Of rows in processing: the lease ran out or the worker is dead, so nobody will end the
        work. Rescue and the report of stuck rows go by the same condition."""
        alive = exists().where(Worker.id == self.queue.worker_id, is_alive(dead_after))
        return or_(self.queue.lease_expires_at < func.now(), ~alive)

    def _lost(self) -> Select[Any]:
        """Rows that nobody will end; whoever else looks passes them by."""
        dead_after = bindparam("dead_after", type_=Interval)
        return (
            select(self.model)
            .where(self.is_processing(), *self.only(), self.is_lost(dead_after))
            .limit(bindparam("limit", type_=Integer))
            .with_for_update(skip_locked=True)
        )

    def _strays(self) -> Select[Any]:
        """Rows that are ours by name but that we know nothing of: the answer to a claim, or a
        settlement, was lost with its connection. Rows just claimed are left alone. A lease longer
        than any we give was given before the database's clock was set back."""
        expires = self.queue.lease_expires_at
        return (
            select(self.model)
            .where(
                self.is_processing(),
                *self.only(),
                self.queue.worker_id == bindparam("worker", type_=Uuid),
                self.queue.lease_token != all_(bindparam("tokens", type_=ARRAY(Uuid))),
                or_(
                    expires < func.now() + bindparam("seen_by_now", type_=Interval),
                    expires > func.now() + bindparam("from_the_future", type_=Interval),
                ),
            )
            .limit(bindparam("limit", type_=Integer))
            .with_for_update(skip_locked=True)
        )

    def _disowned(self) -> Select[Any]:
        """Of the tokens given, those that hold nothing any more."""
        held = _unnest_held()
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
        lately = func.now() - RECENTLY_DUE_WINDOW
        later = self.queue.due_at > lately
        waiting = and_(self.is_queued(), self.is_shared(), later, *self.only())
        return select(func.min(self.queue.due_at) - func.now()).where(waiting)

    def parameters(self, changes: Sequence[RowChange]) -> dict[str, list[Any]]:
        """What the settling statements take, as columns."""
        return {
            "ids": [each.row_id for each in changes],
            "tokens": [each.token for each in changes],
            "statuses": [each.status for each in changes],
            "delays": [each.delay for each in changes],
            "refunds": [each.refund for each in changes],
            "errors": [each.error for each in changes],
            "tallies": [each.tally for each in changes],
        }

    def read_claim(self, row: Base) -> Claim:
        """What is known of the claim on a row that is taken away from its worker. A row that
        somebody set to processing by hand has no token; rescue does not prove one."""
        state = self.queue.of(row)
        row_id: UUID = row.id  # type: ignore[attr-defined]
        return Claim(
            row_id,
            state.lease_token or row_id,
            state.attempts,
            state.rescues,
            state.interruptions,
        )


CHANGE_COLUMNS: dict[str, tuple[str, Any]] = {
    "ids": ("id", Uuid),
    "tokens": ("token", Uuid),
    "statuses": ("status", Text),
    "delays": ("delay", Interval),
    "refunds": ("refund", Integer),
    "errors": ("error", Text),
    "tallies": ("tally", Text),
}
EVENT_COLUMNS: dict[str, tuple[str, Any]] = {
    "kinds": ("kind", Text),
    "attempts": ("attempt", SmallInteger),
    "durations": ("duration_ms", Integer),
}
COMPLETED_COLUMNS = {
    each: (CHANGE_COLUMNS | EVENT_COLUMNS)[each]
    for each in ("ids", "tokens", "attempts", "durations")
}


def _unnest_parameters(columns: Mapping[str, tuple[str, Any]], name: str) -> TableValuedAlias:
    """Outcomes as a table: an array per column, so that one statement serves any number."""
    arrays = [bindparam(each, type_=ARRAY(kind)) for each, (_, kind) in columns.items()]
    named = [column(each, kind) for each, kind in columns.values()]
    return func.unnest(*arrays).table_valued(*named).render_derived(name)


def _count_losses(counted: Any, tally: ColumnElement[str], grows: LossTally) -> ColumnElement[int]:
    return case(
        (tally == inline_text(LossTally.CLEAR), 0),
        (tally == inline_text(grows), counted + 1),
        else_=counted,
    )


def _unnest_held() -> TableValuedAlias:
    return (
        func.unnest(
            bindparam("ids", type_=ARRAY(Uuid)),
            bindparam("tokens", type_=ARRAY(Uuid)),
        )
        .table_valued(column("id", Uuid), column("token", Uuid))
        .render_derived("held")
    )


def get_lease(timeout: timedelta, grace_seconds: float) -> timedelta:
    return timeout + timedelta(seconds=grace_seconds)


_statements_by_stage: dict[str, QueueStatements] = {}


def get_statements(stage: AnyStage) -> QueueStatements:
    """The stage's statements. They are kept: to build them takes longer than to ask them."""
    known = _statements_by_stage.get(stage.name)
    if known is None or known.stage is not stage:
        known = _statements_by_stage[stage.name] = QueueStatements(stage)
    return known
