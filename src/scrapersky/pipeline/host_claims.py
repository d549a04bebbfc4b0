"""Claims of a stage whose rows ask hosts: the host first, its rows second.

In plain order a host with a hundred thousand rows would stand before everybody else's, and rows
would be claimed only to wait at the gate. So the hosts that have rows take turns, those that may be
asked now give as many rows as they have free places, and all first rows go before any second one.
How exactly a host may be asked is still the gate's business (`hosts.py`); this keeps rows from
queueing up there.
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
"""Rows of which nobody knows yet whom they will ask: a group among the hosts, without a limit."""
READY_WITHIN = timedelta(seconds=1)
"""A host whose next turn is no further away is ready: its row waits at the gate for that long."""
RECHECK_INTERVAL = timedelta(seconds=1)
"""A host all of whose places are taken is looked at again after this, for those who take them may
work elsewhere and tell nobody."""
MIN_HOSTS = 16
HOSTS_PER_ROW = 4
"""How many hosts one claim looks at: enough to find some that are ready among some that are not."""
CANDIDATES_PER_ROW = 4
"""For each row wanted: some may be locked by claims at the same time."""
WIDENING_FACTOR = 4
"""A claim that came back empty looks at so many times as many, until it has seen them all."""
MAX_GROUPS = 1_000
"""So many groups of rows are asked for their next moment."""
OTHER_GROUPS_INTERVAL = timedelta(seconds=2)
"""Where there are more groups than that, the others are looked at after this time."""


class HostClaimStatements:
    """The statements of one stage that goes by hosts."""

    def __init__(self, claims: QueueStatements, host: str) -> None:
        self._claims = claims
        self._model = claims.model
        self._host: Any = getattr(claims.model, host)
        priority = claims.stage.priority
        self._proves = claims.stage.proves_hosts
        self._group = [self._host, *([getattr(claims.model, priority)] if priority else [])]

    def claim(self) -> Select[Any]:
        """What this look at the hosts came to, beside each row that was claimed or nothing."""
        hosts = self._walk_hosts()
        picked = self._pick_rows(hosts)
        ids = func.array(select(picked.c.id).scalar_subquery(), type_=ARRAY(Uuid))
        taken = self._claims.build_claim_update().where(self._model.id == any_(ids)).cte("taken")
        look = select(
            select(func.count()).select_from(hosts).scalar_subquery().label("hosts_seen"),
            _select_last(hosts.c.host, hosts.c.turn).label("last_seen"),
            _select_last(picked.c.host, picked.c.rank, picked.c.turn).label("last_served"),
        ).subquery("look")
        is_proven = select(picked.c.is_proven).where(picked.c.id == taken.c.id).scalar_subquery()
        return select(look, is_proven, taken).select_from(look.outerjoin(taken, true()))

    # Which hosts

    def _walk_hosts(self) -> CTE:
        """The hosts that have queued rows, from the one after `after_host` on and round. Each is
        found by one step into the queue's index, however many rows lie between two of them."""
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
        seen = select(walk.c.host, walk.c.turn).where(walk.c.host.is_not(None), ~came_round)
        return seen.cte("seen").prefix_with("MATERIALIZED")

    def _next_host(self, after: ColumnElement[Any]) -> ColumnElement[Any]:
        """After the last one comes the first one again."""
        of_all = select(func.min(self._host)).where(self._claims.is_queued(), *self._claims.only())
        following = of_all.where(self._host > after)
        both = following.scalar_subquery(), of_all.scalar_subquery()
        return func.coalesce(*both, type_=Text)

    # Which of them are ready

    def _select_ready(self, hosts: CTE) -> CTE:
        """Those that may be asked now and have places. What many of them have together is more
        than is wanted, so then each need not give all it has at once."""
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
        """What is known of these hosts, and how many more rows of each may be worked."""
        busy = self._select_busy()
        known = hosts.outerjoin(Host, Host.host == hosts.c.host)
        free = self._get_max_rows(bindparam("places", type_=Integer)) - func.coalesce(
            busy.c.count, 0
        )
        return known.outerjoin(busy, busy.c.host == hosts.c.host), free

    def _get_max_rows(self, places: ColumnElement[int] | int) -> ColumnElement[int]:
        """How many rows of a host may be worked at once. Of one that has not answered yet, one:
        it finds out whether the host does, and more would only wait for the same."""
        most = func.coalesce(Host.max_concurrency, places)
        return case((self._is_proven(), most), else_=func.least(most, 1))

    def _is_proven(self) -> ColumnElement[bool]:
        return func.coalesce(Host.is_proven, false()) if self._proves else true()

    def _get_row_limit(self) -> ColumnElement[int]:
        """Rows of all kinds that this claim may take."""
        return bindparam("total" if self._proves else "limit", type_=Integer)

    def _select_busy(self) -> CTE:
        return self._count_in_flight().cte("busy")

    def _count_in_flight(self) -> Select[Any]:
        """By host, the requests under way or the rows being worked, whichever are more."""
        slots = select(HostSlot.host, func.count().label("count"))
        rows = select(self._host, func.count())
        both = union_all(
            slots.where(HostSlot.expires_at > func.now()).group_by(HostSlot.host),
            rows.where(self._claims.is_processing(), *self._claims.only()).group_by(self._host),
        ).subquery()
        most = func.max(both.c.count).label("count")
        return select(both.c.host, most).group_by(both.c.host)

    def _count_turns_soon(self) -> ColumnElement[float]:
        """How many rows can begin before the next one would wait for long; nothing if there is no
        delay between them."""
        delay = func.coalesce(Host.crawl_delay_seconds, bindparam("delay_seconds", type_=Float))
        return 1 + func.floor(READY_WITHIN.total_seconds() / func.nullif(delay, 0.0, type_=Float))

    # Which rows

    def _pick_rows(self, hosts: CTE) -> CTE:
        """Rows are chosen without locks and then locked one by one until there are enough.
        Claims at the same time choose the same rows of a host, and so together take no more
        than it has places."""
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
        # Locked apart, so that each kind fills its own slots and no others.
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
            # Who has never been asked goes before who has kept us waiting.
            .order_by(chosen.c.timed_out, chosen.c.rank, chosen.c.turn)
            .limit(bindparam(limit, type_=Integer))
            .with_for_update(of=self._model, skip_locked=True)
        )

    def _select_due_rows(self, ready: CTE) -> LateralFromClause:
        """In the queue's order, with the place of each in it."""
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

    # What could be worked now

    def due_hosts(self, *only: ColumnElement[bool]) -> Select[Any]:
        """Since when each host has had a due row. Reads the whole queue."""
        due_at = self._claims.queue.due_at
        return (
            select(self._host.label("host"), func.min(due_at).label("due_at"))
            .where(self._claims.is_due(), *self._claims.only(), *only)
            .group_by(self._host)
        )

    def ready_since(self, places: int, due_hosts: Select[Any]) -> Select[Any]:
        """Since when some due row could have been claimed and was not: since it is due, its host
        may be asked again and has a place. Rows that wait for their host's next turn are not
        late, however many stand before them. It can be a part of any statement."""
        waiting = due_hosts.subquery()
        busy = self._count_in_flight().subquery()
        known = waiting.outerjoin(Host, Host.host == waiting.c.host)
        known = known.outerjoin(busy, busy.c.host == waiting.c.host)
        free = self._get_max_rows(places) > func.coalesce(busy.c.count, 0)
        since = func.greatest(waiting.c.due_at, Host.circuit_open_until, Host.next_slot_at)
        ready = and_(since <= func.now(), or_(waiting.c.host == UNKNOWN_HOST, free))
        return select(func.min(since)).select_from(known).where(ready)

    # When to look again

    def next_due(self) -> Select[Any]:
        """How long until some row is due and its host is ready."""
        groups = self._walk_groups()
        known, free = self._join_host_facts(groups)
        soon = func.now() + RECHECK_INTERVAL
        moment = func.greatest(
            groups.c.due_at,
            Host.circuit_open_until,
            Host.next_slot_at - READY_WITHIN,
            case((and_(groups.c.host != UNKNOWN_HOST, free <= 0), soon)),
        )
        # It could have been claimed and was not: somebody else is about to, or has locked it.
        overdue = moment < func.now() - RECHECK_INTERVAL
        at = case((overdue, soon), else_=moment)
        left_out = case((func.max(groups.c.turn) >= MAX_GROUPS, func.now() + OTHER_GROUPS_INTERVAL))
        return select(func.least(func.min(at), left_out) - func.now()).select_from(known)

    def _walk_groups(self) -> CTE:
        """The first row to become due of each host, or of each priority of a host."""
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


def _select_last(wanted: ColumnElement[Any], *order: ColumnElement[Any]) -> ScalarSelect[Any]:
    by = [each.desc() for each in order]
    return select(wanted).order_by(*by).limit(1).scalar_subquery()


LOOK_COLUMNS = 4
"""What stands before a claimed row's own columns: hosts seen, the last one, the last served, and
whether the row's host is proven."""


class HostRotation:
    """Where one runner is on its way round the hosts."""

    def __init__(self, settings: Settings) -> None:
        self.politeness = {
            "places": settings.host_concurrency,
            "delay_seconds": settings.host_delay_ms / 1000,
        }
        self._after = ""

    async def claim(
        self, direct: DirectConnections, statement: CompiledStatement, parameters: Mapping[str, Any]
    ) -> list[tuple[bool, RowValues]]:
        """Look at more and more hosts until there is a row or all have been seen. Each row comes
        with whether its host is proven."""
        wanted = parameters.get("total", parameters["limit"])
        hosts = max(MIN_HOSTS, HOSTS_PER_ROW * wanted)
        while True:
            here = {"after_host": self._after, "hosts": hosts, **self.politeness}
            answer = await direct.fetch(statement, {**parameters, **here})
            seen, last_seen, last_served, _ = answer[0][:LOOK_COLUMNS]
            found = answer if last_served is not None else ()
            rows = [(each[LOOK_COLUMNS - 1], each[LOOK_COLUMNS:]) for each in found]
            # Of a full hand, those are next who would have come next; else all had their turn.
            self._after = (last_served if len(rows) >= wanted else last_seen) or self._after
            if rows or seen < hosts:
                return rows
            hosts *= WIDENING_FACTOR
