"""Slots are shared between hosts; slow pages never hold the last one while others wait."""

from __future__ import annotations

from functools import partial

import pytest

from scrapersky.errors import RetryLater
from scrapersky.scraper.html.fair_queue import SLOW_HOST_SECONDS, FairQueue, QueueTicket

QUANTUM = 2.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Harness:
    """A queue whose turns start as soon as they are granted."""

    def __init__(self, slots: int) -> None:
        self.clock = Clock()
        self.queue = FairQueue(slots, quantum_seconds=QUANTUM, clock=self.clock)
        self.turns: list[QueueTicket] = []
        self.preempted: list[QueueTicket] = []

    def enter(self, *hosts: str) -> list[QueueTicket]:
        entered = [self.queue.enter(each) for each in hosts]
        self.turns += entered
        self.start()
        return entered

    def start(self) -> None:
        for turn in self.turns:
            if turn.granted.is_set() and turn.started_at is None:
                self.queue.start_clock(turn, partial(self.preempted.append, turn))

    def requeue(self) -> None:
        while self.preempted:
            self.queue.requeue(self.preempted.pop())
            self.start()

    def leave(self, turn: QueueTicket) -> None:
        self.turns.remove(turn)
        self.queue.leave(turn)
        self.start()

    def pass_seconds(self, seconds: float) -> None:
        self.clock.now += seconds
        self.queue._assign()
        self.start()

    @property
    def running(self) -> list[str]:
        return sorted(each.host for each in self.turns if each.granted.is_set())


async def test_hosts_take_turns() -> None:
    one = Harness(1)
    turns = one.enter("a", "a", "a", "b", "c")
    order = []
    while turns:
        (running,) = (each for each in turns if each.granted.is_set())
        order.append(running.host)
        turns.remove(running)
        one.leave(running)
    assert order == ["a", "a", "b", "c", "a"]


async def test_a_host_alone_may_use_every_slot() -> None:
    two = Harness(2)
    two.enter("a", "a", "a")
    assert two.running == ["a", "a"]


async def test_the_host_with_the_fewest_slots_is_next() -> None:
    two = Harness(2)
    _, good, *_ = two.enter("trap", "b", "trap", "trap", "b", "c")
    two.leave(good)
    assert two.running == ["b", "trap"]


async def test_a_dozen_traps_of_a_dozen_hosts_delay_others_by_a_quantum_each() -> None:
    two = Harness(2)
    two.enter(*(f"trap{number}" for number in range(12)))
    two.enter(*(f"good{number}" for number in range(20)))
    quanta = 0
    served: list[str] = []
    while len(served) < 20:
        good = [each for each in two.turns if each.granted.is_set() and each.host[:4] == "good"]
        for each in good:
            served.append(each.host)
            two.leave(each)
        if not good:
            quanta += 1
            two.pass_seconds(QUANTUM)
            two.requeue()
    assert quanta <= 12
    assert served == [f"good{number}" for number in range(20)]
    assert not two.preempted
    assert len([each for each in two.turns if each.granted.is_set() and each.is_slow]) == 1


async def test_a_slow_page_goes_on_while_nobody_waits() -> None:
    two = Harness(2)
    two.enter("a", "b")
    two.pass_seconds(10 * QUANTUM)
    assert not two.preempted
    two.enter("c")
    assert len(two.preempted) == 1
    two.requeue()
    assert "c" in two.running


async def test_a_host_that_timed_out_cannot_take_the_last_slot() -> None:
    two = Harness(2)
    for host in ("x", "x", "y", "y"):
        two.queue.note_timeout(host)
    two.enter("x", "y")
    assert two.running == ["x"]
    with pytest.raises(RetryLater):
        two.queue.enter("x")
    two.enter("a")
    assert two.running == ["a", "x"]

    two.clock.now += SLOW_HOST_SECONDS
    two.queue.check_host("x")


async def test_backoff_grows_with_each_timeout() -> None:
    queue = FairQueue(2, quantum_seconds=QUANTUM)
    waits = []
    for _ in range(8):
        queue.note_timeout("x")
        waits.append(queue.get_backoff("x").total_seconds())
    assert waits[2] > waits[1]
    assert 500 < waits[-1] < 700


async def test_a_turn_that_was_cancelled_gives_its_slot_to_the_next() -> None:
    one = Harness(1)
    first, second, third = one.enter("a", "b", "c")
    one.leave(second)
    one.leave(first)
    assert third.granted.is_set()
