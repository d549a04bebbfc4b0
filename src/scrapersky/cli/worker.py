"""`scrapersky worker`: the schedulers alone, as many processes as there is work for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from scrapersky.accounts.service import system_actor
from scrapersky.cli.session import run_service, settings_for_service
from scrapersky.cli.signals import stopping_on_signals
from scrapersky.db.opening import open_database
from scrapersky.db.session import Database, async_url
from scrapersky.logging import get_logger
from scrapersky.operations.service import find_stage
from scrapersky.pipeline.engine import Engine
from scrapersky.pipeline.hosts import HostGate
from scrapersky.pipeline.scheduler import Scheduler
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.wake import Wakeups
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.scraper.fetch import Fetcher
from scrapersky.settings import Settings
from scrapersky.stages import CHORES, STAGES

log = get_logger(__name__)


def worker(
    stage: Annotated[
        list[str] | None, typer.Option(help="Only this stage; may be given several times.")
    ] = None,
) -> int:
    """Work the queues, without the API, until Ctrl-C or `kill`."""
    settings = settings_for_service()
    names = stage or [each.name for each in STAGES]
    stages = {each.name: each for each in (find_stage(STAGES, name) for name in names)}
    return run_service(_work(settings, list(stages.values())))


async def _work(settings: Settings, stages: Sequence[AnyStage]) -> None:
    stopped = asyncio.Event()
    with stopping_on_signals(stopped.set):
        async with open_database(settings, say=log.info) as database:
            async with database.reading() as session:
                await system_actor(session, settings)
            async with running_scheduler(database, settings, stages):
                await stopped.wait()


@asynccontextmanager
async def running_scheduler(
    database: Database, settings: Settings, stages: Sequence[AnyStage]
) -> AsyncIterator[Scheduler]:
    """A scheduler over these stages, for as long as the block lasts."""
    identity = WorkerIdentity()
    gate = HostGate(database, settings, worker_id=identity.id)
    listen = settings.listen_database_url
    wakeups = Wakeups(database, async_url(listen) if listen else None)
    async with Fetcher.from_settings(settings, gate=gate) as fetch:
        engine = Engine(database, settings, stages, wakeups=wakeups, fetch=fetch, worker=identity)
        scheduler = Scheduler(engine, CHORES)
        await scheduler.start()
        try:
            yield scheduler
        finally:
            await scheduler.stop()
            await wakeups.close()
