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
"""Wait for one response after which a host counts as slow."""


class WaitObserver(Protocol):
    """Observer of waits for hosts, so that slow work can make room for other work."""

    def on_slow_host(self) -> None:
        """Called when one wait has lasted `SLOW_AFTER_SECONDS`."""
        ...

    def on_answer(self) -> None:
        """Called when a host has answered completely, or with too much data for a slow drip."""
        ...


wait_observer: ContextVar[WaitObserver | None] = ContextVar("wait_observer", default=None)
"""Observer of the work in the current context. Tasks started by the work inherit it."""


@contextmanager
def observe_wait() -> Iterator[None]:
    """Notify the observer if the block, a wait for a host, takes too long."""
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
    """Notify the observer of the current context that a host has answered."""
    if (observer := wait_observer.get()) is not None:
        observer.on_answer()


class Deadline:
    """Time budget for all awaits that go through `run`. Raises `TimeoutError` when it is used up.

    Time spent at the gate or in the consumer of a stream is not the host's fault and is not
    counted.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.remaining = seconds

    @property
    def is_over(self) -> bool:
        return self.remaining < _CLOCK_TICK

    async def run(self, awaitable: Awaitable[T], *, at_most: float = inf) -> T:
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            async with asyncio.timeout(min(self.remaining, at_most)):
                return await awaitable
        finally:
            self.remaining -= clock() - started


@dataclass(frozen=True)
class FetchLimits:
    """Limits of one fetch."""

    timeout_seconds: float = 30
    """Time spent waiting for the network, including redirects and the body, but not our own waits.
    """
    max_bytes: int = 50 * 1024 * 1024
    max_decompressed_bytes: int = 256 * 1024 * 1024
    max_redirects: int = 5
    robots_timeout_seconds: float = 5
    """Like `timeout_seconds`, but for robots.txt, which is small and blocks every page of its host.
    """
    min_bytes_per_second: float = 64
    """Minimum transfer rate. Slower bodies are abandoned. 0 disables the check."""
    rate_window_seconds: float = 10
    """Length of the windows of network wait over which the rate is measured."""

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


MAX_ROBOTS_BYTES = 512 * 1024
"""RFC 9309 requires parsers to read at least 500 KiB. Longer files are truncated."""
MAX_PAGE_BYTES = 2 * 1024 * 1024
"""Size limit for pages. Titles and relevant links appear before that."""
