"""A process's share of the pipeline: its identity and heartbeat, and a runner for each stage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import Any

from scrapersky.db.session import Database, async_url
from scrapersky.errors import NotFound, SettingsError
from scrapersky.logging import get_logger
from scrapersky.pipeline import workers
from scrapersky.pipeline.figures import Figures, Vitals
from scrapersky.pipeline.flow import changed_pace, pace_changes, valve_of
from scrapersky.pipeline.hosts import HostGate
from scrapersky.pipeline.loop import StageRunner
from scrapersky.pipeline.rescue import Rescuer
from scrapersky.pipeline.stage import AnyStage, Tools
from scrapersky.pipeline.wake import Wakeups
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.scraper.fetch import Fetcher
from scrapersky.settings import Pace, Settings

GOODBYE_SECONDS = 5.0
"""A farewell that the database does not answer keeps no process from ending; its worker would be
found dead anyhow."""

MISSED_BEAT_SECONDS = 1.0
"""Soon after one that was missed, the next is tried: others wait to hear who is there."""

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
        known: Sequence[AnyStage] = (),
        figures: Figures | None = None,
        gate: HostGate | None = None,
    ) -> None:
        self.database = database
        self.settings = settings
        self.wakeups = wakeups
        self.worker = worker
        self.gate = gate
        self.figures = figures or Figures()
        self.vitals = Vitals(wakeups, settings.scrapersky_data_dir)
        self.tools = Tools(fetch=fetch, settings=settings)
        self.runners: dict[str, StageRunner] = {}
        self.on_interval_change: Callable[[StageRunner], None] = lambda _: None
        """Told when an operator changed how often a stage ticks."""
        self.failures: dict[str, str] = {}
        """Stages that could not be registered, and why."""
        self.known = {each.name: each for each in (*known, *stages)}
        """All stages there are: of those that others work, how much waits for them matters here."""
        for stage in stages:
            self._register(stage)
        registered = [each.stage for each in self.runners.values()]
        self.rescuer = Rescuer(database, settings, registered, self.worker)
        # The heartbeat has a connection of its own: it must not wait behind the work.
        self._heart = Database(
            database.url.render_as_string(hide_password=False), pool_size=1, pooled=database.pooled
        )
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
                valve=valve_of(stage, self.known, database=self.database, settings=self.settings),
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
        await self.beat()
        await self._take_paces()
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
            await asyncio.wait([self._beating], timeout=GOODBYE_SECONDS)
        await self._sign_off()

    async def _sign_off(self) -> None:
        with suppress(Exception):
            async with asyncio.timeout(GOODBYE_SECONDS), self._heart.transaction() as session:
                await workers.sign_off(session, self.worker)
        with suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self._heart.close()

    async def _beat(self) -> None:
        usual = pause = self.settings.worker_beat_seconds
        while True:
            await asyncio.sleep(pause)
            pause = min(usual, MISSED_BEAT_SECONDS)
            try:
                await self.beat()
                pause = usual
                await self._take_paces()
                if self.gate is not None:
                    await self.gate.repay()
                for runner in self.runners.values():
                    await self._look_after(runner)
            except Exception as error:
                log.warning("heartbeat missed", error=str(error) or repr(error))

    async def _look_after(self, runner: StageRunner) -> None:
        """What we hold and is not ours any more; what is ours and we do not hold."""
        async with self._heart.reading() as session:
            await runner.drop_disowned(session)
        await self.rescuer.rescue_strays(runner)

    async def _take_paces(self) -> None:
        """What operators have changed since the last beat, for this process's stages."""
        async with self._heart.reading() as session:
            changes = await pace_changes(session, list(self.known))
        for name, stage in self.known.items():
            pace = changed_pace(stage.paced(self.settings), changes.get(name))
            for each in self.runners.values():
                each.valve.set_mark(name, pace.high_water)
            if name in self.runners and pace != self.runners[name].pace:
                self._apply(self.runners[name], pace)

    def _apply(self, runner: StageRunner, pace: Pace) -> None:
        log.info("pace changed", stage=runner.stage.name, **asdict(pace))
        retimed = pace.interval_minutes != runner.pace.interval_minutes
        runner.change_pace(pace)
        if retimed:
            self.on_interval_change(runner)

    async def beat(self) -> None:
        async with self._heart.transaction() as session:
            await workers.beat(session, self.worker, self.state(), self.vitals.read())
        self.rescuer.note_beat()

    def state(self) -> dict[str, Any]:
        """What the worker's row tells others about its stages."""
        running = {
            name: {
                "last_tick": each.last_tick,
                "in_flight": len(each.held),
                "error": each.last_error,
                "held_back": each.valve.held_back,
            }
            for name, each in self.runners.items()
        }
        return {**running, **{name: {"failed": why} for name, why in self.failures.items()}}


@asynccontextmanager
async def assembled_engine(
    database: Database,
    settings: Settings,
    stages: Sequence[AnyStage],
    *,
    known: Sequence[AnyStage] = (),
) -> AsyncIterator[Engine]:
    """An engine with its fetcher and its wake-ups, not started yet."""
    worker = WorkerIdentity()
    gate = HostGate(database, settings, worker_id=worker.id)
    listen = settings.listen_database_url
    wakeups = Wakeups(database, async_url(listen) if listen else None)
    figures = Figures()
    fetcher = Fetcher.from_settings(settings, gate=gate, tell_end=figures.count_fetch)
    async with fetcher as fetch:
        try:
            yield Engine(
                database,
                settings,
                stages,
                wakeups=wakeups,
                fetch=fetch,
                worker=worker,
                known=known,
                figures=figures,
                gate=gate,
            )
        finally:
            await wakeups.close()


@asynccontextmanager
async def running_engine(
    database: Database,
    settings: Settings,
    stages: Sequence[AnyStage],
    *,
    known: Sequence[AnyStage] = (),
) -> AsyncIterator[Engine]:
    """An engine that beats but does not tick: its user says which rows to work."""
    async with assembled_engine(database, settings, stages, known=known) as engine:
        try:
            await engine.start()
            yield engine
        finally:
            await engine.stop()
