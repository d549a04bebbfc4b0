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
"""A stage may have so many times its CONCURRENCY waiting for slow hosts. The wait itself costs a
connection and hardly anything else, but each row takes some transactions when it begins and ends,
and with many more of them the others would wait for the database instead."""
REQUEST_BUDGET_DIVISOR = 4
"""And no more than this part of the requests that the process may have under way."""


def count_slow_slots(pace: Pace, tools: Tools) -> int:
    """Slots of a stage for rows that wait for slow or unproven hosts."""
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
    """The stage's timeout fired."""
    ending: bool = False
    """Its outcome is being written: from here on a token that holds nothing is no loss."""
    limit: TimeLimit | None = None
    waits: bool = False
    """It waits for a slow or unproven host, in a slot for such rows; see `SlowSlots`."""


class TimeLimit:
    """One timer for all rows that began together; gone when the last of them has ended."""

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
    """Slots of either kind: ordinary ones, and those for slow and unproven hosts."""

    slots: int
    slow_slots: int

    @property
    def total(self) -> int:
        return self.slots + self.slow_slots


class SlowSlots:
    """Moves a row to the slots for slow hosts while it waits for one.

    A row that waits needs no share of the machine. If it kept its slot, a few hosts that never
    answer would stop a stage for as long as their time-outs last. The row of an unproven host
    begins here; any other comes here when its host keeps it waiting. It goes back to the stage's
    ordinary slots with the answer, even if these are then briefly exceeded: the work is under way,
    and the stage claims nothing more until it is below its limit again.
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
