"""Run one search in this process, or follow the worker that holds it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Float, cast, extract, func, select

from scrapersky.cli.output import note
from scrapersky.cli.session import CommandContext, silence_logger
from scrapersky.errors import NotFound
from scrapersky.models import JOB_STATUSES, Job
from scrapersky.models.stage_names import SEARCH_STAGE
from scrapersky.pipeline.engine import Engine, run_engine
from scrapersky.pipeline.tables import EventKind
from scrapersky.places.search import execution

POLL_SECONDS = 0.2
MAX_WAIT = timedelta(minutes=2)
"""A longer wait, for budget or for the provider's daily quota, ends the command."""


class SearchRun:
    def __init__(self, context: CommandContext, search_id: UUID, *, quiet: bool) -> None:
        self._everything = context
        self._search_id = search_id
        self._quiet = quiet
        self._said: str | None = None

    async def run_to_end(self) -> None:
        """Run until the search ends or has to wait longer than `MAX_WAIT`."""
        silence_logger("scrapersky.pipeline", self._everything.settings)
        settings = self._everything.settings.model_copy(update={"shutdown_grace_seconds": 0})
        database = self._everything.database
        async with run_engine(database, settings, [execution.STAGE]) as engine:
            while True:
                if not await self._advance(engine):
                    return
                await asyncio.sleep(POLL_SECONDS)

    async def _advance(self, engine: Engine) -> bool:
        job, wait = await self._poll()
        self._show(job)
        if job.status == JOB_STATUSES.processing:
            await engine.rescuer.rescue()
            return True
        if job.status != JOB_STATUSES.queued or wait > MAX_WAIT:
            return False
        if wait <= timedelta(0):
            await self._work(engine)
        return True

    async def _work(self, engine: Engine) -> EventKind | None:
        runner = engine.runner(SEARCH_STAGE)
        held = await runner.claim_by_id(self._search_id)
        if held is None:  # another worker claimed it first
            return None
        runner.free_slots -= 1
        task = runner.begin(held)
        while not task.done():
            await asyncio.wait([task], timeout=POLL_SECONDS)
            self._show((await self._poll())[0])
        return task.result()

    async def _poll(self) -> tuple[Job, timedelta]:
        async with self._everything.database.reading() as session:
            result = await session.execute(
                select(Job, cast(extract("epoch", Job.due_at - func.now()), Float)).where(
                    Job.id == self._search_id
                )
            )
            row = result.one_or_none()
        if row is None:
            raise NotFound(f"Search {self._search_id} was deleted.")
        job, wait = row
        return job, timedelta(seconds=wait)

    def _show(self, job: Job) -> None:
        doing = job.error if job.status == JOB_STATUSES.queued and job.error else job.phase
        if doing and doing != self._said and not self._quiet:
            note(f"{job.subject}: {doing}")
            self._said = doing
