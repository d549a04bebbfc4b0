"""Follows jobs for those who watch: one query for all of them, whatever process works them."""

from __future__ import annotations

import asyncio
import contextvars
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Uuid, cast, func, select

from scrapersky.db.session import Database
from scrapersky.jobs.schemas import job_out
from scrapersky.logging import get_logger
from scrapersky.models import JOB_WORDS, Job

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ACTIVE_WORDS = (JOB_WORDS.queued, JOB_WORDS.processing)

log = get_logger(__name__)


@dataclass(frozen=True)
class Snapshot:
    """A job at one moment."""

    id: str
    """Another one after every change of the row: when it changed, and what it was then."""
    status: str
    text: str
    """The job as JSON, written once for all who watch it."""

    @property
    def is_last(self) -> bool:
        return self.status not in ACTIVE_WORDS

    @classmethod
    def of(cls, job: Job) -> Snapshot:
        since = job.updated_at - EPOCH
        changed = since.days * 86_400_000_000 + since.seconds * 1_000_000 + since.microseconds
        return cls(f"{changed}-{job.status}", job.status, job_out(job).model_dump_json())


@dataclass(eq=False)
class Watcher:
    """One who watches a job. Only the newest snapshot waits for it, however slow it is."""

    job_id: UUID
    newest: Snapshot | None = None
    deleted: bool = False
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, snapshot: Snapshot | None) -> None:
        self.newest, self.deleted = snapshot, snapshot is None
        self._news.set()

    async def news(self, *, seconds: float) -> bool:
        """Whether there was any in that time."""
        there = await heard(self._news, seconds=seconds)
        self._news.clear()
        return there


class Watch:
    """Looks for changes while anybody watches; no connection is held between two looks."""

    def __init__(self, database: Database, *, every_seconds: float) -> None:
        self._database = database
        self._every_seconds = every_seconds
        self._watchers: defaultdict[UUID, set[Watcher]] = defaultdict(set)
        self._last: dict[UUID, tuple[object, str]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def watching(self, job_id: UUID) -> AsyncIterator[Watcher]:
        watcher = Watcher(job_id)
        # Others may have been told of the present state; this one has heard nothing yet.
        self._last.pop(job_id, None)
        self._watchers[job_id].add(watcher)
        self._changed.set()
        if self._looking is None:
            # In a context of its own: it is not part of the request of the first who watches.
            self._looking = asyncio.create_task(
                self._look(), name="watching jobs", context=contextvars.Context()
            )
        try:
            yield watcher
        finally:
            self._leave(watcher)

    def _leave(self, watcher: Watcher) -> None:
        others = self._watchers[watcher.job_id]
        others.discard(watcher)
        if not others:
            del self._watchers[watcher.job_id]
            self._last.pop(watcher.job_id, None)
        if not self._watchers:
            self._changed.set()

    async def _look(self) -> None:
        """Until nobody watches any more; a query under way is not cut off, for that would cost
        its connection."""
        while self._watchers:
            self._changed.clear()
            try:
                await self._look_once()
            except Exception as error:
                log.warning("jobs could not be looked at", error=str(error) or repr(error))
            await heard(self._changed, seconds=self._every_seconds)
        self._looking = None

    async def _look_once(self) -> None:
        watched = list(self._watchers)
        async with self._database.reading() as session:
            found = await session.execute(
                select(Job.id, Job.updated_at, Job.status).where(_one_of(watched))
            )
            seen = {job_id: (at, status) for job_id, at, status in found}
            changed = [each for each in seen if self._last.get(each) != seen[each]]
            jobs = await session.scalars(select(Job).where(_one_of(changed))) if changed else ()
            snapshots = list(jobs)
        self._tell(snapshots)
        for job_id in set(watched) - set(seen):
            self._tell_each(job_id, None)

    def _tell(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            if job.id in self._watchers:
                self._last[job.id] = (job.updated_at, job.status)
                self._tell_each(job.id, Snapshot.of(job))

    def _tell_each(self, job_id: UUID, snapshot: Snapshot | None) -> None:
        for watcher in self._watchers.get(job_id, ()):
            watcher.tell(snapshot)


async def heard(event: asyncio.Event, *, seconds: float) -> bool:
    """Whether it was set within that time."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def _one_of(job_ids: list[UUID]) -> ColumnElement[bool]:
    return Job.id == func.any(cast(job_ids, ARRAY(Uuid)))
