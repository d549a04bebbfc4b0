"""pgqueuer with what its performance guide and its own benchmark recommend."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import asyncpg
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.core.qm import QueueManager
from pgqueuer.domain.models import Job
from pgqueuer.queries import Queries

from benchmarks.contender import BATCH, Started

MANAGERS = 5
"""Queue managers in the process, each with a connection of its own, as in its own benchmark."""


class WithPgqueuer:
    """Default durability; a connection of its own for each queue manager."""

    def __init__(self, url: str) -> None:
        logging.getLogger("pgqueuer").setLevel(logging.WARNING)
        self._url = url
        self._connections: list[asyncpg.Connection] = []

    async def prepare(self) -> None:
        async with self.opened():
            await self._queries().install()
            await self._queries().optimize_autovacuum()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            self._connections = [await asyncpg.connect(self._url) for _ in range(MANAGERS)]
            for each in self._connections:
                stack.push_async_callback(each.close)
            yield

    async def enqueue_many(self, count: int) -> None:
        await self._queries().enqueue(["noop"] * count, [None] * count, [0] * count)

    async def enqueue_one(self) -> str:
        (job_id,) = await self._queries().enqueue("noop", None, 0)
        return str(job_id)

    async def drain(self, count: int) -> None:
        """Its drain mode may wait half a minute for a notice at the end, so we stop it instead."""
        left = count
        managers = [self._manager(each) for each in range(MANAGERS)]

        async def noop(job: Job) -> None:
            nonlocal left
            left -= 1
            if not left:
                for each in managers:
                    each.shutdown.set()

        for each in managers:
            each.entrypoint("noop")(noop)
        await asyncio.gather(*(each.run(batch_size=BATCH) for each in managers))

    @asynccontextmanager
    async def working(self, started: Started) -> AsyncIterator[None]:
        manager = self._manager()

        @manager.entrypoint("noop")
        async def noop(job: Job) -> None:
            started(str(job.id))

        running = asyncio.create_task(manager.run(batch_size=BATCH))
        try:
            yield
        finally:
            manager.shutdown.set()
            await running

    async def ended(self) -> int:
        (connection, *_) = self._connections
        assert await connection.fetchval("SELECT count(*) FROM pgqueuer") == 0
        return int(
            await connection.fetchval(
                "SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'"
            )
        )

    def _queries(self, which: int = 0) -> Queries:
        return Queries(AsyncpgDriver(self._connections[which]))

    def _manager(self, which: int = 0) -> QueueManager:
        return QueueManager(self._queries(which))
