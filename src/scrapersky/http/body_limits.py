"""Limit request bodies in size and speed, and parse large JSON bodies off the event loop.

The framework reads a body before it authenticates the caller, so authentication happens here: a
request without valid credentials is answered 401 while its body is still on the way.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrapersky.errors import NotAllowed, NotSignedIn
from scrapersky.http.auth import PublicRoute, has_body, identify_before_body
from scrapersky.http.problems import build_problem
from scrapersky.http.sessions import SAFE_METHODS
from scrapersky.settings import Settings

MIN_THREADED_JSON_BYTES = 64 * 1024
_decoder = json.JSONDecoder()
_space = re.compile(r"[ \t\n\r]*")


class LargeBodyRoute(APIRoute):
    """Route class that accepts bodies of up to MAX_REQUEST_BYTES.

    Use it as `APIRouter(route_class=LargeBodyRoute)`.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_list(request: Request) -> Response:
            return await handle(LargeBodyRequest(request.scope, request.receive))

        return handle_list


class LargeBodyRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            if len(body) < MIN_THREADED_JSON_BYTES:
                self._json = json.loads(body)
            else:
                self._json = await asyncio.to_thread(parse_json, body)
        return self._json


def parse_json(body: bytes) -> Any:
    """Parse like `json.loads`, but let other threads run in between.

    `json.loads` holds the GIL from the first byte to the last, so even in a thread it would block
    the event loop. The lists of an object are decoded here element by element, and Python can
    switch threads after each.
    """
    text = body.decode(json.detect_encoding(body), "surrogatepass")
    try:
        start = _skip_space(text, 0)
        if text[start] != "{":
            return json.loads(text)
        parsed, end = _parse_object(text, start + 1)
        if _skip_space(text, end) == len(text):
            return parsed
    except (ValueError, IndexError):
        pass
    # Not valid JSON: let `json.loads` raise its usual error with the position.
    return json.loads(text)


def _skip_space(text: str, position: int) -> int:
    match = _space.match(text, position)
    return position if match is None else match.end()


def _parse_object(text: str, position: int) -> tuple[dict[str, Any], int]:
    parsed: dict[str, Any] = {}
    position = _skip_space(text, position)
    if text[position] == "}":
        return parsed, position + 1
    while True:
        name, position = _decoder.raw_decode(text, _skip_space(text, position))
        position = _skip_space(text, position)
        if not isinstance(name, str) or text[position] != ":":
            raise ValueError("expected a name and a colon")
        position = _skip_space(text, position + 1)
        is_list = text[position] == "["
        if is_list:
            parsed[name], position = _parse_list(text, position + 1)
        else:
            parsed[name], position = _decoder.raw_decode(text, position)
        position = _skip_space(text, position)
        if text[position] == "}":
            return parsed, position + 1
        if text[position] != ",":
            raise ValueError("a comma")
        position += 1


def _parse_list(text: str, position: int) -> tuple[list[Any], int]:
    parsed: list[Any] = []
    position = _skip_space(text, position)
    if text[position] == "]":
        return parsed, position + 1
    while True:
        element, position = _decoder.raw_decode(text, _skip_space(text, position))
        parsed.append(element)
        position = _skip_space(text, position)
        if text[position] == "]":
            return parsed, position + 1
        if text[position] != ",":
            raise ValueError("a comma")
        position += 1


MAX_ANONYMOUS_BYTES = 64 * 1024
MAX_JSON_BYTES = 1024 * 1024
BODY_IDLE_SECONDS = 30.0
"""Maximum wait for the next part: a client that sends less than it declared would block forever."""
BODY_GRACE_SECONDS = 30.0
MIN_BYTES_PER_SECOND = 1000
"""Minimum average rate after BODY_GRACE_SECONDS. Otherwise one byte per half minute could hold a
connection for any length of time.
"""
MAX_DRAIN_SECONDS = 2.0
"""Many clients read a response only after they have sent their body. After a refusal the rest of
the body is therefore read and discarded, up to this time and MAX_DRAIN_BYTES.
"""
MAX_DRAIN_BYTES = 64 * 1024 * 1024


class BodyRefused(Exception):
    """Raised from `receive`. The refusal is sent even if the route handles this exception."""


@dataclass(frozen=True)
class BodyLimit:
    """Maximum body size, with the explanation for the error message."""

    max_bytes: int
    advice: str


@dataclass(frozen=True)
class BodyRoutes:
    """Methods and paths of routes with their own limits."""

    public: frozenset[tuple[str, str]]
    lists: frozenset[tuple[str, str]]

    @classmethod
    def find(cls, app: FastAPI) -> BodyRoutes:
        public: set[tuple[str, str]] = set()
        lists: set[tuple[str, str]] = set()
        for route in iter_route_contexts(app.routes):
            calls = {(method, route.path or "") for method in route.methods or ()}
            guards = getattr(route, "dependencies", ())
            if any(isinstance(each.dependency, PublicRoute) for each in guards):
                public |= calls
            if isinstance(route.original_route, LargeBodyRoute):
                lists |= calls
        return cls(frozenset(public), frozenset(lists))


class BodyLimitMiddleware:
    """Enforces body limits by counting received bytes, whatever length was declared."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        *,
        patience_seconds: float = BODY_IDLE_SECONDS,
        grace_seconds: float = BODY_GRACE_SECONDS,
    ) -> None:
        self._app = app
        most = settings.max_request_bytes
        self._anonymous = BodyLimit(
            min(MAX_ANONYMOUS_BYTES, most), "the limit for unauthenticated requests"
        )
        self._json = BodyLimit(
            min(MAX_JSON_BYTES, most), "the limit for JSON bodies. Split the request"
        )
        self._lists = BodyLimit(most, "the limit set by MAX_REQUEST_BYTES. Split the request")
        self._patience = BodyTimeout(patience_seconds, grace_seconds)
        self._routes: BodyRoutes | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        body = _Body(request, receive, send, self._json, self._patience)
        if has_body(request):
            try:
                body.limit = await self._find_limit(request)
            except NotSignedIn as refusal:
                await body.refuse(build_problem(request, 401, str(refusal)))
                return
            except NotAllowed as refusal:
                await body.refuse(build_problem(request, 403, str(refusal)))
                return
        if body.get_declared_length() > body.limit.max_bytes:
            await body.refuse(body.build_too_large())
            return
        with suppress(BodyRefused):
            await self._app(scope, body.receive, body.send)
        if body.refusal is not None:
            await body.refuse(body.refusal)

    async def _find_limit(self, request: Request) -> BodyLimit:
        """Return the limit for this caller and route.

        Raises `NotSignedIn` if the route requires authentication and the request has none.
        """
        if request.method in SAFE_METHODS:
            return self._anonymous
        if self._routes is None:
            self._routes = BodyRoutes.find(request.app)
        call = (request.method, request.url.path)
        if call in self._routes.public:
            return self._anonymous
        await identify_before_body(request, request.app.state.context)
        return self._lists if call in self._routes.lists else self._json


@dataclass(frozen=True)
class BodyTimeout:
    """How long to wait for a body."""

    between_parts_seconds: float
    grace_seconds: float

    def seconds_left(self, size: int, waited_seconds: float) -> float:
        whole = self.grace_seconds + size / MIN_BYTES_PER_SECOND - waited_seconds
        return max(0.0, min(self.between_parts_seconds, whole))


@dataclass
class _Body:
    """One request body while it is received, with the response to it."""

    request: Request
    receive_part: Receive
    send_on: Send
    limit: BodyLimit
    patience: BodyTimeout
    size: int = 0
    waited_seconds: float = 0
    """Time spent waiting for the client, without the time the route was busy."""
    whole: bool = False
    answering: bool = False
    refusal: Response | None = None

    def get_declared_length(self) -> int:
        text = self.request.headers.get("content-length", "0")
        return int(text) if text.isascii() and text.isdigit() else 0

    async def receive(self) -> Message:
        if self.whole:
            return await self.receive_part()
        began = monotonic()
        try:
            async with asyncio.timeout(self.patience.seconds_left(self.size, self.waited_seconds)):
                message = await self.receive_part()
        except TimeoutError:
            self._abort(self._build_too_slow())
        self.waited_seconds += monotonic() - began
        self.size += len(message.get("body", b""))
        self.whole = not message.get("more_body", False)
        if self.size > self.limit.max_bytes:
            self._abort(self.build_too_large())
        return message

    def _abort(self, refusal: Response) -> None:
        if not self.answering:
            self.refusal = refusal
        raise BodyRefused(str(refusal.status_code))

    async def send(self, message: Message) -> None:
        if self.refusal is None:
            self.answering = True
            await self.send_on(message)

    def build_too_large(self) -> Response:
        return build_problem(
            self.request,
            413,
            f"The request body is larger than {self.limit.max_bytes:,} bytes, {self.limit.advice}.",
        )

    def _build_too_slow(self) -> Response:
        return build_problem(
            self.request,
            408,
            f"The request body stalled for {self.patience.between_parts_seconds:g} s or arrived "
            f"slower than {MIN_BYTES_PER_SECOND:,} bytes/s. Send it again, or in smaller parts.",
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
            async with asyncio.timeout(MAX_DRAIN_SECONDS):
                await self._drain()
        await self.send_on({"type": "http.response.body", "body": b""})

    async def _drain(self) -> None:
        thrown_away = 0
        while not self.whole and thrown_away < MAX_DRAIN_BYTES:
            message = await self.receive_part()
            self.whole = not message.get("more_body", False)
            thrown_away += len(message.get("body", b""))
