"""Ticks every stage and every chore, starts runs when woken, and stops without losing a row."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from apscheduler.events import (
    EVENT_JOB_ERROR,
    EVENT_JOB_EXECUTED,
    EVENT_JOB_MAX_INSTANCES,
    EVENT_JOB_MISSED,
    JobEvent,
)
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from scrapersky.db.session import Database
from scrapersky.logging import get_logger
from scrapersky.pipeline.chores import Chore, take_slot
from scrapersky.pipeline.engine import Engine, assembled_engine
from scrapersky.pipeline.flow import HELD_BACK_LOOK_SECONDS
from scrapersky.pipeline.loop import StageRunner, run_job_loop
from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Settings

MISFIRE_GRACE_SECONDS = 60
STOP_PATIENCE_SECONDS = 5
ALARM_SLACK_SECONDS = 0.05
"""A little late rather than a little early, and never in a tight circle."""

log = get_logger(__name__)


class Scheduler:
    """APScheduler over an engine: interval ticks as the safety net, wake-ups in between."""

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
        engine.on_interval_change = self._retime
        self._woken: set[asyncio.Task[Any]] = set()
        self._alarms: dict[str, asyncio.TimerHandle] = {}
        self._doing_chores: set[asyncio.Task[Any]] = set()
        self._stopping = False

    @property
    def is_running(self) -> bool:
        return bool(self._ticking.running)

    async def start(self) -> None:
        """A start that fails half-way shuts down what had begun."""
        if self.is_running:
            log.warning("the scheduler is running already; this start does nothing")
            return
        try:
            await self.engine.start()
            self._ticking.add_listener(
                self._job_listener,
                EVENT_JOB_EXECUTED | EVENT_JOB_ERROR | EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES,
            )
            for runner in list(self.engine.runners.values()):
                self._register_stage(runner)
            # Whoever judges the stages from now on is to see that somebody runs them.
            await self.engine.beat()
            for chore in self.chores:
                self._register_chore(chore)
            self._ticking.start()
            self.engine.wakeups.listen()
        except BaseException:
            await self.stop()
            raise
        log.info("scheduler started", stages=list(self.engine.runners), failed=list(self.failures))

    async def stop(self) -> None:
        """APScheduler 3 cancels running coroutines but cannot wait for them, so the rows are
        handed back first, and only then is it told to stop."""
        self._stopping = True
        if self.is_running:
            self._ticking.pause()
        for alarm in self._alarms.values():
            alarm.cancel()
        await self.engine.stop()
        for tasks in (self._woken, self._doing_chores):
            if tasks:
                await asyncio.wait(tasks, timeout=STOP_PATIENCE_SECONDS)
        if self.is_running:
            self._ticking.shutdown(wait=False)
        log.info("scheduler stopped")

    # Stages

    def _register_stage(self, runner: StageRunner) -> None:
        name = runner.stage.name
        try:
            self._ticking.add_job(
                self._tick,
                IntervalTrigger(seconds=runner.pace.interval_minutes * 60, timezone=UTC),
                args=[name],
                id=name,
                max_instances=runner.pace.max_instances,
                next_run_time=datetime.now(UTC),
                replace_existing=True,
            )
            runner.last_tick = time.time()
            self.engine.wakeups.subscribe(name, lambda: self.wake(name))
        except Exception as error:
            self.failures[name] = str(error) or type(error).__name__
            self.engine.runners.pop(name, None)
            log.exception("stage could not be registered", stage=name)

    def _retime(self, runner: StageRunner) -> None:
        if self.is_running and self._ticking.get_job(runner.stage.name):
            seconds = runner.pace.interval_minutes * 60
            trigger = IntervalTrigger(seconds=seconds, timezone=UTC)
            self._ticking.reschedule_job(runner.stage.name, trigger=trigger)

    async def _tick(self, stage: str) -> None:
        runner = self.engine.runner(stage)
        report = await run_job_loop(runner)
        if report is not None:
            await self._set_alarm(runner)

    def wake(self, stage: str) -> None:
        """Run the stage now. A run that is under way looks again by itself."""
        runner = self.engine.runners.get(stage)
        if self._stopping or runner is None:
            return
        runner.poke()
        if runner.runs:
            return
        # In a context of its own: the run is not part of the request that woke it.
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
        """A row that waits for its time is started then, not at the next tick after it."""
        seconds = await runner.seconds_to_next_due()
        if runner.valve.is_closed:
            seconds = HELD_BACK_LOOK_SECONDS
        if seconds is None or seconds > runner.pace.interval_minutes * 60 or self._stopping:
            return
        stage = runner.stage.name
        if stage in self._alarms:
            self._alarms[stage].cancel()
        loop = asyncio.get_running_loop()
        self._alarms[stage] = loop.call_later(seconds + ALARM_SLACK_SECONDS, self.wake, stage)

    # Chores

    def _rescue_chore(self) -> Chore:
        async def rescue(_database: Database, _settings: Settings) -> int:
            return await self.engine.rescuer.rescue()

        return Chore(
            name="rescue_lost_leases",
            does="Give rows back whose worker died or whose lease ran out.",
            every=timedelta(seconds=self.engine.settings.worker_beat_seconds),
            run=rescue,
        )

    def _register_chore(self, chore: Chore) -> None:
        self._ticking.add_job(
            self._do_chore,
            IntervalTrigger(seconds=chore.every.total_seconds(), timezone=UTC),
            args=[chore],
            id=chore.name,
            max_instances=1,
            next_run_time=datetime.now(UTC),
            replace_existing=True,
        )

    async def _do_chore(self, chore: Chore) -> None:
        engine, task = self.engine, asyncio.current_task()
        assert task is not None
        self._doing_chores.add(task)
        try:
            if await take_slot(engine.database, chore, engine.worker.id):
                await chore.run(engine.database, engine.settings)
        finally:
            self._doing_chores.discard(task)

    # What APScheduler tells

    def _job_listener(self, event: JobEvent) -> None:
        """Failed runs at error; executed ones at debug, for those that found rows logged a line."""
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
                runner.last_tick = time.time()
                runner.poke()
        else:
            log.debug("run executed", job=event.job_id)


@asynccontextmanager
async def running_scheduler(
    database: Database,
    settings: Settings,
    stages: Sequence[AnyStage],
    chores: Sequence[Chore],
    *,
    known: Sequence[AnyStage] = (),
) -> AsyncIterator[Scheduler]:
    """A scheduler over these stages, for as long as the block lasts; `known` are all there are."""
    async with assembled_engine(database, settings, stages, known=known) as engine:
        scheduler = Scheduler(engine, chores)
        await scheduler.start()
        try:
            yield scheduler
        finally:
            await scheduler.stop()


class _Expected(logging.Filter):
    """A stage that drains a long queue skips its ticks; that is no news at warning."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "maximum number of running instances" not in record.getMessage()


logging.getLogger("apscheduler.scheduler").addFilter(_Expected())
logging.getLogger("apscheduler.executors.default").setLevel(logging.CRITICAL)
"""It logs failed runs with their traceback; our listener does that already."""
