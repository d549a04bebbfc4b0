"""A process's share of the pipeline: its identity and heartbeat, and a runner for each stage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from scrapersky.db.session import Database, async_url
from scrapersky.errors import NotFound, SettingsError
from scrapersky.logging import get_logger
from scrapersky.pipeline import workers
from scrapersky.pipeline.hosts import HostGate
from scrapersky.pipeline.loop import StageRunner
from scrapersky.pipeline.rescue import Rescuer
from scrapersky.pipeline.stage import AnyStage, Tools
from scrapersky.pipeline.wake import Wakeups
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.scraper.fetch import Fetcher
from scrapersky.settings import Settings

log = get_logger(__name__)


class Engine:
    """Runners, heartbeat and rescuer of this process; what ticks them is somebody else's."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        stages: Sequence[AnyStage],
        *,
        wakeups: Wakeups,
        fetch: Fetcher,
        worker: WorkerIdentity,
    ) -> None:
        self.database = database
        self.settings = settings
        self.wakeups = wakeups
        self.worker = worker
        self.tools = Tools(fetch=fetch, settings=settings)
        self.runners: dict[str, StageRunner] = {}
        self.failures: dict[str, str] = {}
        """Stages that could not be registered, and why."""
        for stage in stages:
            self._register(stage)
        registered = [each.stage for each in self.runners.values()]
        self.rescuer = Rescuer(database, settings, registered, self.worker)
        # The heartbeat has a connection of its own: it must not wait behind the work.
        self._heart = Database(database.url.render_as_string(hide_password=False), pool_size=1)
        self._beating: asyncio.Task[None] | None = None

    def _register(self, stage: AnyStage) -> None:
        """One stage that cannot be set up does not keep the others from running."""
        try:
            self.runners[stage.name] = StageRunner(
                stage,
                database=self.database,
                worker=self.worker,
                tools=self.tools,
                settings=self.settings,
            )
        except SettingsError:
            raise
        except Exception as error:
            self.failures[stage.name] = str(error) or type(error).__name__
            log.exception("stage could not be registered", stage=stage.name)

    def runner(self, stage: str) -> StageRunner:
        if stage not in self.runners:
            raise NotFound(f"This process runs no stage {stage}.")
        return self.runners[stage]

    async def start(self) -> None:
        await self._beat_once()
        self._beating = asyncio.create_task(self._beat(), name="heartbeat")
        await self.rescuer.rescue()

    async def stop(self) -> None:
        """Hand back what is not finished in time, then say goodbye."""
        grace = self.settings.shutdown_grace_seconds
        counts = await asyncio.gather(*(each.finish(grace) for each in self.runners.values()))
        await asyncio.gather(*(each.settler.idle() for each in self.runners.values()))
        if sum(counts):
            log.info("rows handed back", rows=sum(counts))
            self.wakeups.announce(
                *(name for name, count in zip(self.runners, counts, strict=True) if count)
            )
        if self._beating is not None:
            self._beating.cancel()
            with suppress(asyncio.CancelledError):
                await self._beating
        with suppress(Exception):
            async with self._heart.transaction() as session:
                await workers.sign_off(session, self.worker)
        await self._heart.close()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.settings.worker_beat_seconds)
            try:
                await self._beat_once()
                for runner in self.runners.values():
                    await self._look_after(runner)
            except Exception as error:
                log.warning("heartbeat missed", error=str(error) or repr(error))

    async def _look_after(self, runner: StageRunner) -> None:
        """What we hold and is not ours any more; what is ours and we do not hold."""
        async with self._heart.reading() as session:
            await runner.drop_disowned(session)
        await self.rescuer.rescue_strays(runner)

    async def _beat_once(self) -> None:
        async with self._heart.transaction() as session:
            await workers.beat(session, self.worker, self.state())

    def state(self) -> dict[str, Any]:
        """What the worker's row tells others about its stages."""
        running = {
            name: {
                "last_tick": each.last_tick,
                "in_flight": len(each.held),
                "error": each.last_error,
            }
            for name, each in self.runners.items()
        }
        return {**running, **{name: {"failed": why} for name, why in self.failures.items()}}


@asynccontextmanager
async def assembled_engine(
    database: Database, settings: Settings, stages: Sequence[AnyStage]
) -> AsyncIterator[Engine]:
    """An engine with its fetcher and its wake-ups, not started yet."""
    worker = WorkerIdentity()
    gate = HostGate(database, settings, worker_id=worker.id)
    listen = settings.listen_database_url
    wakeups = Wakeups(database, async_url(listen) if listen else None)
    async with Fetcher.from_settings(settings, gate=gate) as fetch:
        try:
            yield Engine(database, settings, stages, wakeups=wakeups, fetch=fetch, worker=worker)
        finally:
            await wakeups.close()


@asynccontextmanager
async def running_engine(
    database: Database, settings: Settings, stages: Sequence[AnyStage]
) -> AsyncIterator[Engine]:
    """An engine that beats but does not tick: its user says which rows to work."""
    async with assembled_engine(database, settings, stages) as engine:
        try:
            await engine.start()
            yield engine
        finally:
            await engine.stop()
