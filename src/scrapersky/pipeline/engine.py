"""One process's part of the pipeline: heartbeat, housekeeping and a runner per stage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from time import monotonic
from typing import Any

from scrapersky.db.session import Database, parse_database_url
from scrapersky.errors import NotFound, SettingsError
from scrapersky.logging import get_logger
from scrapersky.pipeline import workers
from scrapersky.pipeline.claims import get_statements
from scrapersky.pipeline.flow import apply_pace_changes, build_valve, load_pace_changes
from scrapersky.pipeline.hosts import HostGate
from scrapersky.pipeline.isolation import IsolatedWorker
from scrapersky.pipeline.loop import StageRunner
from scrapersky.pipeline.rescue import Rescuer
from scrapersky.pipeline.stage import AnyStage, Tools
from scrapersky.pipeline.vitals import DatabaseClock, FetchCounters, ResourceMonitor, WorkerVitals
from scrapersky.pipeline.wake import Wakeups
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.scraper.html.parser_pool import ParserPool
from scrapersky.scraper.http.descriptors import raise_descriptor_limit
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.settings import Pace, Settings

SIGN_OFF_TIMEOUT_SECONDS = 5.0
"""Time for the worker to delete its row.

If the database does not answer, the process exits anyway, and the worker is found dead.
"""

HAND_BACK_SECONDS = 5.0
"""Time added to the shutdown grace period, to store and requeue what is left."""
HOUSEKEEPING_DEADLINE_SECONDS = 60.0
PACES_DEADLINE_SECONDS = 30.0
MISSED_BEAT_RETRY_SECONDS = 1.0
"""Delay before a missed heartbeat is retried. Others need to know soon which workers are alive."""

log = get_logger(__name__)


class Engine:
    """The runners, heartbeat and rescuer of this process.

    Ticks come from outside, see `Scheduler`.
    """

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
        figures: FetchCounters | None = None,
        gate: HostGate | None = None,
        parser: ParserPool | None = None,
        isolates: bool = False,
    ) -> None:
        self.database = database
        self.settings = settings
        self.wakeups = wakeups
        self.worker = worker
        self.gate = gate
        self.figures = figures or FetchCounters()
        self.own_limits = ResourceMonitor()
        self.vitals = WorkerVitals(wakeups, settings.scrapersky_data_dir, self.own_limits)
        self.tools = Tools(fetch=fetch, settings=settings, parser=parser or ParserPool())
        self.runners: dict[str, StageRunner] = {}
        self.on_interval_change: Callable[[StageRunner], None] = lambda _: None
        """Called when an operator has changed a stage's interval."""
        self.failures: dict[str, str] = {}
        """Stages that could not be registered, with the reason."""
        self.known = {each.name: each for each in (*known, *stages)}
        """All stages, including those that only other processes run.

        The depth of their queues limits the stages here that feed them.
        """
        for stage in stages:
            self._register(stage, isolates=isolates)
        registered = [each.stage for each in self.runners.values()]
        self._isolated = IsolatedWorker(database, settings, registered) if isolates else None
        # Include the stages that this process does not run. One process rescues per time slot, for
        # all stages, and it may be any of them.
        rescued = [each for each in self.known.values() if self._can_rescue(each)]
        self.rescuer = Rescuer(database, settings, rescued, self.worker)
        # The heartbeat has its own connection. It must not wait for a pooled connection behind the
        # work: a busy worker would look dead.
        self._heart = Database(
            database.url.render_as_string(hide_password=False), pool_size=1, pooled=database.pooled
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._last_beat = monotonic()
        self.gave_up = asyncio.Event()
        """Set when the database has been unreachable for WORKER_EXIT_AFTER_SECONDS.

        The process then exits, so that a supervisor restarts it.
        """

    def _register(self, stage: AnyStage, *, isolates: bool) -> None:
        """Register a stage. If it cannot be set up, the other stages still run."""
        try:
            self.runners[stage.name] = StageRunner(
                stage,
                database=self.database,
                worker=self.worker,
                tools=self.tools,
                settings=self.settings,
                valve=build_valve(
                    stage, self.known, database=self.database, settings=self.settings
                ),
                isolates=isolates,
                own_limits=self.own_limits,
            )
        except SettingsError:
            raise
        except Exception as error:
            self.failures[stage.name] = str(error) or type(error).__name__
            log.exception("stage could not be registered", stage=stage.name)

    def _can_rescue(self, stage: AnyStage) -> bool:
        """Return whether the stage's statements can be built.

        If not, the processes that run it report it.
        """
        if stage.name in self.failures:
            return False
        try:
            get_statements(stage)
        except Exception as error:
            log.warning("rows of this stage are not rescued", stage=stage.name, error=str(error))
            return False
        return True

    def runner(self, stage: str) -> StageRunner:
        if stage not in self.runners:
            raise NotFound(f"This process runs no stage {stage}.")
        return self.runners[stage]

    async def start(self) -> None:
        await self.beat()
        await self._apply_pace_changes()
        # Two tasks: a heartbeat must never wait for housekeeping, which takes many round trips.
        self._tasks = [
            asyncio.create_task(self._run_heartbeat(), name="heartbeat"),
            asyncio.create_task(self._run_housekeeping(), name="housekeeping"),
        ]
        await self.rescuer.rescue()

    async def stop(self) -> None:
        """Requeue what does not finish in time, then delete the worker's row."""
        grace = self.settings.shutdown_grace_seconds
        try:
            async with asyncio.timeout(grace + HAND_BACK_SECONDS):
                await self._hand_back(grace)
        except TimeoutError:
            log.warning("database not responding; unfinished rows will be rescued by other workers")
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SIGN_OFF_TIMEOUT_SECONDS)
        await self._sign_off()

    async def _hand_back(self, grace: float) -> None:
        async with asyncio.TaskGroup() as group:
            # At the same time: with the database gone, finishing the rows may never end.
            if self._isolated is not None:
                group.create_task(self._isolated.stop())
            finishing = [
                group.create_task(self._finish(each, grace)) for each in self.runners.values()
            ]
        counts = [each.result() for each in finishing]
        if sum(counts):
            log.info("unfinished rows requeued", rows=sum(counts))
            self.wakeups.announce(
                *(name for name, count in zip(self.runners, counts, strict=True) if count)
            )

    async def _finish(self, runner: StageRunner, grace: float) -> int:
        count = await runner.finish(grace)
        await runner.settler.idle()
        return count

    async def _sign_off(self) -> None:
        with suppress(Exception):
            async with (
                asyncio.timeout(SIGN_OFF_TIMEOUT_SECONDS),
                self._heart.transaction() as session,
            ):
                await workers.sign_off(session, self.worker)
        with suppress(TimeoutError):
            async with asyncio.timeout(SIGN_OFF_TIMEOUT_SECONDS):
                await self._heart.close()

    async def _run_heartbeat(self) -> None:
        usual = pause = self.settings.worker_beat_seconds
        while True:
            await asyncio.sleep(pause)
            try:
                await self.beat()
                pause = usual
            except Exception as error:
                pause = min(usual, MISSED_BEAT_RETRY_SECONDS)
                self.own_limits.note(error)
                log.warning("heartbeat missed", error=str(error) or repr(error))
                self._handle_missed_beats()

    def _handle_missed_beats(self) -> None:
        """Stop working rows that others may have taken over; eventually request an exit.

        After `worker_dead_after_seconds` of silence, other workers rescue our rows. Results could
        no longer be stored, because the claims are lost.
        """
        silent = monotonic() - self._last_beat
        if silent > self.settings.worker_dead_after_seconds and not self._is_suspended():
            for each in self.runners.values():
                each.suspended = True
            dropped = sum(each.drop_all() for each in self.runners.values())
            log.error("database unreachable; dropping all claimed rows", rows=dropped)
        limit = self.settings.worker_exit_after_seconds
        if limit and silent > limit and not self.gave_up.is_set():
            log.error("database unreachable for WORKER_EXIT_AFTER_SECONDS; exiting")
            self.gave_up.set()

    def _is_suspended(self) -> bool:
        return any(each.suspended for each in self.runners.values())

    def _resume(self) -> None:
        for each in self.runners.values():
            each.suspended = False
            each.poke()

    async def _run_housekeeping(self) -> None:
        """Run the periodic work that is due about as often as a heartbeat but may take longer."""
        while True:
            await asyncio.sleep(self.settings.worker_beat_seconds)
            try:
                async with asyncio.timeout(HOUSEKEEPING_DEADLINE_SECONDS):
                    await self._do_housekeeping()
            except Exception as error:
                log.warning("housekeeping failed", error=str(error) or repr(error))

    async def _do_housekeeping(self) -> None:
        await self._apply_pace_changes()
        if self.gate is not None:
            await self.gate.release_leaked_slots()
            await self.gate.renew()
        for runner in self.runners.values():
            await self._check_runner(runner)
        if self._isolated is not None:
            await self._isolated.start_if_needed()

    async def _check_runner(self, runner: StageRunner) -> None:
        """Drop rows that we hold but no longer own; requeue rows that we own but do not hold."""
        async with self.database.reading() as session:
            await runner.drop_disowned(session)
        await self.rescuer.rescue_strays(runner)

    async def _apply_pace_changes(self) -> None:
        """Apply the pace changes made by operators since the last check."""
        async with self.database.bounded_reading(PACES_DEADLINE_SECONDS) as session:
            changes = await load_pace_changes(session, list(self.known))
        for name, stage in self.known.items():
            pace = apply_pace_changes(stage.get_pace(self.settings), changes.get(name))
            for each in self.runners.values():
                each.valve.set_high_water(name, pace.high_water)
            if name in self.runners and pace != self.runners[name].pace:
                self._apply_pace(self.runners[name], pace)

    def _apply_pace(self, runner: StageRunner, pace: Pace) -> None:
        log.info("pace changed", stage=runner.stage.name, **asdict(pace))
        retimed = pace.interval_minutes != runner.pace.interval_minutes
        runner.change_pace(pace)
        if retimed:
            self.on_interval_change(runner)

    async def beat(self) -> None:
        # A heartbeat that takes longer than this is better retried on a new connection, while there
        # is time left before other workers consider this one dead.
        deadline = self.settings.worker_dead_after_seconds / 2
        async with self._heart.bounded_transaction(deadline) as session:
            clock = DatabaseClock(await workers.read_clock(session))
            state, vitals = self.state(clock), self.vitals.read(clock)
            await workers.record_heartbeat(session, self.worker, state, vitals)
        self.rescuer.note_beat()
        self._last_beat = monotonic()
        if self._is_suspended():
            self._resume()

    def state(self, clock: DatabaseClock) -> dict[str, Any]:
        """Return the state of the stages, as stored in the worker's row."""
        running = {
            name: {
                "last_tick": clock.convert(each.last_tick),
                "in_flight": len(each.held),
                "error": each.last_error or each.settler.last_error,
                "held_back": each.valve.held_back,
            }
            for name, each in self.runners.items()
        }
        return {**running, **{name: {"failed": why} for name, why in self.failures.items()}}


@asynccontextmanager
async def build_engine(
    database: Database,
    settings: Settings,
    stages: Sequence[AnyStage],
    *,
    known: Sequence[AnyStage] = (),
    isolates: bool = False,
) -> AsyncIterator[Engine]:
    """Build an engine with its fetcher and wake-ups. It is not started."""
    raise_descriptor_limit()
    worker = WorkerIdentity()
    gate = HostGate(database, settings, worker_id=worker.id)
    listen = settings.listen_database_url
    wakeups = Wakeups(database, parse_database_url(listen) if listen else None)
    figures = FetchCounters()
    fetcher = Fetcher.from_settings(settings, gate=gate, tell_end=figures.count_fetch)
    async with fetcher as fetch, ParserPool.from_settings(settings) as parser:
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
                parser=parser,
                isolates=isolates,
            )
        finally:
            await wakeups.close()


@asynccontextmanager
async def run_engine(
    database: Database,
    settings: Settings,
    stages: Sequence[AnyStage],
    *,
    known: Sequence[AnyStage] = (),
) -> AsyncIterator[Engine]:
    """Run an engine that sends heartbeats but does not tick.

    The caller chooses the rows to work.
    """
    async with build_engine(database, settings, stages, known=known) as engine:
        try:
            await engine.start()
            yield engine
        finally:
            await engine.stop()
