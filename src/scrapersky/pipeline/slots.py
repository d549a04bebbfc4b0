"""The rows a process holds, their time limit, and the slots they occupy."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from scrapersky.pipeline.queue import Claim
from scrapersky.pipeline.stage import Tools
from scrapersky.pipeline.tables import EventKind
from scrapersky.settings import Pace

SLOW_ROWS_PER_SLOT = 4
"""Upper bound of slow slots, as a multiple of the stage's CONCURRENCY.

Waiting costs little more than a connection. But each row needs several transactions when it starts
and ends, and with many more rows the others would wait for the database instead.
"""
REQUEST_BUDGET_DIVISOR = 4
"""Upper bound of slow slots, as a fraction of the requests that the process may have in flight."""


def count_slow_slots(pace: Pace, tools: Tools) -> int:
    """Return the number of the stage's slots for rows that wait for slow or unproven hosts."""
    most = tools.settings.slow_host_slots
    if tools.fetch is not None:
        most = min(most, max(1, tools.fetch.request_budget // REQUEST_BUDGET_DIVISOR))
    return min(most, SLOW_ROWS_PER_SLOT * pace.concurrency)


@dataclass
class HeldRow:
    """A claimed row and the task that works it."""

    claim: Claim
    item: Any
    task: asyncio.Task[EventKind] | None = None
    lost: bool = False
    late: bool = False
    """Whether the stage's timeout fired."""
    ending: bool = False
    """Whether its outcome is being written.

    From then on, a token that holds nothing does not mean that the claim was lost.
    """
    limit: TimeLimit | None = None
    waits: bool = False
    """Whether it occupies a slow slot, because its host is slow or unproven; see `SlowSlots`."""


class TimeLimit:
    """One timer for all rows that started together, cancelled when the last of them ends."""

    __slots__ = ("_left", "_timer")

    def __init__(self, rows: Sequence[HeldRow], seconds: float) -> None:
        self._left = len(rows)
        self._timer = asyncio.get_running_loop().call_later(seconds, _cancel_late_rows, rows)

    def release_one(self) -> None:
        self._left -= 1
        if not self._left:
            self._timer.cancel()


def _cancel_late_rows(rows: Sequence[HeldRow]) -> None:
    for each in rows:
        if each.task is not None and not each.ending:
            each.late = True
            each.task.cancel()


class SlotOwner(Protocol):
    free_slots: int
    free_slow_slots: int

    def poke(self) -> None: ...


@dataclass(frozen=True)
class SlotShare:
    """Slots of either kind: ordinary slots, and slow slots for slow and unproven hosts."""

    slots: int
    slow_slots: int

    @property
    def total(self) -> int:
        return self.slots + self.slow_slots


class SlowSlots:
    """Moves a row to a slow slot while it waits for its host.

    A waiting row needs no share of the machine. If it kept its ordinary slot, a few hosts that
    never answer would block the stage for the length of their timeouts. The row of an unproven host
    starts in a slow slot; any other moves there when its host is slow. With the answer it returns
    to an ordinary slot, even if their limit is then briefly exceeded: the work is already in
    progress, and the stage claims nothing until it is below its limit again.
    """

    def __init__(self, runner: SlotOwner, held: HeldRow) -> None:
        self._runner, self._held = runner, held

    def on_slow_host(self) -> None:
        if not self._held.waits and not self._held.ending and self._runner.free_slow_slots > 0:
            self._move(waits=True)
            self._runner.poke()

    def on_answer(self) -> None:
        if self._held.waits:
            self._move(waits=False)

    def _move(self, *, waits: bool) -> None:
        self._held.waits = waits
        self._runner.free_slow_slots -= 1 if waits else -1
        self._runner.free_slots += 1 if waits else -1
