"""A job's changes as server-sent events, for as long as the job lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any
from uuid import UUID

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from scrapersky.http.context import AppContext
from scrapersky.jobs.watching import Snapshot, Watch
from scrapersky.settings import Settings

ABORT = "scrapersky.abort"
"""What the server offers for ending a connection whose other end takes nothing any more."""
LONGEST_SECONDS = 3600.0
"""After this the client asks again, and shows again that it may."""
RETRY_MILLISECONDS = 2000
GREETING = f"retry: {RETRY_MILLISECONDS}\n\n".encode()
HEARTBEAT = b": still here\n\n"
GOODBYE_SECONDS = 1.0
DELETED = "deleted"


def watch_of(request: Request, context: AppContext) -> Watch:
    """One for the whole process, made for the first who watches."""
    state = request.app.state
    if not hasattr(state, "job_watch"):
        every = context.settings.events_poll_seconds
        state.job_watch = Watch(context.database, every_seconds=every)
    watch: Watch = state.job_watch
    return watch


class EventStream(Response):
    """The job as it is, then whenever it changed, then the end."""

    media_type = "text/event-stream"

    def __init__(
        self,
        watch: Watch,
        job_id: UUID,
        *,
        after: str | None,
        settings: Settings,
        stopping: asyncio.Event,
    ) -> None:
        self.status_code, self.background = 200, None
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._watch, self._job_id, self._after = watch, job_id, after
        self._heartbeat_seconds = settings.events_heartbeat_seconds
        self._patience_seconds = settings.events_patience_seconds
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        telling = asyncio.create_task(self._tell(send))
        leaving = [
            asyncio.create_task(_disconnected(receive)),
            asyncio.create_task(self._stopping.wait()),
        ]
        try:
            await asyncio.wait([telling, *leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end(telling, *leaving)
        try:
            await self._send(send, b"", seconds=GOODBYE_SECONDS, more=False)
        except TimeoutError:
            await _drop(scope, receive)

    async def _tell(self, send: Send) -> None:
        await self._send(send, GREETING)
        async with self._watch.watching(self._job_id) as watcher:
            ends, last = monotonic() + LONGEST_SECONDS, self._after
            while monotonic() < ends:
                if not await watcher.news(seconds=self._heartbeat_seconds):
                    await self._send(send, HEARTBEAT)
                    continue
                snapshot = watcher.newest
                if snapshot is not None and snapshot.id != last:
                    await self._send(send, _event(snapshot))
                    last = snapshot.id
                if snapshot is None or snapshot.is_last:
                    await self._send(send, _last_event(snapshot))
                    return

    async def _send(
        self, send: Send, body: bytes, *, seconds: float | None = None, more: bool = True
    ) -> None:
        """`TimeoutError` when the client takes nothing for so long."""
        async with asyncio.timeout(seconds or self._patience_seconds):
            await send({"type": "http.response.body", "body": body, "more_body": more})


def _event(snapshot: Snapshot) -> bytes:
    return f"id: {snapshot.id}\nevent: job\ndata: {snapshot.text}\n\n".encode()


def _last_event(snapshot: Snapshot | None) -> bytes:
    return f"event: end\ndata: {snapshot.status if snapshot else DELETED}\n\n".encode()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(telling: asyncio.Task[None], *others: asyncio.Task[Any]) -> None:
    """A client that took nothing for too long is an end like any other."""
    for task in (telling, *others):
        task.cancel()
    await asyncio.wait([telling, *others])
    failure = None if telling.cancelled() else telling.exception()
    if failure is not None and not isinstance(failure, TimeoutError):
        raise failure


async def _drop(scope: Scope, receive: Receive) -> None:
    """What was not taken would otherwise be kept for a client that never takes it."""
    abort: Callable[[], None] | None = scope.get("extensions", {}).get(ABORT)
    if abort is not None:
        abort()
        await _disconnected(receive)
