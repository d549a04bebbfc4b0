"""A time budget that runs only while we wait for the network."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from math import inf
from typing import TypeVar

T = TypeVar("T")
_CLOCK_TICK = 0.001


class Deadline:
    """So many seconds for all that is awaited through it; `TimeoutError` when they are spent.

    Waiting at the gate, or for whoever consumes a stream, is not the host's fault and not counted.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._left = seconds

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
