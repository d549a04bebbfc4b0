"""Tick every stage and chore with APScheduler, run woken stages, and stop without losing rows."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

from apscheduler.events import (
    EVENT_JOB_ERROR,
    EVENT_JOB_EXECUTED,
    EVENT_JOB_MAX_INSTANCES,
    EVENT_JOB_MISSED,
    JobEvent,
)
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger

from scrapersky.db.session import Database
from scrapersky.logging import get_logger
from scrapersky.pipeline.chores import Chore, claim_slot, run_chore, seconds_to_next_slot
from scrapersky.pipeline.engine import Engine, build_engine
from scrapersky.pipeline.flow import HELD_BACK_POLL_SECONDS
from scrapersky.pipeline.loop import StageRunner, run_job_loop
from scrapersky.pipeline.outcome import summarize_error
from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Settings

MISFIRE_GRACE_SECONDS = 60
STOP_TIMEOUT_SECONDS = 5
CANCEL_TIMEOUT_SECONDS = 5
"""Time for cancelled tasks to release their connections. A database that is away does not answer.
"""
CLOCK_CHECK_SECONDS = 5.0
CLOCK_STEP_SECONDS = 2.0
"""A wall clock that moved this much against the monotonic one was set manually or by NTP."""
ALARM_SLACK_SECONDS = 0.05
"""Margin that makes alarms fire slightly late.

One that fires early would find nothing due, and repeat in a tight loop.
"""
RETRY_RUN_SECONDS = 10
RETRY_CHORE_SECONDS = 60

log = get_logger(__name__)


class Scheduler:
    """Runs an engine with APScheduler.

    Wake-ups give low latency; interval ticks are the safety net.
    """

    def __init__(self, engine: Engine, chores: Sequence[Chore] = ()) -> None:
        self.engine = engine
        self.chores = [self._rescue_chore(), *chores]
        self.failures = engine.failures
        self._ticking = AsyncIOScheduler(
            timezone=UTC,
            job_defaults={
                "coalesce": True,
                "misfire_grace_time": MISFIRE_GRACE_SECONDS,
                "replace_existing": True,
            },
        )
        engine.on_interval_change = self._reschedule_stage
        self._woken: set[asyncio.Task[Any]] = set()
        self._alarms: dict[str, asyncio.TimerHandle] = {}
        self._ticks: set[asyncio.Task[Any]] = set()
        """Runs of stages and chores started by APScheduler."""
        self._stopping = False
        self._clock_watch: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return bool(self._ticking.running)

    async def start(self) -> None:
        """Start the engine and the ticks. If this fails midway, whatever had started is stopped."""
        if self.is_running:
            log.warning("scheduler already running; start ignored")
            return
        try:
            await self.engine.start()
            self._ticking.add_listener(
                self._job_listener,
                EVENT_JOB_EXECUTED | EVENT_JOB_ERROR | EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES,
            )
            for runner in list(self.engine.runners.values()):
                self._register_stage(runner)
            # Send a heartbeat now, so that health checks see that the stages have a consumer.
            await self.engine.beat()
            for chore in self.chores:
                self._register_chore(chore)
            self._ticking.start()
            self._clock_watch = asyncio.create_task(self._watch_clock(), name="clock watch")
            self.engine.wakeups.listen()
        except BaseException:
            await self.stop()
            raise
        log.info("scheduler started", stages=list(self.engine.runners), failed=list(self.failures))

    async def stop(self) -> None:
        """Stop the engine, then APScheduler, then the remaining tasks.

        APScheduler 3 cancels running coroutines but cannot wait for them. The rows are therefore
        requeued before it is shut down, and the tasks it cancels are awaited here. A task that
        still held a connection when the pool is closed would leave it to the garbage collector,
        which logs an error.
        """
        self._stopping = True
        if self.is_running:
            self._ticking.pause()
        if self._clock_watch is not None:
            self._clock_watch.cancel()
        for alarm in self._alarms.values():
            alarm.cancel()
        await self.engine.stop()
        await self._wait_for_tasks(STOP_TIMEOUT_SECONDS)
        if self.is_running:
            self._ticking.shutdown(wait=False)
        for task in self._woken:
            task.cancel()
        await self._wait_for_tasks(CANCEL_TIMEOUT_SECONDS)
        log.info("scheduler stopped")

    async def _wait_for_tasks(self, seconds: float) -> None:
        if tasks := self._woken | self._ticks:
            await asyncio.wait(tasks, timeout=seconds)

    # Stages

    def _register_stage(self, runner: StageRunner) -> None:
        name = runner.stage.name
        try:
            self._ticking.add_job(
                self._track(self._tick),
                IntervalTrigger(seconds=runner.pace.interval_minutes * 60, timezone=UTC),
                args=[name],
                id=name,
                max_instances=runner.pace.max_instances,
                next_run_time=datetime.now(UTC),
                replace_existing=True,
            )
            runner.last_tick = monotonic()
            self.engine.wakeups.subscribe(name, lambda: self.wake(name))
        except Exception as error:
            self._unregister_stage(runner, error)

    def _unregister_stage(self, runner: StageRunner, error: Exception) -> None:
        """Undo a registration that failed midway.

        A remaining job would tick a stage that this process does not run, and the stage would count
        as consumed here.
        """
        name = runner.stage.name
        self.failures[name] = str(error) or type(error).__name__
        self.engine.runners.pop(name, None)
        runner.last_tick = None
        if self._ticking.get_job(name):
            self._ticking.remove_job(name)
        log.exception("stage could not be registered", stage=name)

    def _reschedule_stage(self, runner: StageRunner) -> None:
        if self.is_running and self._ticking.get_job(runner.stage.name):
            seconds = runner.pace.interval_minutes * 60
            trigger = IntervalTrigger(seconds=seconds, timezone=UTC)
            self._ticking.reschedule_job(runner.stage.name, trigger=trigger)

    async def _tick(self, stage: str) -> None:
        runner = self.engine.runner(stage)
        try:
            report = await run_job_loop(runner)
            if report is not None:
                await self._set_alarm(runner)
        except Exception as error:
            runner.last_error = summarize_error(error)
            # Retry soon instead of after the stage's interval, which may be hours. The stage is
            # reported as failing until a run succeeds.
            self._wake_after(stage, RETRY_RUN_SECONDS)
            raise

    def wake(self, stage: str) -> None:
        """Run the stage now. A run in progress checks the queue once more instead."""
        runner = self.engine.runners.get(stage)
        if self._stopping or runner is None:
            return
        runner.poke()
        if runner.runs:
            return
        # Start with an empty context: the run is not part of the request that woke it.
        task = asyncio.create_task(
            self._run_woken(stage), name=f"woken {stage}", context=contextvars.Context()
        )
        self._woken.add(task)
        task.add_done_callback(self._woken.discard)

    async def _run_woken(self, stage: str) -> None:
        try:
            await self._tick(stage)
        except Exception as error:
            log.error("run failed", stage=stage, error=str(error), exc_info=error)

    async def _set_alarm(self, runner: StageRunner) -> None:
        """Schedule a wake-up for when the next row is due, instead of waiting for the next tick."""
        seconds = await runner.seconds_to_next_due()
        if runner.valve.is_closed:
            seconds = HELD_BACK_POLL_SECONDS
        if seconds is None or seconds > runner.pace.interval_minutes * 60:
            return
        self._wake_after(runner.stage.name, seconds)

    def _wake_after(self, stage: str, seconds: float) -> None:
        if self._stopping:
            return
        if stage in self._alarms:
            self._alarms[stage].cancel()
        loop = asyncio.get_running_loop()
        self._alarms[stage] = loop.call_later(seconds + ALARM_SLACK_SECONDS, self.wake, stage)

    async def _watch_clock(self) -> None:
        """Reschedule all jobs when the wall clock is stepped.

        APScheduler plans by the wall clock. If it were set back by an hour, there would be no ticks
        for an hour.
        """
        offset = time.time() - monotonic()
        while True:
            await asyncio.sleep(CLOCK_CHECK_SECONDS)
            before, offset = offset, time.time() - monotonic()
            if abs(offset - before) < CLOCK_STEP_SECONDS:
                continue
            log.warning("the system clock was stepped", seconds=round(offset - before))
            for job in self._ticking.get_jobs():
                job.modify(next_run_time=datetime.now(UTC))

    # Chores

    def _rescue_chore(self) -> Chore:
        async def rescue(_database: Database, _settings: Settings) -> int:
            return await self.engine.rescuer.rescue()

        return Chore(
            name="rescue_lost_leases",
            does="Requeue rows whose worker died or whose lease expired.",
            every=timedelta(seconds=self.engine.settings.worker_beat_seconds),
            run=rescue,
        )

    def _register_chore(self, chore: Chore) -> None:
        self._ticking.add_job(
            self._track(self._do_chore),
            IntervalTrigger(seconds=chore.every.total_seconds(), timezone=UTC),
            args=[chore],
            id=chore.name,
            max_instances=1,
            next_run_time=datetime.now(UTC),
            replace_existing=True,
        )

    async def _do_chore(self, chore: Chore, *, has_slot: bool = False) -> None:
        engine = self.engine
        if has_slot or await claim_slot(engine.database, chore, engine.worker.id):
            await self._run_chore(chore)

    def _track(self, job: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        """Wrap a job so that `stop` can wait for it while it runs."""

        async def run(*arguments: Any, **options: Any) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._ticks.add(task)
            try:
                await job(*arguments, **options)
            finally:
                self._ticks.discard(task)

        return run

    async def _run_chore(self, chore: Chore) -> None:
        try:
            await run_chore(self.engine.database, self.engine.settings, chore)
        except Exception:
            self._retry_chore(chore)
            raise

    def _retry_chore(self, chore: Chore) -> None:
        """Retry a failed chore within the same slot, which this process holds.

        Otherwise an hourly chore that failed in a database restart would be reported as failing for
        an hour.
        """
        if self._stopping or seconds_to_next_slot(chore.every) <= RETRY_CHORE_SECONDS:
            return
        self._ticking.add_job(
            self._track(self._do_chore),
            DateTrigger(datetime.now(UTC) + timedelta(seconds=RETRY_CHORE_SECONDS)),
            args=[chore],
            kwargs={"has_slot": True},
            id=f"{chore.name} (retry)",
            replace_existing=True,
        )

    # APScheduler events

    def _job_listener(self, event: JobEvent) -> None:
        """Log failed runs as errors.

        Executed ones are logged at debug, because runs that found rows log a line themselves.
        """
        if event.code == EVENT_JOB_ERROR:
            error = event.exception
            if self._stopping and isinstance(error, asyncio.CancelledError):
                return
            log.error("run failed", job=event.job_id, error=str(error), exc_info=error)
        elif event.code == EVENT_JOB_MISSED:
            log.warning("tick missed", job=event.job_id, due=str(event.scheduled_run_time))
        elif event.code == EVENT_JOB_MAX_INSTANCES:
            log.debug("tick skipped, the stage is full", job=event.job_id)
            if runner := self.engine.runners.get(event.job_id):
                runner.last_tick = monotonic()
                runner.poke()
        else:
            log.debug("run executed", job=event.job_id)


@asynccontextmanager
async def run_scheduler(
    database: Database,
    settings: Settings,
    stages: Sequence[AnyStage],
    chores: Sequence[Chore],
    *,
    known: Sequence[AnyStage] = (),
) -> AsyncIterator[Scheduler]:
    """Run a scheduler for these stages for the duration of the block. `known` are all stages."""
    # The isolated worker is started with the environment that this process's settings were read
    # from. Without one it would run with other settings, so none is started.
    isolates = bool(settings.environ)
    async with build_engine(database, settings, stages, known=known, isolates=isolates) as engine:
        scheduler = Scheduler(engine, chores)
        await scheduler.start()
        try:
            yield scheduler
        finally:
            await scheduler.stop()


class _SkippedTickFilter(logging.Filter):
    """Drops APScheduler's warning about skipped ticks.

    They are normal while a stage drains a long queue.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return "maximum number of running instances" not in record.getMessage()


logging.getLogger("apscheduler.scheduler").addFilter(_SkippedTickFilter())
logging.getLogger("apscheduler.executors.default").setLevel(logging.CRITICAL)
"""APScheduler would log failed runs with their traceback a second time; our listener already does.
"""
