"""What each tool must be able to do to be measured, and nothing of how it does it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

BATCH = 100
"""Jobs taken from the queue at once, where a tool can take more than one."""

Started = Callable[[str], None]
"""Told a job's id as the first act of its work."""


class Contender(Protocol):
    """One tool on one database. A process holds one of these and nothing of the others."""

    async def prepare(self) -> None:
        """Make the tool's tables as it makes them itself."""

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Connections for what follows."""

    async def enqueue_many(self, count: int) -> None: ...

    async def enqueue_one(self) -> str:
        """As a web request would: returns the job's id when the job is committed."""

    async def drain(self, count: int) -> None:
        """Work that many queued jobs; returns when all their ends are committed."""

    def working(self, started: Started) -> AbstractAsyncContextManager[None]:
        """A worker that waits for jobs, for as long as the block lasts."""

    async def ended(self) -> int:
        """How many jobs the database says are done."""
