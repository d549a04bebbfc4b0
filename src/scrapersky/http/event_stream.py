"""Server-sent events: a streaming response that ends with its client, the server or its
producer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Response
from starlette.types import Receive, Scope, Send

from scrapersky.logging import get_logger
from scrapersky.settings import Settings

ABORT_EXTENSION = "scrapersky.abort"
"""What the server offers for ending a connection whose other end takes nothing any more."""
MAX_STREAM_SECONDS = 3600.0
"""After this the client asks again, and shows again that it may."""
RECHECK_SECONDS = 5.0
"""So often it is asked whether the client may still look: a revoked key or an ended session loses
its streams within this time."""
RETRY_MILLISECONDS = 2000
RETRY_LINE = f"retry: {RETRY_MILLISECONDS}\n\n".encode()
HEARTBEAT = b": still here\n\n"
CLOSE_TIMEOUT_SECONDS = 1.0

SendBytes = Callable[[bytes], Awaitable[None]]
"""Sends bytes to the client; `TimeoutError` when it takes nothing for too long."""
EventProducer = Callable[[SendBytes], Awaitable[None]]
"""Says everything there is to say, as it comes to be."""
AccessCheck = Callable[[], Awaitable[bool]]
"""Asks again whether the client may look; one that raises is asked again later."""

log = get_logger(__name__)


class EventStream(Response):
    """Goes on while there is something to tell and somebody listens."""

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
        telling = asyncio.create_task(self._produce_events(send))
        leaving = [
            asyncio.create_task(_wait_for_disconnect(receive)),
            asyncio.create_task(self._stopping.wait()),
            asyncio.create_task(self._wait_until_refused()),
        ]
        try:
            await asyncio.wait([telling, *leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel_tasks(telling, *leaving)
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
        """Wait until the client may no longer look."""
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            try:
                if not await self._still_allowed():
                    return
            except Exception as error:
                # Most likely the database is away, and then there is no news to tell either.
                log.warning("stream not checked", error=str(error) or repr(error))

    async def _send(self, send: Send, body: bytes, *, seconds: float, more: bool = True) -> None:
        async with asyncio.timeout(seconds):
            await send({"type": "http.response.body", "body": body, "more_body": more})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel_tasks(telling: asyncio.Task[None], *others: asyncio.Task[Any]) -> None:
    """A client that took nothing for too long is an end like any other."""
    for task in (telling, *others):
        task.cancel()
    await asyncio.wait([telling, *others])
    failure = None if telling.cancelled() else telling.exception()
    if failure is not None and not isinstance(failure, TimeoutError):
        raise failure


async def _abort_connection(scope: Scope, receive: Receive) -> None:
    """What was not taken would otherwise be kept for a client that never takes it."""
    abort: Callable[[], None] | None = scope.get("extensions", {}).get(ABORT_EXTENSION)
    if abort is not None:
        abort()
        await _wait_for_disconnect(receive)
