"""Server-sent events of jobs: one poller per process serves all subscribers."""

from __future__ import annotations

import asyncio
import contextvars
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from uuid import UUID

from fastapi import Request
from sqlalchemy import ARRAY, ColumnElement, Uuid, cast, func, select

from scrapersky.db.session import Database
from scrapersky.http.application import AppContext
from scrapersky.http.event_stream import (
    HEARTBEAT,
    MAX_STREAM_SECONDS,
    AccessCheck,
    EventStream,
    SendBytes,
)
from scrapersky.jobs.schemas import job_out
from scrapersky.logging import get_logger
from scrapersky.models import JOB_STATUSES, Job
from scrapersky.settings import Settings

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ACTIVE_STATUSES = (JOB_STATUSES.queued, JOB_STATUSES.processing)

log = get_logger(__name__)


@dataclass(frozen=True)
class JobSnapshot:
    """State of a job at one point in time."""

    id: str
    """Event id: time of the last change and status, so that it differs after every change."""
    status: str
    text: str
    """The job as JSON, serialised once for all subscribers."""

    @property
    def is_last(self) -> bool:
        return self.status not in ACTIVE_STATUSES

    @classmethod
    def of(cls, job: Job) -> JobSnapshot:
        since = job.updated_at - EPOCH
        changed = since.days * 86_400_000_000 + since.seconds * 1_000_000 + since.microseconds
        return cls(f"{changed}-{job.status}", job.status, job_out(job).model_dump_json())


@dataclass(eq=False)
class JobSubscriber:
    """A subscriber of one job. Only the newest snapshot is buffered, however slow its client is."""

    job_id: UUID
    newest: JobSnapshot | None = None
    deleted: bool = False
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def notify(self, snapshot: JobSnapshot | None) -> None:
        self.newest, self.deleted = snapshot, snapshot is None
        self._news.set()

    async def wait_for_change(self, *, seconds: float) -> bool:
        """Wait for a change; return False on timeout."""
        there = await wait_for_event(self._news, seconds=seconds)
        self._news.clear()
        return there


class JobWatch:
    """Polls watched jobs while there are subscribers; holds no connection between two polls."""

    def __init__(self, database: Database, *, every_seconds: float) -> None:
        self._database = database
        self._every_seconds = every_seconds
        self._watchers: defaultdict[UUID, set[JobSubscriber]] = defaultdict(set)
        self._last: dict[UUID, tuple[object, str]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def subscribe(self, job_id: UUID) -> AsyncIterator[JobSubscriber]:
        watcher = JobSubscriber(job_id)
        # Forget the last state, so that the next poll also notifies this subscriber.
        self._last.pop(job_id, None)
        self._watchers[job_id].add(watcher)
        self._changed.set()
        if self._looking is None:
            # In a fresh context: the poller is not part of the first subscriber's request.
            self._looking = asyncio.create_task(
                self._poll(), name="watching jobs", context=contextvars.Context()
            )
        try:
            yield watcher
        finally:
            self._unsubscribe(watcher)

    def _unsubscribe(self, watcher: JobSubscriber) -> None:
        others = self._watchers[watcher.job_id]
        others.discard(watcher)
        if not others:
            del self._watchers[watcher.job_id]
            self._last.pop(watcher.job_id, None)
        if not self._watchers:
            self._changed.set()

    async def _poll(self) -> None:
        """Poll until there are no subscribers.

        The task ends on its flag and is not cancelled: cancelling a running query would cost its
        connection.
        """
        while self._watchers:
            self._changed.clear()
            try:
                await self._poll_once()
            except Exception as error:
                log.warning("could not poll jobs", error=str(error) or repr(error))
            await wait_for_event(self._changed, seconds=self._every_seconds)
        self._looking = None

    async def _poll_once(self) -> None:
        watched = list(self._watchers)
        async with self._database.reading() as session:
            result = await session.execute(
                select(Job.id, Job.updated_at, Job.status).where(_match_job_ids(watched))
            )
            states = {job_id: (at, status) for job_id, at, status in result}
            changed = [each for each in states if self._last.get(each) != states[each]]
            jobs = (
                await session.scalars(select(Job).where(_match_job_ids(changed))) if changed else ()
            )
            snapshots = list(jobs)
        self._publish(snapshots)
        for job_id in set(watched) - set(states):
            self._notify_subscribers(job_id, None)

    def _publish(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            if job.id in self._watchers:
                self._last[job.id] = (job.updated_at, job.status)
                self._notify_subscribers(job.id, JobSnapshot.of(job))

    def _notify_subscribers(self, job_id: UUID, snapshot: JobSnapshot | None) -> None:
        for watcher in self._watchers.get(job_id, ()):
            watcher.notify(snapshot)


async def wait_for_event(event: asyncio.Event, *, seconds: float) -> bool:
    """Wait for the event; return False on timeout."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def _match_job_ids(job_ids: list[UUID]) -> ColumnElement[bool]:
    return Job.id == func.any(cast(job_ids, ARRAY(Uuid)))


DELETED_STATUS = "deleted"


def get_job_watch(request: Request, context: AppContext) -> JobWatch:
    """Return the process-wide watch, created on first use."""
    state = request.app.state
    if not hasattr(state, "job_watch"):
        every = context.settings.events_poll_seconds
        state.job_watch = JobWatch(context.database, every_seconds=every)
    watch: JobWatch = state.job_watch
    return watch


def stream_job_events(
    watch: JobWatch,
    job_id: UUID,
    *,
    after: str | None,
    settings: Settings,
    stopping: asyncio.Event,
    still_allowed: AccessCheck,
) -> EventStream:
    """Stream the current state of the job, then every change, then an end event."""
    heartbeat_seconds = settings.events_heartbeat_seconds

    async def tell(send_bytes: SendBytes) -> None:
        async with watch.subscribe(job_id) as watcher:
            ends, last = monotonic() + MAX_STREAM_SECONDS, after
            while monotonic() < ends:
                if not await watcher.wait_for_change(seconds=heartbeat_seconds):
                    await send_bytes(HEARTBEAT)
                    continue
                snapshot = watcher.newest
                if snapshot is not None and snapshot.id != last:
                    await send_bytes(_format_event(snapshot))
                    last = snapshot.id
                if snapshot is None or snapshot.is_last:
                    await send_bytes(_format_end_event(snapshot))
                    return

    return EventStream(tell, settings=settings, stopping=stopping, still_allowed=still_allowed)


def _format_event(snapshot: JobSnapshot) -> bytes:
    return f"id: {snapshot.id}\nevent: job\ndata: {snapshot.text}\n\n".encode()


def _format_end_event(snapshot: JobSnapshot | None) -> bytes:
    return f"event: end\ndata: {snapshot.status if snapshot else DELETED_STATUS}\n\n".encode()
