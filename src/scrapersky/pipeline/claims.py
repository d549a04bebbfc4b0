"""The SQL statements of a stage's queue: claim, prove, settle, find lost rows.

All times are the database's. Worker clocks may differ, so none of them decides whether a lease has
expired.

A status is always an inlined literal. With a bound parameter a generic plan cannot prove that the
partial index applies, and scans the table.
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
    """The compiled SQL statements of one stage."""

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
        """Claim due rows that must run isolated: alone, in a separate worker process."""
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
        """Match rows that may run next to others in the same process.

        A process that cannot start an isolated worker binds a limit that no row reaches, and so
        claims every row.
        """
        return self.queue.rescues < bindparam("isolate_after", type_=SmallInteger)

    def is_isolated(self) -> ColumnElement[bool]:
        return self.queue.rescues >= inline_integer(ISOLATE_AFTER_RESCUES)

    def only(self) -> list[ColumnElement[bool]]:
        """Return the conditions of the stage's fixed filter."""
        return [getattr(self.model, k) == inline_text(v) for k, v in self.stage.only.items()]

    def ready_seconds(self, places: int, *only: ColumnElement[bool]) -> ColumnElement[float | None]:
        """Return how many seconds the oldest claimable row has waited; NULL if there is none.

        `places` is the concurrency assumed for hosts without a limit in the table. Reads the whole
        queue.
        """
        if self._by_host:
            since = self._by_host.ready_since(places, self._by_host.due_hosts(*only))
        else:
            since = select(func.min(self.queue.due_at)).where(self.is_due(), *self.only(), *only)
        return cast(extract("epoch", func.now() - since.scalar_subquery()), Float)

    def ready_since(self, places: int, heads: FromClause) -> Select[Any]:
        """Select the time since which one of the given rows has been claimable.

        `heads` has a `due_at` column and, for stages that claim by host, the host as `key0`.
        """
        is_due = heads.c.due_at <= func.now()
        first = func.min(heads.c.due_at)
        if self._by_host is None:
            return select(first).where(is_due)
        hosts = select(heads.c.key0.label("host"), first.label("due_at")).where(is_due)
        return self._by_host.ready_since(places, hosts.group_by(heads.c.key0))

    def group(self) -> list[Any]:
        """Return the columns before the due time in the queue's index, besides the fixed filter.

        Within one group, the index yields rows in the order of their due time.
        """
        names = (self.stage.host, self.stage.priority)
        return [getattr(self.model, name) for name in names if name]

    def order(self) -> list[Any]:
        first = [getattr(self.model, self.stage.priority)] if self.stage.priority else []
        return [*first, self.queue.due_at, self.model.id]

    def paused(self) -> ColumnElement[bool]:
        ours = StageControl.stage == inline_text(self.stage.name)
        return exists().where(ours, StageControl.paused)

    def _claim(self, which: ColumnElement[bool]) -> Update:
        """Claim due rows in queue order.

        `SKIP LOCKED` lets concurrent claims pass each other: each takes rows that no other
        transaction has locked, and none waits.

        The CTE must be MATERIALIZED. As a plain subquery, a nested loop could execute it more than
        once; each execution skips the rows already locked and locks further ones, so the statement
        would claim more rows than its limit.
        """
        due = (
            select(self.model.id)
            .where(self.is_due(), which, *self.only(), ~self.paused())
            .order_by(*self.order())
            .limit(bindparam("limit", type_=Integer))
            .with_for_update(skip_locked=True)
            .cte("due")
            .prefix_with("MATERIALIZED")
        )
        # Pass the ids as an array. With a join, the planner could choose to scan the whole table,
        # depending on the limit.
        claimed = func.array(select(due.c.id).scalar_subquery(), type_=ARRAY(Uuid))
        return self.build_claim_update().where(self.model.id == any_(claimed))

    def _claim_by_id(self) -> Update:
        """Claim one row by its id if it is queued, whether or not it is due."""
        condition = self.model.id == bindparam("row_id", type_=Uuid)
        return self.build_claim_update().where(condition, self.is_queued(), *self.only())

    def build_claim_update(self) -> Update:
        queue = self.queue
        values: dict[Any, Any] = {
            queue.status: self.stage.words.processing,
            queue.attempts: queue.attempts + 1,
            # The fencing token. Every claim sets a new one, so a worker that lost the row holds a
            # token that matches nothing, and its late writes are rejected.
            queue.lease_token: func.gen_random_uuid(),
            queue.lease_expires_at: func.now() + bindparam("lease", type_=Interval),
            queue.worker_id: bindparam("worker", type_=Uuid),
            # The error belongs to the previous attempt. A row in processing has none.
            queue.error: null(),
            **self.stage.follow(self.stage.words.processing),
        }
        if self.stage.started:
            values[getattr(self.model, self.stage.started)] = func.now()
        columns = [each.expression for each in inspect(self.stage.model).column_attrs]
        return update(self.model.__table__).values(values).returning(*columns)

    def parse_claimed(self, values: RowValues) -> tuple[Claim, Base]:
        """Parse a row returned by a claim.

        The row is an instance of the model that is not attached to any session.
        """
        # Skip the model's constructor and the ORM's loading: claims are on the hot path, and the
        # row is only read.
        row: Base = self._new_row()
        state = vars(row)
        state.update(zip(self._keys, values, strict=True))
        return Claim(state["id"], *(state[key] for key in self._claim_keys)), row

    def _prove(self) -> Select[Any]:
        """Lock a claimed row in order to store a result; returns no row if the claim was lost.

        Uses FOR NO KEY UPDATE, the same lock mode as the UPDATE that settles rows. Transactions
        that take over, change or delete the row wait for it or skip it. Transactions that only
        insert a foreign key to it are not blocked, because the key does not change. With FOR
        UPDATE, two workers storing references to each other's rows would deadlock.
        """
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
        """Update many rows in one statement, each with its own outcome.

        With `fenced`, only rows that still carry the lease token of their claim are updated.
        """
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
        # The UPDATE itself is the check. Reading the token first and updating afterwards would
        # leave a gap in which the row can change hands.
        held = [self.queue.lease_token == change.c.token, self.is_processing()] if fenced else []
        return update(self.model).where(self.model.id == change.c.id, *held)

    def _clear_lease(self) -> dict[Any, Any]:
        queue = self.queue
        return dict.fromkeys((queue.lease_token, queue.lease_expires_at, queue.worker_id), null())

    def _complete(self) -> Select[Any]:
        """Settle completed rows that have no result to store.

        The common case of `_settle_without_results`, with fewer parameters. It writes one event for
        all completed rows, and one FENCED event per row whose claim was lost.
        """
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
        insert_event = insert(StageEvent).from_select(names, together, include_defaults=False)
        lost = self._select_events(change, settled, null(), null()).where(settled.c.id.is_(None))
        return select(settled.c.id).add_cte(
            insert_event.cte("told"), self._insert_events(lost).cte("lost")
        )

    def _settle_without_results(self) -> Select[Any]:
        """Settle rows that store nothing and write their events, in one statement.

        Returns the ids of the rows whose claim was still held.
        """
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
        """Match rows in processing whose lease has expired or whose worker is dead.

        No worker will settle such a row. Rescue and the report of stuck rows share this condition.
        """
        alive = exists().where(Worker.id == self.queue.worker_id, is_alive(dead_after))
        return or_(self.queue.lease_expires_at < func.now(), ~alive)

    def _lost(self) -> Select[Any]:
        """Lock lost rows. `SKIP LOCKED` lets several workers rescue at the same time."""
        dead_after = bindparam("dead_after", type_=Interval)
        return (
            select(self.model)
            .where(self.is_processing(), *self.only(), self.is_lost(dead_after))
            .limit(bindparam("limit", type_=Integer))
            .with_for_update(skip_locked=True)
        )

    def _strays(self) -> Select[Any]:
        """Lock rows in processing that carry this worker's id but are not held by it.

        They appear when the response to a claim or to a settlement is lost together with its
        connection. Rows claimed very recently are excluded, because their claim may still be on its
        way to us. A lease that expires later than any we grant was granted before the database's
        clock was set back, so such a row is a stray too.
        """
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
        """Return those of the given lease tokens that no longer hold a row."""
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
        """Select the time until the next queued row becomes due.

        Includes rows that became due within RECENTLY_DUE_WINDOW, because the previous claim may
        have run just before they did.
        """
        lately = func.now() - RECENTLY_DUE_WINDOW
        later = self.queue.due_at > lately
        waiting = and_(self.is_queued(), self.is_shared(), later, *self.only())
        return select(func.min(self.queue.due_at) - func.now()).where(waiting)

    def parameters(self, changes: Sequence[RowChange]) -> dict[str, list[Any]]:
        """Build the column arrays that the settling statements take as parameters."""
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
        """Read the claim stored on a row that is being taken away from its worker.

        A row that was set to processing manually has no token. The row's id replaces it, which is
        safe because rescue does not check tokens.
        """
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
    """Return the parameters as a table, one array per column.

    One prepared statement then serves any number of rows.
    """
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
    """Return the stage's statements.

    They are cached because building them takes longer than executing them.
    """
    known = _statements_by_stage.get(stage.name)
    if known is None or known.stage is not stage:
        known = _statements_by_stage[stage.name] = QueueStatements(stage)
    return known
