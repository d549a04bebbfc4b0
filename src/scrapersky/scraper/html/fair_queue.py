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
class Turn:
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
    """Grant `slots` turns at a time: round robin over hosts, slow pages last.

    Among the waiting hosts, the one that holds the fewest slots is next. A turn that lasts longer
    than `quantum_seconds` moves to the slow lane, which may hold all slots but one. If the slow
    lane is full and others wait, the turn is preempted and starts over when there is room in the
    slow lane. Hanging pages thus delay others by at most one quantum each, however many hosts they
    are from.

    A host that timed out recently starts in the slow lane, with one turn at a time.
    """

    def __init__(
        self, slots: int, *, quantum_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._slots = slots
        self._slow_slots = max(slots - 1, 1)
        self._quantum_seconds = quantum_seconds
        self._clock = clock
        self._running: set[Turn] = set()
        self._waiting = _Lane()
        self._waiting_slow = _Lane()
        self._timeouts: OrderedDict[str, tuple[int, float]] = OrderedDict()
        """Consecutive timeouts by host, and the time of the last one."""
        self._slow_until = -math.inf
        """When a slow page last released its slot."""

    def is_delayed_by_slow_pages(self, turn: Turn) -> bool:
        """Return whether a slow page held a slot at any time since the turn was queued."""
        return self._count_slow() > 0 or self._slow_until >= turn.queued_at

    def check_host(self, host: str) -> None:
        """Raise `RetryLater` if the host is slow and one of its pages is already here."""
        if self._is_slow_host(host) and self._has_turn(host):
            raise RetryLater(
                f"Pages of {host} took too long to parse, so they are parsed one at a time.",
                after=self.get_backoff(host),
            )

    def get_backoff(self, host: str) -> timedelta:
        """Return how long to delay a page of the host. Doubles with each timeout."""
        times = max(self._timeouts.get(host, (0, 0.0))[0] - TIMEOUTS_TO_SLOW, 0)
        seconds = min(BACKOFF_FIRST_SECONDS * 2.0 ** min(times, 10), BACKOFF_LAST_SECONDS)
        return timedelta(seconds=seconds * random.uniform(0.9, 1.1))

    def enter(self, host: str) -> Turn:
        """Queue a call. Its turn has come when `granted` is set. `leave` must follow."""
        self.check_host(host)
        turn = Turn(host, is_slow=self._is_slow_host(host), queued_at=self._clock())
        self._queue(turn)
        return turn

    def start_clock(self, turn: Turn, preempt: Callable[[], None]) -> None:
        """Start measuring the turn.

        Called when the work starts, so that startup time does not count.
        """
        turn.started_at, turn.preempt, turn.is_preempted = self._clock(), preempt, False
        loop = asyncio.get_running_loop()
        loop.call_later(self._quantum_seconds + TIMER_MARGIN_SECONDS, self._assign)
        self._assign()

    def requeue(self, turn: Turn) -> None:
        """Release the slot of a preempted turn, and queue it in the slow lane."""
        self._running.discard(turn)
        self._slow_until = self._clock()
        turn.is_slow, turn.is_preempted, turn.started_at, turn.preempt = True, False, None, None
        turn.granted.clear()
        self._queue(turn)

    def leave(self, turn: Turn) -> None:
        """End a turn, even one that was never granted."""
        if turn in self._running and turn.is_slow:
            self._slow_until = self._clock()
        self._running.discard(turn)
        self._waiting.remove(turn)
        self._waiting_slow.remove(turn)
        turn.preempt = None
        self._assign()

    def note_timeout(self, host: str) -> None:
        times = self._timeouts.pop(host, (0, 0.0))[0] if self._is_recent(host) else 0
        self._timeouts[host] = (times + 1, self._clock())
        self._timeouts.move_to_end(host)
        while len(self._timeouts) > MAX_HOSTS:
            self._timeouts.popitem(last=False)

    def _is_recent(self, host: str) -> bool:
        found = self._timeouts.get(host)
        return found is not None and self._clock() - found[1] < SLOW_HOST_SECONDS

    def _is_slow_host(self, host: str) -> bool:
        return self._is_recent(host) and self._timeouts[host][0] >= TIMEOUTS_TO_SLOW

    def _has_turn(self, host: str) -> bool:
        lanes = (self._waiting, self._waiting_slow)
        is_waiting = any(host in lane.turns for lane in lanes)
        return is_waiting or any(each.host == host for each in self._running)

    def _queue(self, turn: Turn) -> None:
        (self._waiting_slow if turn.is_slow else self._waiting).add(turn)
        self._assign()

    def _assign(self) -> None:
        self._move_to_slow_lane()
        while len(self._running) < self._slots:
            held = Counter(each.host for each in self._running)
            turn = self._waiting.take(held)
            if turn is None and self._count_slow() < self._slow_slots:
                turn = self._waiting_slow.take(held)
            if turn is None:
                return
            self._running.add(turn)
            turn.granted.set()
        self._preempt_slow_pages()

    def _list_overdue(self) -> list[Turn]:
        """List turns of the normal lane that have exceeded the quantum, longest first."""
        since = self._clock() - self._quantum_seconds
        overdue = [
            (each.started_at, each)
            for each in self._running
            if each.started_at is not None and each.started_at <= since and not each.is_slow
        ]
        return [turn for _, turn in sorted(overdue, key=lambda each: each[0])]

    def _move_to_slow_lane(self) -> None:
        for turn in self._list_overdue():
            if self._count_slow() < self._slow_slots:
                turn.is_slow = True

    def _preempt_slow_pages(self) -> None:
        """Preempt only for other hosts, and only as many turns as they need.

        The slots are assigned when the holders call `requeue`.
        """
        preempted = sum(each.is_preempted for each in self._running)
        for turn in self._list_overdue():
            needed = self._waiting.count_others(turn.host)
            if needed > preempted and turn.preempt is not None and not turn.is_preempted:
                preempted += 1
                turn.is_preempted = True
                turn.preempt()

    def _count_slow(self) -> int:
        return sum(each.is_slow for each in self._running)


class _Lane:
    """Waiting turns by host. The host served last comes last."""

    def __init__(self) -> None:
        self.turns: dict[str, deque[Turn]] = {}

    def count_others(self, host: str) -> int:
        return sum(len(waiting) for each, waiting in self.turns.items() if each != host)

    def add(self, turn: Turn) -> None:
        self.turns.setdefault(turn.host, deque()).append(turn)

    def remove(self, turn: Turn) -> None:
        if turn in (waiting := self.turns.get(turn.host, deque())):
            waiting.remove(turn)
            if not waiting:
                del self.turns[turn.host]

    def take(self, held: Counter[str]) -> Turn | None:
        """Take the next turn of the host that holds the fewest slots."""
        host = min(self.turns, key=lambda each: held[each], default=None)
        if host is None:
            return None
        waiting = self.turns.pop(host)
        turn = waiting.popleft()
        if waiting:
            self.turns[host] = waiting
        return turn
