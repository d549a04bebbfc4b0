"""A time budget that runs only while we wait for the network."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Deadline:
    """So many seconds for all that is awaited through it; `TimeoutError` when they are spent.

    Waiting at the gate, or for whoever consumes a stream, is not the host's fault and not counted.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._left = seconds

    async def run(self, awaitable: Awaitable[T]) -> T:
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            async with asyncio.timeout(self._left):
                return await awaitable
        finally:
            self._left -= clock() - started
