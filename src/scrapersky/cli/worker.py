"""`scrapersky worker`: run the schedulers without the API."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer

from scrapersky.auth.service import get_system_actor
from scrapersky.cli.session import load_service_settings, run_service
from scrapersky.cli.signals import (
    EXIT_SLACK_SECONDS,
    exit_after,
    handle_stop_signals,
    wait_for_first,
)
from scrapersky.db.connection import open_database
from scrapersky.errors import DatabaseUnavailable
from scrapersky.logging import get_logger
from scrapersky.operations.service import find_stage
from scrapersky.pipeline.engine import run_engine
from scrapersky.pipeline.isolation import work_isolated_rows
from scrapersky.pipeline.scheduler import run_scheduler
from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Settings
from scrapersky.stages import CHORES, STAGES

log = get_logger(__name__)


def worker(
    stage: Annotated[list[str] | None, typer.Option(help="Only this stage. Repeatable.")] = None,
    isolated: Annotated[
        bool,
        typer.Option(help="Process only rows that were rescued twice, one at a time, then exit."),
    ] = False,
) -> int:
    """Process the queues without the API until Ctrl-C or `kill`."""
    settings = load_service_settings()
    names = stage or [each.name for each in STAGES]
    stages = {each.name: each for each in (find_stage(STAGES, name) for name in names)}
    work = _run_isolated_worker if isolated else _run_worker
    return run_service(work(settings, list(stages.values())))


async def _run_worker(settings: Settings, stages: Sequence[AnyStage]) -> None:
    stopped = asyncio.Event()
    with handle_stop_signals(stopped.set, within=settings.shutdown_grace_seconds):
        async with open_database(settings, report=log.info) as database:
            async with database.reading() as session:
                await get_system_actor(session, settings)
            async with run_scheduler(database, settings, stages, CHORES, known=STAGES) as scheduler:
                await wait_for_first(stopped, scheduler.engine.gave_up)
                if scheduler.engine.gave_up.is_set():
                    exit_after(settings.shutdown_grace_seconds + EXIT_SLACK_SECONDS)
                    raise DatabaseUnavailable(
                        "The database was unreachable for "
                        f"{settings.worker_exit_after_seconds:g} s (WORKER_EXIT_AFTER_SECONDS)."
                    )


async def _run_isolated_worker(settings: Settings, stages: Sequence[AnyStage]) -> None:
    stopped = asyncio.Event()
    with handle_stop_signals(stopped.set, within=settings.shutdown_grace_seconds):
        async with (
            open_database(settings, report=log.info) as database,
            run_engine(database, settings, stages, known=STAGES) as engine,
        ):
            working = asyncio.create_task(work_isolated_rows(list(engine.runners.values())))
            stopping = asyncio.create_task(stopped.wait())
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            # Stopping: the engine releases the rows in flight when it closes.
            if working.done():
                log.info("isolated rows processed", rows=working.result())
            else:
                working.cancel()
