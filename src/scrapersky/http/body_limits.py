"""No request is read further than MAX_REQUEST_BYTES, nor waited for when it stops half-way."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from fastapi import Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrapersky.http.errors import problem
from scrapersky.settings import Settings

PATIENCE_SECONDS = 30.0
"""Between two parts of a body; whoever sends less than declared would be waited for for ever."""
FAREWELL_SECONDS = 2.0
"""A client hears of its refusal only when it has sent what it was about to, so some more of it is
read and thrown away, for so long and of such a size at most."""
FAREWELL_BYTES = 64 * 1024 * 1024


class BodyRefused(Exception):
    """Raised where the body is read; whatever the route makes of it, the refusal is the answer."""


class BodyLimits:
    """Around every route: counts what is read, whatever length was declared."""

    def __init__(
        self, app: ASGIApp, settings: Settings, *, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._app = app
        self._limit = settings.max_request_bytes
        self._patience_seconds = patience_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(Request(scope), receive, send, self._limit, self._patience_seconds)
        if body.declared() > self._limit:
            await body.refuse(body.too_large())
            return
        with suppress(BodyRefused):
            await self._app(scope, body.receive, body.send)
        if body.refusal is not None:
            await body.refuse(body.refusal)


@dataclass
class _Body:
    """One request's body as it comes in, and the answer as it goes out."""

    request: Request
    receive_part: Receive
    send_on: Send
    limit: int
    patience_seconds: float
    size: int = 0
    whole: bool = False
    answering: bool = False
    refusal: Response | None = None

    def declared(self) -> int:
        text = self.request.headers.get("content-length", "0")
        return int(text) if text.isascii() and text.isdigit() else 0

    async def receive(self) -> Message:
        if self.whole:
            return await self.receive_part()
        try:
            async with asyncio.timeout(self.patience_seconds):
                message = await self.receive_part()
        except TimeoutError:
            self._give_up(self._too_slow())
        self.size += len(message.get("body", b""))
        self.whole = not message.get("more_body", False)
        if self.size > self.limit:
            self._give_up(self.too_large())
        return message

    def _give_up(self, refusal: Response) -> None:
        if not self.answering:
            self.refusal = refusal
        raise BodyRefused(str(refusal.status_code))

    async def send(self, message: Message) -> None:
        if self.refusal is None:
            self.answering = True
            await self.send_on(message)

    def too_large(self) -> Response:
        return problem(
            self.request,
            413,
            f"The body is larger than the {self.limit:,} bytes that are read; send it in parts.",
        )

    def _too_slow(self) -> Response:
        return problem(
            self.request,
            408,
            f"The body stopped for {self.patience_seconds:g} seconds before its end.",
        )

    async def refuse(self, refusal: Response) -> None:
        refusal.headers["Connection"] = "close"
        await self.send_on(
            {
                "type": "http.response.start",
                "status": refusal.status_code,
                "headers": refusal.raw_headers,
            }
        )
        body = bytes(refusal.body)
        await self.send_on({"type": "http.response.body", "body": body, "more_body": True})
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._read_on()
        await self.send_on({"type": "http.response.body", "body": b""})

    async def _read_on(self) -> None:
        thrown_away = 0
        while not self.whole and thrown_away < FAREWELL_BYTES:
            message = await self.receive_part()
            self.whole = not message.get("more_body", False)
            thrown_away += len(message.get("body", b""))
