"""`scrapersky worker`: the schedulers alone, as many processes as there is work for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer

from scrapersky.accounts.service import system_actor
from scrapersky.cli.session import run_service, settings_for_service
from scrapersky.cli.signals import stopping_on_signals
from scrapersky.db.opening import open_database
from scrapersky.logging import get_logger
from scrapersky.operations.service import find_stage
from scrapersky.pipeline.scheduler import running_scheduler
from scrapersky.pipeline.stage import AnyStage
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
            async with running_scheduler(database, settings, stages, CHORES, known=STAGES):
                await stopped.wait()
