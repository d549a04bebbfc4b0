"""A time budget that runs only while we wait for the network, and who is told of long waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import Protocol, TypeVar

T = TypeVar("T")
_CLOCK_TICK = 0.001
SLOW_AFTER_SECONDS = 2.0
"""A host that keeps one request waiting for longer than this is slow."""


class WaitObserver(Protocol):
    """Told how long the current piece of work waits for hosts, so that others can go on."""

    def on_slow_host(self) -> None:
        """A wait has lasted for `SLOW_AFTER_SECONDS`."""
        ...

    def on_answer(self) -> None:
        """A host has answered: all of it, or so much that it is no drip."""
        ...


wait_observer: ContextVar[WaitObserver | None] = ContextVar("wait_observer", default=None)
"""The observer of the work that runs in this context; tasks started by the work inherit it."""


@contextmanager
def observed_wait() -> Iterator[None]:
    """Around one wait for a host."""
    observer = wait_observer.get()
    if observer is None:
        yield
        return
    loop = asyncio.get_running_loop()
    timer = loop.call_later(SLOW_AFTER_SECONDS, observer.on_slow_host)
    try:
        yield
    finally:
        timer.cancel()


def note_answer() -> None:
    """Tell the observer of this context."""
    if (observer := wait_observer.get()) is not None:
        observer.on_answer()


class Deadline:
    """So many seconds for all that is awaited through it; `TimeoutError` when they are spent.

    Waiting at the gate, or for whoever consumes a stream, is not the host's fault and not counted.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._left = seconds

    @property
    def left(self) -> float:
        return self._left

    @property
    def is_over(self) -> bool:
        return self._left < _CLOCK_TICK

    async def run(self, awaitable: Awaitable[T], *, at_most: float = inf) -> T:
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            async with asyncio.timeout(min(self._left, at_most)):
                return await awaitable
        finally:
            self._left -= clock() - started
