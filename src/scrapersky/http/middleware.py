"""Install the middleware: request ids, access log, limits, loopback-only access in open mode."""

from __future__ import annotations

from time import monotonic
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrapersky.db.base import uuid7
from scrapersky.errors import NotAllowed
from scrapersky.http.auth import OPEN_MODE, has_undeclared_body, require_loopback
from scrapersky.http.body_limits import BodyLimitMiddleware
from scrapersky.http.idempotency import IdempotencyMiddleware
from scrapersky.http.openapi import extend_openapi
from scrapersky.http.problems import build_problem
from scrapersky.http.proxies import ProxyHeadersMiddleware
from scrapersky.http.rate_limit import RateLimitMiddleware
from scrapersky.logging import get_logger
from scrapersky.settings import Settings

log = get_logger(__name__)


def install_middleware(app: FastAPI, settings: Settings) -> None:
    """Add the middleware, innermost first: the last one added sees a request first."""
    app.add_middleware(IdempotencyMiddleware, settings=settings)
    app.add_middleware(BodyLimitMiddleware, settings=settings)
    app.add_middleware(RateLimitMiddleware, settings=settings)
    if settings.auth_mode == OPEN_MODE:
        app.add_middleware(LoopbackOnlyMiddleware)
    app.add_middleware(RequestIdMiddleware)
    app.add_middleware(ProxyHeadersMiddleware, settings=settings)
    extend_openapi(app)


class RequestIdMiddleware:
    """Assigns request ids, writes the access log and handles errors of the other middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        request.state.request_id = request_id = uuid7().hex
        began, status = monotonic(), 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                # Set here to cover every response, including errors, files, streams and 304.
                headers["X-Content-Type-Options"] = "nosniff"
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, send_with_id)
            except Exception as error:
                if status:
                    raise
                answer = await _handle_error(request, error)
                await answer(scope, receive, send_with_id)
            finally:
                log.info(
                    "request",
                    method=scope["method"],
                    path=scope["path"],
                    status=status,
                    ms=round((monotonic() - began) * 1000),
                )


async def _handle_error(request: Request, error: Exception) -> Response:
    """Call the most specific exception handler, as the framework does for errors within routes."""
    handlers: dict[Any, Any] = request.app.exception_handlers
    kind = next(each for each in type(error).__mro__ if each in handlers)
    answer: Response = await handlers[kind](request, error)
    return answer


class LoopbackOnlyMiddleware:
    """Blocks foreign requests in open mode, where any web page a user visits could send some."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _find_refusal(Request(scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)


def _find_refusal(request: Request) -> Response | None:
    try:
        require_loopback(request)
    except NotAllowed as refusal:
        return build_problem(request, 403, str(refusal))
    if has_undeclared_body(request):
        return build_problem(
            request, 415, "Send JSON as `Content-Type: application/json`, or a file as `text/csv`."
        )
    return None
