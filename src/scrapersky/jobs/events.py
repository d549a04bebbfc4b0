"""A job's changes as server-sent events, for as long as the job lasts."""

from __future__ import annotations

import asyncio
from time import monotonic
from uuid import UUID

from fastapi import Request

from scrapersky.http.context import AppContext
from scrapersky.http.event_stream import (
    HEARTBEAT,
    LONGEST_SECONDS,
    EventStream,
    Say,
    StillAllowed,
)
from scrapersky.jobs.watching import Snapshot, Watch
from scrapersky.settings import Settings

DELETED = "deleted"


def watch_of(request: Request, context: AppContext) -> Watch:
    """One for the whole process, made for the first who watches."""
    state = request.app.state
    if not hasattr(state, "job_watch"):
        every = context.settings.events_poll_seconds
        state.job_watch = Watch(context.database, every_seconds=every)
    watch: Watch = state.job_watch
    return watch


def events_of(
    watch: Watch,
    job_id: UUID,
    *,
    after: str | None,
    settings: Settings,
    stopping: asyncio.Event,
    still_allowed: StillAllowed,
) -> EventStream:
    """The job as it is, then whenever it changed, then the end."""
    heartbeat_seconds = settings.events_heartbeat_seconds

    async def tell(say: Say) -> None:
        async with watch.watching(job_id) as watcher:
            ends, last = monotonic() + LONGEST_SECONDS, after
            while monotonic() < ends:
                if not await watcher.news(seconds=heartbeat_seconds):
                    await say(HEARTBEAT)
                    continue
                snapshot = watcher.newest
                if snapshot is not None and snapshot.id != last:
                    await say(_event(snapshot))
                    last = snapshot.id
                if snapshot is None or snapshot.is_last:
                    await say(_last_event(snapshot))
                    return

    return EventStream(tell, settings=settings, stopping=stopping, still_allowed=still_allowed)


def _event(snapshot: Snapshot) -> bytes:
    return f"id: {snapshot.id}\nevent: job\ndata: {snapshot.text}\n\n".encode()


def _last_event(snapshot: Snapshot | None) -> bytes:
    return f"event: end\ndata: {snapshot.status if snapshot else DELETED}\n\n".encode()
