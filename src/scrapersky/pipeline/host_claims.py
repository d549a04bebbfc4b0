"""Claims for stages whose rows send requests to hosts: select hosts first, then rows.

In plain queue order, a host with a hundred thousand rows would block all others, and rows would be
claimed only to wait at the host gate. Instead the hosts with queued rows are served round robin.
Each host that is ready yields as many rows as it has free slots, and the first row of every host
comes before the second row of any.

The exact limits per host are enforced by the host gate (`hosts.py`). The claim only keeps rows from
piling up there.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ARRAY,
    CTE,
    ColumnElement,
    Float,
    FromClause,
    Integer,
    ScalarSelect,
    Select,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    case,
    cast,
    false,
    func,
    literal,
    or_,
    select,
    true,
    tuple_,
    union_all,
)
from sqlalchemy.sql.selectable import LateralFromClause

from scrapersky.db.statements import CompiledStatement, DirectConnections, RowValues, inline_text
from scrapersky.pipeline.tables import Host, HostSlot
from scrapersky.settings import Settings

if TYPE_CHECKING:
    from scrapersky.pipeline.claims import QueueStatements

UNKNOWN_HOST = inline_text("")
"""Group of rows whose host is not yet determined.

It takes its turn among the hosts and has no limit.
"""
READY_WITHIN = timedelta(seconds=1)
"""A host whose next slot is at most this far away counts as ready. Its row waits at the gate."""
RECHECK_INTERVAL = timedelta(seconds=1)
"""When to check a host without free places again.

Its slots may be held by other processes, which do not notify this one when they release them.
"""
MIN_HOSTS = 16
HOSTS_PER_ROW = 4
"""Hosts that one claim visits per row requested: enough to find some that are ready."""
CANDIDATES_PER_ROW = 4
"""Rows selected per row requested, because concurrent claims may have locked some of them."""
WIDENING_FACTOR = 4
"""An empty claim is repeated with this many times more hosts, until it has visited all of them."""
MAX_GROUPS = 1_000
"""Groups of rows that `next_due` checks."""
OTHER_GROUPS_INTERVAL = timedelta(seconds=2)
"""When to check again if there are more groups than MAX_GROUPS."""


class HostClaimStatements:
    """The claim statements of one stage that claims by host."""

    def __init__(self, claims: QueueStatements, host: str) -> None:
        self._claims = claims
        self._model = claims.model
        self._host: Any = getattr(claims.model, host)
        priority = claims.stage.priority
        self._proves = claims.stage.proves_hosts
        self._group = [self._host, *([getattr(claims.model, priority)] if priority else [])]

    def claim(self) -> Select[Any]:
        """Claim rows, and return each with a summary of the hosts visited.

        The summary is returned even when no row was claimed.
        """
        hosts = self._walk_hosts()
        rows = self._pick_rows(hosts)
        ids = func.array(select(rows.c.id).scalar_subquery(), type_=ARRAY(Uuid))
        claimed = self._claims.build_claim_update().where(self._model.id == any_(ids)).cte("taken")
        look = select(
            select(func.count()).select_from(hosts).scalar_subquery().label("hosts_seen"),
            _select_last(hosts.c.host, hosts.c.turn).label("last_seen"),
            _select_last(rows.c.host, rows.c.rank, rows.c.turn).label("last_served"),
        ).subquery("look")
        is_proven = select(rows.c.is_proven).where(rows.c.id == claimed.c.id).scalar_subquery()
        return select(look, is_proven, claimed).select_from(look.outerjoin(claimed, true()))

    # Host selection

    def _walk_hosts(self) -> CTE:
        """Select the hosts that have queued rows, starting after `after_host` and wrapping around.

        A loose index scan, written as a recursive CTE: each host costs one index probe, however
        many rows it has queued. SELECT DISTINCT would read the whole queue.
        """
        begin = self._next_host(bindparam("after_host", type_=Text)).label("host")
        start = select(begin).where(~self._claims.paused()).subquery("start")
        first = start.c.host.label("first")
        walk = select(start.c.host, first, literal(1, Integer).label("turn")).cte(
            "walk", recursive=True
        )
        came_round = and_(walk.c.turn > 1, walk.c.host == walk.c.first)
        step = select(self._next_host(walk.c.host), walk.c.first, walk.c.turn + 1).where(
            ~came_round, walk.c.turn < bindparam("hosts", type_=Integer)
        )
        walk = walk.union_all(step)
        came_round = and_(walk.c.turn > 1, walk.c.host == walk.c.first)
        visited = select(walk.c.host, walk.c.turn).where(walk.c.host.is_not(None), ~came_round)
        return visited.cte("seen").prefix_with("MATERIALIZED")

    def _next_host(self, after: ColumnElement[Any]) -> ColumnElement[Any]:
        """Select the next host in order. After the last host comes the first."""
        of_all = select(func.min(self._host)).where(self._claims.is_queued(), *self._claims.only())
        following = of_all.where(self._host > after)
        both = following.scalar_subquery(), of_all.scalar_subquery()
        return func.coalesce(*both, type_=Text)

    # Host readiness

    def _select_ready(self, hosts: CTE) -> CTE:
        """Select the hosts that may be requested now and have free places.

        When there are many hosts, their places exceed the rows requested, so each host's share is
        capped.
        """
        known, free = self._join_host_facts(hosts)
        limit = self._get_row_limit()
        few = cast(func.least(free, self._count_turns_soon(), limit), Integer)
        places = case((hosts.c.host == UNKNOWN_HOST, limit), else_=few)
        share = 1 + limit * CANDIDATES_PER_ROW // func.count().over()
        return (
            select(
                hosts.c.host,
                hosts.c.turn,
                func.least(places, share).label("places"),
                or_(hosts.c.host == UNKNOWN_HOST, self._is_proven()).label("is_proven"),
                func.coalesce(Host.timeouts > 0, false()).label("timed_out"),
            )
            .select_from(known)
            .where(
                func.coalesce(Host.circuit_open_until <= func.now(), true()),
                func.coalesce(Host.next_slot_at <= func.now() + READY_WITHIN, true()),
                places > 0,
            )
            .cte("ready")
            .prefix_with("MATERIALIZED")
        )

    def _join_host_facts(self, hosts: CTE) -> tuple[FromClause, ColumnElement[int]]:
        """Join the stored state of these hosts, and compute the free places of each."""
        busy = self._select_busy()
        known = hosts.outerjoin(Host, Host.host == hosts.c.host)
        free = self._get_max_rows(bindparam("places", type_=Integer)) - func.coalesce(
            busy.c.count, 0
        )
        return known.outerjoin(busy, busy.c.host == hosts.c.host), free

    def _get_max_rows(self, places: ColumnElement[int] | int) -> ColumnElement[int]:
        """Return how many rows of a host may be worked concurrently.

        A host that has never answered gets one. That row finds out whether the host answers; more
        would only wait for the same timeout.
        """
        most = func.coalesce(Host.max_concurrency, places)
        return case((self._is_proven(), most), else_=func.least(most, 1))

    def _is_proven(self) -> ColumnElement[bool]:
        return func.coalesce(Host.is_proven, false()) if self._proves else true()

    def _get_row_limit(self) -> ColumnElement[int]:
        """Return the limit over both kinds of slots."""
        return bindparam("total" if self._proves else "limit", type_=Integer)

    def _select_busy(self) -> CTE:
        return self._count_in_flight().cte("busy")

    def _count_in_flight(self) -> Select[Any]:
        """Count the requests in flight or the rows in processing per host, whichever is larger."""
        slots = select(HostSlot.host, func.count().label("count"))
        rows = select(self._host, func.count())
        both = union_all(
            slots.where(HostSlot.expires_at > func.now()).group_by(HostSlot.host),
            rows.where(self._claims.is_processing(), *self._claims.only()).group_by(self._host),
        ).subquery()
        most = func.max(both.c.count).label("count")
        return select(both.c.host, most).group_by(both.c.host)

    def _count_turns_soon(self) -> ColumnElement[float]:
        """Return how many rows can start within READY_WITHIN; NULL if the host has no delay."""
        delay = func.coalesce(Host.crawl_delay_seconds, bindparam("delay_seconds", type_=Float))
        return 1 + func.floor(READY_WITHIN.total_seconds() / func.nullif(delay, 0.0, type_=Float))

    # Row selection

    def _pick_rows(self, hosts: CTE) -> CTE:
        """Select candidate rows without locks, then lock them until there are enough.

        Concurrent claims select the same candidates of a host. Together they therefore never take
        more rows than the host has places. If each claim locked while it selected, SKIP LOCKED
        would lead the second one to further rows of the same host.
        """
        ready = self._select_ready(hosts)
        due = self._select_due_rows(ready)
        chosen = (
            select(
                ready.c.host,
                ready.c.turn,
                ready.c.is_proven,
                ready.c.timed_out,
                due.c.id,
                due.c.rank,
            )
            .select_from(ready.join(due, true()))
            .cte("chosen")
        )
        if not self._proves:
            return self._lock_rows(chosen, "limit").cte("picked").prefix_with("MATERIALIZED")
        # Lock each kind in its own CTE, so that rows of proven hosts and probes fill only their own
        # slots.
        kinds = (("limit", chosen.c.is_proven), ("probes", ~chosen.c.is_proven))
        parts = [
            self._lock_rows(chosen, name).where(which).cte(name).prefix_with("MATERIALIZED")
            for name, which in kinds
        ]
        both = union_all(*(select(each) for each in parts)).subquery()
        first = select(both).order_by(both.c.rank, both.c.turn).limit(self._get_row_limit())
        return first.cte("picked").prefix_with("MATERIALIZED")

    def _lock_rows(self, chosen: CTE, limit: str) -> Select[Any]:
        return (
            select(self._model.id, chosen.c.host, chosen.c.rank, chosen.c.turn, chosen.c.is_proven)
            .select_from(chosen.join(self._model, self._model.id == chosen.c.id))
            .where(self._claims.is_due(), self._claims.is_shared())
            # Hosts that have never been requested come before hosts that have timed out.
            .order_by(chosen.c.timed_out, chosen.c.rank, chosen.c.turn)
            .limit(bindparam(limit, type_=Integer))
            .with_for_update(of=self._model, skip_locked=True)
        )

    def _select_due_rows(self, ready: CTE) -> LateralFromClause:
        """Select a host's due rows in queue order, with their rank."""
        order = self._claims.order()
        rank = func.row_number().over(order_by=order)
        claimable = (self._claims.is_due(), self._claims.is_shared(), *self._claims.only())
        return (
            select(self._model.id.label("id"), rank.label("rank"))
            .where(self._host == ready.c.host, *claimable)
            .order_by(*order)
            .limit(ready.c.places)
            .lateral("due")
        )

    # Claimable rows

    def due_hosts(self, *only: ColumnElement[bool]) -> Select[Any]:
        """Select per host since when it has had a due row. Reads the whole queue."""
        due_at = self._claims.queue.due_at
        return (
            select(self._host.label("host"), func.min(due_at).label("due_at"))
            .where(self._claims.is_due(), *self._claims.only(), *only)
            .group_by(self._host)
        )

    def ready_since(self, places: int, due_hosts: Select[Any]) -> Select[Any]:
        """Select since when a row has been claimable.

        A row is claimable when it is due and its host is ready and has a free place. Rows that wait
        for their host's next slot are not late, however many are queued before them. The select can
        be embedded in any statement.
        """
        waiting = due_hosts.subquery()
        busy = self._count_in_flight().subquery()
        known = waiting.outerjoin(Host, Host.host == waiting.c.host)
        known = known.outerjoin(busy, busy.c.host == waiting.c.host)
        free = self._get_max_rows(places) > func.coalesce(busy.c.count, 0)
        since = func.greatest(waiting.c.due_at, Host.circuit_open_until, Host.next_slot_at)
        ready = and_(since <= func.now(), or_(waiting.c.host == UNKNOWN_HOST, free))
        return select(func.min(since)).select_from(known).where(ready)

    # Next check

    def next_due(self) -> Select[Any]:
        """Select the time until a row is due and its host is ready."""
        groups = self._walk_groups()
        known, free = self._join_host_facts(groups)
        soon = func.now() + RECHECK_INTERVAL
        moment = func.greatest(
            groups.c.due_at,
            Host.circuit_open_until,
            Host.next_slot_at - READY_WITHIN,
            case((and_(groups.c.host != UNKNOWN_HOST, free <= 0), soon)),
        )
        # The row is claimable but was not claimed: another claim is about to take it or has locked
        # it.
        overdue = moment < func.now() - RECHECK_INTERVAL
        at = case((overdue, soon), else_=moment)
        left_out = case((func.max(groups.c.turn) >= MAX_GROUPS, func.now() + OTHER_GROUPS_INTERVAL))
        return select(func.least(func.min(at), left_out) - func.now()).select_from(known)

    def _walk_groups(self) -> CTE:
        """Select the earliest row of each host, or of each host and priority.

        A loose index scan, like `_walk_hosts`.
        """
        due_at = self._claims.queue.due_at
        labels = [each.label(f"key{n}") for n, each in enumerate(self._group)]
        claimable = (self._claims.is_queued(), self._claims.is_shared(), *self._claims.only())
        queued = select(*labels, due_at.label("due_at")).where(*claimable, ~self._claims.paused())
        first = queued.order_by(*self._group, due_at).limit(1)
        start = first.subquery("start")
        walk = select(start, literal(1, Integer).label("turn")).cte("walk", recursive=True)
        keys = [walk.c[each.name] for each in labels]
        following = first.where(tuple_(*self._group) > tuple_(*keys)).lateral("following")
        step = select(following, walk.c.turn + 1).select_from(walk.join(following, true()))
        walk = walk.union_all(step.where(walk.c.turn < MAX_GROUPS))
        return select(walk.c.key0.label("host"), walk.c.due_at, walk.c.turn).cte("groups")


def _select_last(column: ColumnElement[Any], *order: ColumnElement[Any]) -> ScalarSelect[Any]:
    by = [each.desc() for each in order]
    return select(column).order_by(*by).limit(1).scalar_subquery()


LOOK_COLUMNS = 4
"""Number of columns that precede a claimed row's own.

They are: hosts visited, last host visited, last host served, and whether the row's host is proven.
"""


class HostRotation:
    """The position of one runner in its rotation through the hosts."""

    def __init__(self, settings: Settings) -> None:
        self.politeness = {
            "places": settings.host_concurrency,
            "delay_seconds": settings.host_delay_ms / 1000,
        }
        self._after = ""

    async def claim(
        self, direct: DirectConnections, statement: CompiledStatement, parameters: Mapping[str, Any]
    ) -> list[tuple[bool, RowValues]]:
        """Visit more and more hosts until a row is claimed or all hosts have been visited.

        Each row is returned with whether its host is proven.
        """
        total = parameters.get("total", parameters["limit"])
        hosts = max(MIN_HOSTS, HOSTS_PER_ROW * total)
        while True:
            here = {"after_host": self._after, "hosts": hosts, **self.politeness}
            answer = await direct.fetch(statement, {**parameters, **here})
            visited, last_seen, last_served, _ = answer[0][:LOOK_COLUMNS]
            claimed = answer if last_served is not None else ()
            rows = [(each[LOOK_COLUMNS - 1], each[LOOK_COLUMNS:]) for each in claimed]
            # With a full batch, continue after the last host that was served, because the hosts
            # after it got nothing. Otherwise every visited host has had its turn.
            self._after = (last_served if len(rows) >= total else last_seen) or self._after
            if rows or visited < hosts:
                return rows
            hosts *= WIDENING_FACTOR
