"""Limits of a fetch: sizes, timeouts, and a deadline that counts only network waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Protocol, TypeVar

from scrapersky.settings import Settings

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
def observe_wait() -> Iterator[None]:
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


def notify_answer() -> None:
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
    def remaining(self) -> float:
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


@dataclass(frozen=True)
class FetchLimits:
    """What one fetch may cost."""

    timeout_seconds: float = 30
    """Time spent waiting for the network: redirects and body included, our own waits not."""
    max_bytes: int = 50 * 1024 * 1024
    max_decompressed_bytes: int = 256 * 1024 * 1024
    max_redirects: int = 5
    robots_timeout_seconds: float = 5
    """The same as `timeout_seconds`, for a robots.txt: it is small, and every page waits for it."""
    min_bytes_per_second: float = 64
    """A body that comes more slowly than this is given up; 0 means that any rate will do."""
    rate_window_seconds: float = 10
    """The rate is judged over so many seconds of waiting for the network, again and again."""

    @classmethod
    def from_settings(cls, settings: Settings) -> FetchLimits:
        return cls(
            timeout_seconds=settings.fetch_timeout_seconds,
            max_bytes=settings.fetch_max_bytes,
            max_decompressed_bytes=settings.sitemap_max_decompressed_bytes,
            max_redirects=settings.fetch_max_redirects,
            robots_timeout_seconds=min(
                settings.robots_timeout_seconds, settings.fetch_timeout_seconds
            ),
            min_bytes_per_second=settings.fetch_min_bytes_per_second,
        )


MAX_PAGE_BYTES = 2 * 1024 * 1024
"""Read of a home page; what links and titles it has stand before that."""
