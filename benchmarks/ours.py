"""Our own loop: the whole engine with its heartbeat, over a stage that does nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from benchmarks.contender import BATCH, Started
from scrapersky.db.base import Base, uuid7
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import Database
from scrapersky.logging import configure_logging
from scrapersky.pipeline.engine import Engine
from scrapersky.pipeline.hosts import HostGate
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.queue import StatusNames, declare_queue
from scrapersky.pipeline.scheduler import Scheduler
from scrapersky.pipeline.stage import AnyStage, Stage, Tools
from scrapersky.pipeline.tables import EventKind, StageEvent
from scrapersky.pipeline.wake import Wakeups, wake_after_commit
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.settings import Pace, Settings, SettingsSource, load_settings

RUNS = 2
"""Runs of the stage at once, as a tick may start beside a wake-up; they share its slots."""
CONCURRENCY = 6 * BATCH
"""Slots enough to claim the next batches while finished ones are being settled."""
WORDS = StatusNames(queued="queued", processing="processing", done="done", failed="failed")


@declare_queue("status", words=WORDS)
class NoopRow(Base):
    __tablename__ = "noop_rows"
    __table_args__ = ({"postgresql_with": {"fillfactor": 80}},)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    effects: Mapped[int] = mapped_column(server_default="0")

    if TYPE_CHECKING:
        status: Mapped[str]


def read(row: NoopRow) -> UUID:
    return row.id


async def work(item: UUID, tools: Tools) -> None:
    """Nothing."""


async def store(session: AsyncSession, row: NoopRow, result: None) -> None:
    row.effects = 1


NOOP = Stage(
    name="noop",
    does="Nothing.",
    model=NoopRow,
    status="status",
    words=WORDS,
    prefix="NOOP",
    pace=Pace(batch_size=BATCH, concurrency=CONCURRENCY, max_instances=RUNS),
    read=read,
    work=work,
)
STORING = replace(NOOP, store=store)


class Ours:
    """Claims, fenced and batched settling, stage events, heartbeat: nothing is switched off."""

    def __init__(self, url: str, stage: AnyStage = NOOP) -> None:
        configure_logging(level="error")
        self._stage = stage
        self._url = url
        self._database = Database(url)
        self._wakeups = Wakeups(self._database)
        self._engine: Engine | None = None
        self._stack = AsyncExitStack()

    async def prepare(self) -> None:
        await upgrade(self._database)
        async with self._database.engine.begin() as connection:
            await connection.run_sync(NoopRow.__table__.create)  # type: ignore[attr-defined]
        await self._database.close()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        async with self._stack:
            self._stack.push_async_callback(self._database.close)
            self._stack.push_async_callback(self._wakeups.close)
            yield

    async def enqueue_many(self, count: int) -> None:
        async with self._database.transaction() as session:
            await session.execute(insert(NoopRow), [{"id": uuid7()} for _ in range(count)])

    async def enqueue_one(self) -> str:
        row_id = uuid7()
        async with self._database.transaction() as session:
            await session.execute(insert(NoopRow).values(id=row_id))
            wake_after_commit(session, self._stage.name)
        return str(row_id)

    async def drain(self, count: int) -> None:
        """With the heartbeat of a worker in service; its start is not what is measured."""
        if self._engine is None:
            self._engine = await self._stack.enter_async_context(self._new_engine(self._stage))
            await self._engine.start()
            self._stack.push_async_callback(self._engine.stop)
        runner = self._engine.runner(self._stage.name)
        await asyncio.gather(*(run_job_loop(runner) for _ in range(RUNS)))

    @asynccontextmanager
    async def working(self, started: Started) -> AsyncIterator[None]:
        async def tell(item: UUID, tools: Tools) -> None:
            started(str(item))

        async with self._new_engine(replace(self._stage, work=tell)) as engine:
            scheduler = Scheduler(engine)
            await scheduler.start()
            try:
                yield
            finally:
                await scheduler.stop()

    async def ended(self) -> int:
        """Both the rows and the events must say so; rows completed together share an event."""
        async with self._database.reading() as session:
            done = await session.scalar(
                select(func.count()).where(NoopRow.status == self._stage.words.done)
            )
            told = await session.scalar(
                select(func.sum(StageEvent.rows)).where(StageEvent.kind == EventKind.COMPLETED)
            )
        assert done == told
        return int(done or 0)

    @asynccontextmanager
    async def _new_engine(self, stage: AnyStage) -> AsyncIterator[Engine]:
        """Put together as the program does, but not started: the scheduler does that itself."""
        settings, worker = _settings(self._url), WorkerIdentity()
        gate = HostGate(self._database, settings, worker_id=worker.id)
        async with Fetcher.from_settings(settings, gate=gate) as fetch:
            yield Engine(
                self._database,
                settings,
                [stage],
                wakeups=self._wakeups,
                fetch=fetch,
                worker=worker,
            )


def _settings(url: str) -> Settings:
    """The defaults, whatever the environment says."""
    return load_settings(SettingsSource(environ={}, env_file=None), database_url=url)
