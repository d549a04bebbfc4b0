"""Server-sent events: a streaming response that ends with its client, server or producer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Response
from starlette.types import Receive, Scope, Send

from scrapersky.logging import get_logger
from scrapersky.settings import Settings

ABORT_EXTENSION = "scrapersky.abort"
"""Server extension that drops a connection whose client no longer reads."""
MAX_STREAM_SECONDS = 3600.0
"""Then the stream ends, and the client reconnects and authenticates again."""
RECHECK_SECONDS = 5.0
"""Interval of access checks: a revoked key or ended session loses its streams within this time."""
RETRY_MILLISECONDS = 2000
RETRY_LINE = f"retry: {RETRY_MILLISECONDS}\n\n".encode()
HEARTBEAT = b": still here\n\n"
CLOSE_TIMEOUT_SECONDS = 1.0

SendBytes = Callable[[bytes], Awaitable[None]]
"""Sends bytes to the client; raises `TimeoutError` if it does not read for too long."""
EventProducer = Callable[[SendBytes], Awaitable[None]]
"""Sends all events as they occur; the stream ends when it returns."""
AccessCheck = Callable[[], Awaitable[bool]]
"""Returns whether the client still has access. If it raises, it is called again later."""

log = get_logger(__name__)


class EventStream(Response):
    """Streams events until the producer ends, the client leaves or loses access, or on shutdown."""

    media_type = "text/event-stream"

    def __init__(
        self,
        tell: EventProducer,
        *,
        settings: Settings,
        stopping: asyncio.Event,
        still_allowed: AccessCheck,
    ) -> None:
        self.status_code, self.background = 200, None
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._tell = tell
        self._patience_seconds = settings.events_patience_seconds
        self._stopping = stopping
        self._still_allowed = still_allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        producing = asyncio.create_task(self._produce_events(send))
        leaving = [
            asyncio.create_task(_wait_for_disconnect(receive)),
            asyncio.create_task(self._stopping.wait()),
            asyncio.create_task(self._wait_until_refused()),
        ]
        try:
            await asyncio.wait([producing, *leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel_tasks(producing, *leaving)
        try:
            await self._send(send, b"", seconds=CLOSE_TIMEOUT_SECONDS, more=False)
        except TimeoutError:
            await _abort_connection(scope, receive)

    async def _produce_events(self, send: Send) -> None:
        async def say(body: bytes) -> None:
            await self._send(send, body, seconds=self._patience_seconds)

        await say(RETRY_LINE)
        await self._tell(say)

    async def _wait_until_refused(self) -> None:
        """Return when the client has lost access."""
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            try:
                if not await self._still_allowed():
                    return
            except Exception as error:
                # Most likely the database is unavailable; then there are no events to leak either.
                log.warning("stream access check failed", error=str(error) or repr(error))

    async def _send(self, send: Send, body: bytes, *, seconds: float, more: bool = True) -> None:
        async with asyncio.timeout(seconds):
            await send({"type": "http.response.body", "body": body, "more_body": more})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel_tasks(producing: asyncio.Task[None], *others: asyncio.Task[Any]) -> None:
    """Cancel all tasks. A timeout while sending counts as a normal end; other errors are raised."""
    for task in (producing, *others):
        task.cancel()
    await asyncio.wait([producing, *others])
    failure = None if producing.cancelled() else producing.exception()
    if failure is not None and not isinstance(failure, TimeoutError):
        raise failure


async def _abort_connection(scope: Scope, receive: Receive) -> None:
    """Drop the connection; otherwise unsent bytes would stay buffered for a client that never
    reads.
    """
    abort: Callable[[], None] | None = scope.get("extensions", {}).get(ABORT_EXTENSION)
    if abort is not None:
        abort()
        await _wait_for_disconnect(receive)
