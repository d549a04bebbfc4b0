"""Share a few slots fairly between hosts.

The hanging pages of one host must not block the pages of others.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from scrapersky.errors import RetryLater

TIMEOUTS_TO_SLOW = 2
"""Timeouts after which a host's pages are parsed in the slow lane."""
SLOW_HOST_SECONDS = 600.0
"""How long after its last timeout a host leaves the slow lane."""
BACKOFF_FIRST_SECONDS = 30.0
BACKOFF_LAST_SECONDS = 600.0
TIMER_MARGIN_SECONDS = 0.05
"""Timers of the event loop may fire slightly early, before the quantum has passed."""
MAX_HOSTS = 5_000
"""Most hosts whose timeouts are remembered. The least recent ones are evicted."""


@dataclass(eq=False)
class QueueTicket:
    """A call that waits for a slot or holds one."""

    host: str
    is_slow: bool = False
    queued_at: float = 0.0
    granted: asyncio.Event = field(default_factory=asyncio.Event)
    started_at: float | None = None
    preempt: Callable[[], None] | None = None
    """Set by the holder while it can be interrupted. The holder then calls `FairQueue.requeue`."""
    is_preempted: bool = False


class FairQueue:
    """Run up to `slots` calls at a time: round robin over hosts, slow pages last.

    Among the waiting hosts, the one that holds the fewest slots is next. A call that lasts longer
    than `quantum_seconds` moves to the slow lane, which may hold all slots but one. If the slow
    lane is full and others wait, the call is preempted and starts over when there is room in the
    slow lane. Hanging pages thus delay others by at most one quantum each, however many hosts they
    are from.

    A host that timed out recently starts in the slow lane, with one call at a time.
    """

    def __init__(
        self, slots: int, *, quantum_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._slots = slots
        self._slow_slots = max(slots - 1, 1)
        self._quantum_seconds = quantum_seconds
        self._clock = clock
        self._running: set[QueueTicket] = set()
        self._waiting = _Lane()
        self._waiting_slow = _Lane()
        self._timeouts: OrderedDict[str, tuple[int, float]] = OrderedDict()
        """Consecutive timeouts by host, and the time of the last one."""
        self._slow_until = -math.inf
        """When a slow page last released its slot."""

    def is_delayed_by_slow_pages(self, ticket: QueueTicket) -> bool:
        """Return whether a slow page held a slot at any time since the call was queued."""
        return self._count_slow() > 0 or self._slow_until >= ticket.queued_at

    def check_host(self, host: str) -> None:
        """Raise `RetryLater` if the host is slow and one of its pages is already here."""
        if self._is_slow_host(host) and self._has_ticket(host):
            raise RetryLater(
                f"Pages of {host} took too long to parse, so they are parsed one at a time.",
                after=self.get_backoff(host),
            )

    def get_backoff(self, host: str) -> timedelta:
        """Return how long to delay a page of the host. Doubles with each timeout."""
        times = max(self._timeouts.get(host, (0, 0.0))[0] - TIMEOUTS_TO_SLOW, 0)
        seconds = min(BACKOFF_FIRST_SECONDS * 2.0 ** min(times, 10), BACKOFF_LAST_SECONDS)
        return timedelta(seconds=seconds * random.uniform(0.9, 1.1))

    def enter(self, host: str) -> QueueTicket:
        """Queue a call. It may start when the ticket's `granted` is set. `leave` must follow."""
        self.check_host(host)
        ticket = QueueTicket(host, is_slow=self._is_slow_host(host), queued_at=self._clock())
        self._queue(ticket)
        return ticket

    def start_clock(self, ticket: QueueTicket, preempt: Callable[[], None]) -> None:
        """Start measuring the call.

        Called when the work starts, so that startup time does not count.
        """
        ticket.started_at, ticket.preempt, ticket.is_preempted = self._clock(), preempt, False
        loop = asyncio.get_running_loop()
        loop.call_later(self._quantum_seconds + TIMER_MARGIN_SECONDS, self._assign)
        self._assign()

    def requeue(self, ticket: QueueTicket) -> None:
        """Release the slot of a preempted call, and queue it in the slow lane."""
        self._running.discard(ticket)
        self._slow_until = self._clock()
        ticket.is_slow, ticket.is_preempted, ticket.started_at, ticket.preempt = (
            True,
            False,
            None,
            None,
        )
        ticket.granted.clear()
        self._queue(ticket)

    def leave(self, ticket: QueueTicket) -> None:
        """End a call, even one that was never granted."""
        if ticket in self._running and ticket.is_slow:
            self._slow_until = self._clock()
        self._running.discard(ticket)
        self._waiting.remove(ticket)
        self._waiting_slow.remove(ticket)
        ticket.preempt = None
        self._assign()

    def note_timeout(self, host: str) -> None:
        times = self._timeouts.pop(host, (0, 0.0))[0] if self._is_recent(host) else 0
        self._timeouts[host] = (times + 1, self._clock())
        self._timeouts.move_to_end(host)
        while len(self._timeouts) > MAX_HOSTS:
            self._timeouts.popitem(last=False)

    def _is_recent(self, host: str) -> bool:
        timeout = self._timeouts.get(host)
        return timeout is not None and self._clock() - timeout[1] < SLOW_HOST_SECONDS

    def _is_slow_host(self, host: str) -> bool:
        return self._is_recent(host) and self._timeouts[host][0] >= TIMEOUTS_TO_SLOW

    def _has_ticket(self, host: str) -> bool:
        lanes = (self._waiting, self._waiting_slow)
        is_waiting = any(host in lane.tickets for lane in lanes)
        return is_waiting or any(each.host == host for each in self._running)

    def _queue(self, ticket: QueueTicket) -> None:
        (self._waiting_slow if ticket.is_slow else self._waiting).add(ticket)
        self._assign()

    def _assign(self) -> None:
        for overdue in self._list_overdue():
            if self._count_slow() < self._slow_slots:
                overdue.is_slow = True
        while len(self._running) < self._slots:
            held = Counter(each.host for each in self._running)
            ticket = self._waiting.take(held)
            if ticket is None and self._count_slow() < self._slow_slots:
                ticket = self._waiting_slow.take(held)
            if ticket is None:
                return
            self._running.add(ticket)
            ticket.granted.set()
        self._preempt_slow_pages()

    def _list_overdue(self) -> list[QueueTicket]:
        """List calls of the normal lane that have exceeded the quantum, longest first."""
        since = self._clock() - self._quantum_seconds
        overdue = [
            (each.started_at, each)
            for each in self._running
            if each.started_at is not None and each.started_at <= since and not each.is_slow
        ]
        return [ticket for _, ticket in sorted(overdue, key=lambda each: each[0])]

    def _preempt_slow_pages(self) -> None:
        """Preempt only for other hosts, and only as many calls as they need.

        The slots are assigned when the holders call `requeue`.
        """
        preempted = sum(each.is_preempted for each in self._running)
        for ticket in self._list_overdue():
            needed = self._waiting.count_others(ticket.host)
            if needed > preempted and ticket.preempt is not None and not ticket.is_preempted:
                preempted += 1
                ticket.is_preempted = True
                ticket.preempt()

    def _count_slow(self) -> int:
        return sum(each.is_slow for each in self._running)


class _Lane:
    """Waiting tickets by host. The host served last comes last."""

    def __init__(self) -> None:
        self.tickets: dict[str, deque[QueueTicket]] = {}

    def count_others(self, host: str) -> int:
        return sum(len(waiting) for each, waiting in self.tickets.items() if each != host)

    def add(self, ticket: QueueTicket) -> None:
        self.tickets.setdefault(ticket.host, deque()).append(ticket)

    def remove(self, ticket: QueueTicket) -> None:
        if ticket in (waiting := self.tickets.get(ticket.host, deque())):
            waiting.remove(ticket)
            if not waiting:
                del self.tickets[ticket.host]

    def take(self, held: Counter[str]) -> QueueTicket | None:
        """Take the next ticket of the host that holds the fewest slots."""
        host = min(self.tickets, key=lambda each: held[each], default=None)
        if host is None:
            return None
        waiting = self.tickets.pop(host)
        ticket = waiting.popleft()
        if waiting:
            self.tickets[host] = waiting
        return ticket
