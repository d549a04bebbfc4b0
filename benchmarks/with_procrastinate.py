"""procrastinate with its psycopg connector and as many jobs at once as the others take."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from procrastinate import App, JobContext, PsycopgConnector

from benchmarks.contender import BATCH, Started

POOL = 10
"""Connections; with four or twenty it is neither faster nor slower beyond the noise."""


class WithProcrastinate:
    """It takes jobs one by one; only their ends can be written side by side."""

    def __init__(self, url: str) -> None:
        logging.getLogger("procrastinate").setLevel(logging.WARNING)
        connector = PsycopgConnector(conninfo=url, min_size=POOL, max_size=POOL)
        self._app = App(connector=connector)
        self._started: Started = lambda job_id: None
        self._task = self._app.task(name="noop", pass_context=True)(self._noop)

    async def _noop(self, context: JobContext) -> None:
        self._started(str(context.job.id))

    async def prepare(self) -> None:
        async with self.opened():
            await self._app.schema_manager.apply_schema_async()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        async with self._app.open_async():
            yield

    async def enqueue_many(self, count: int) -> None:
        await self._task.batch_defer_async(*({} for _ in range(count)))

    async def enqueue_one(self) -> str:
        return str(await self._task.defer_async())

    async def drain(self, count: int) -> None:
        await self._app.run_worker_async(
            concurrency=BATCH, wait=False, install_signal_handlers=False
        )

    @asynccontextmanager
    async def working(self, started: Started) -> AsyncIterator[None]:
        self._started = started
        running = asyncio.create_task(
            self._app.run_worker_async(concurrency=BATCH, install_signal_handlers=False)
        )
        try:
            yield
        finally:
            running.cancel()
            await asyncio.wait([running])

    async def ended(self) -> int:
        row = await self._app.connector.execute_query_one_async(
            "SELECT count(*) AS ended FROM procrastinate_jobs WHERE status = 'succeeded'"
        )
        return int(row["ended"])
