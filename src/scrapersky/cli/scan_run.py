"""Have one job run to its end: by this process, or by whoever else holds it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any
from uuid import UUID

from sqlalchemy import Float, Select, cast, extract, func, select

from scrapersky.cli.session import Opened, quieten
from scrapersky.db.away import is_away
from scrapersky.errors import Conflict, DatabaseRefused, NotFound
from scrapersky.models import JOB_WORDS, Job, SitemapFile, SitemapUrl
from scrapersky.models.sitemaps import FileStatus
from scrapersky.models.stage_names import SITEMAP_STAGE
from scrapersky.pipeline.engine import Engine, running_engine
from scrapersky.pipeline.tables import EventKind
from scrapersky.scraper.events import SitemapType
from scrapersky.sitemaps import discovery
from scrapersky.sitemaps.service import MAX_PAGES_LIMIT

LOOK_EVERY_SECONDS = 0.2
PATIENCE_SECONDS = 60.0
"""A database that restarts is back by then; the work under way does not mind either."""


@dataclass(frozen=True)
class Sight:
    """The job at one look."""

    status: str
    phase: str | None
    attempts: int
    error: str | None
    due_in_seconds: float
    sitemaps: int
    urls: int
    database_is_away: bool = False

    @property
    def has_ended(self) -> bool:
        return self.status not in (JOB_WORDS.queued, JOB_WORDS.processing)

    @property
    def is_due(self) -> bool:
        return self.status == JOB_WORDS.queued and self.due_in_seconds <= 0

    @property
    def waits(self) -> bool:
        return self.status == JOB_WORDS.queued and self.due_in_seconds > 0


Show = Callable[[Sight], None]


@asynccontextmanager
async def running_engine_for_a_person(everything: Opened) -> AsyncIterator[Engine]:
    """Somebody looks: failures are on the screen already, and Ctrl-C does not wait for the work."""
    quieten("scrapersky.pipeline", everything.settings)
    impatient = everything.settings.model_copy(update={"shutdown_grace_seconds": 0})
    async with running_engine(everything.database, impatient, [discovery.STAGE]) as engine:
        yield engine


class ScanRun:
    """Works the job when it is due and nobody else does, and looks at it all the while."""

    def __init__(self, engine: Engine, job: Job, show: Show) -> None:
        self.engine = engine
        self.job = job
        self.show = show
        self._working: asyncio.Task[EventKind] | None = None
        self._sight: Sight | None = None
        self._answered_at = self._rescued_at = monotonic()

    async def to_the_end(self) -> None:
        try:
            while not (sight := await self._look()).has_ended:
                if not self._is_working():
                    await self._claim_or_rescue(sight)
                await self._a_moment()
        finally:
            await self._claim_is_over()

    def _is_working(self) -> bool:
        return self._working is not None and not self._working.done()

    async def _a_moment(self) -> None:
        """Until it is time for the next look, or our own work has ended."""
        if self._working is not None and self._is_working():
            await asyncio.wait([self._working], timeout=LOOK_EVERY_SECONDS)
        else:
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def _claim_or_rescue(self, sight: Sight) -> None:
        self._refuse_broken_work()
        if sight.database_is_away:
            return
        if sight.is_due:
            self._working = asyncio.create_task(self._work(), name="scan")
        elif monotonic() - self._rescued_at > self.engine.settings.worker_beat_seconds:
            # Whoever holds it may have died, and there may be nobody but us to notice.
            self._rescued_at = monotonic()
            await self.engine.rescuer.rescue()

    async def _work(self) -> EventKind:
        params = self.job.params
        return await discovery.process_domain_with_own_session(
            self.job.id,
            params.get("domain") or self.job.subject,
            self.job.created_by,
            params.get("max_pages", MAX_PAGES_LIMIT),
            engine=self.engine,
        )

    def _refuse_broken_work(self) -> None:
        """Somebody else was faster, or the database is away: no reason to end. The rest is."""
        if self._working is None or (error := self._working.exception()) is None:
            return
        self._working = None
        if not isinstance(error, Conflict) and not cannot_be_asked(error):
            raise error

    async def _claim_is_over(self) -> None:
        """A claim under way when we are interrupted must be seen by the engine to be undone."""
        held = self.engine.runner(SITEMAP_STAGE).held
        while self._is_working() and not held:  # noqa: ASYNC110 (there is no event for it)
            await asyncio.sleep(0.01)

    async def _look(self) -> Sight:
        try:
            self._sight = await self._read()
            self._answered_at = monotonic()
        except Exception as error:
            if not cannot_be_asked(error):
                raise
            self._sight = self._blind_sight(error)
        self.show(self._sight)
        return self._sight

    def _blind_sight(self, error: Exception) -> Sight:
        if self._sight is None or monotonic() - self._answered_at > PATIENCE_SECONDS:
            raise DatabaseRefused(
                f"The database has not answered for {PATIENCE_SECONDS:.0f} seconds; "
                f"job {self.job.id} goes on when it is back and a worker runs."
            ) from error
        return replace(self._sight, database_is_away=True)

    async def _read(self) -> Sight:
        async with self.engine.database.reading() as session:
            found = await session.execute(_facts(self.job.id))
            facts = found.one_or_none()
        if facts is None:
            raise NotFound(f"Job {self.job.id} is gone.")
        return Sight(**facts._mapping)


def _facts(job_id: UUID) -> Select[Any]:
    """Files that have been read know their count; only those being read are counted."""
    files = select(SitemapFile.id).where(SitemapFile.job_id == job_id)
    being_read = files.where(SitemapFile.status == FileStatus.READING)
    counted = select(func.coalesce(func.sum(SitemapFile.url_count), 0)).where(
        SitemapFile.job_id == job_id,
        SitemapFile.status != FileStatus.READING,
        SitemapFile.sitemap_type.is_distinct_from(SitemapType.INDEX),
    )
    counting = select(func.count(SitemapUrl.id)).where(SitemapUrl.sitemap_id.in_(being_read))
    return select(
        Job.status,
        Job.phase,
        Job.attempts,
        Job.error,
        cast(extract("epoch", Job.due_at - func.now()), Float).label("due_in_seconds"),
        files.with_only_columns(func.count()).scalar_subquery().label("sitemaps"),
        (counted.scalar_subquery() + counting.scalar_subquery()).label("urls"),
    ).where(Job.id == job_id)


def cannot_be_asked(error: BaseException) -> bool:
    """Whether the database cannot be reached just now."""
    return isinstance(error, OSError) or is_away(error)
