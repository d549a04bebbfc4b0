"""What happens around every request: an id, a line in the log, and open mode's rules."""

from __future__ import annotations

from time import monotonic

import structlog
from fastapi import FastAPI, Request, Response
from starlette.middleware.base import RequestResponseEndpoint

from scrapersky.db.base import uuid7
from scrapersky.errors import NotAllowed
from scrapersky.http.auth import OPEN, body_is_undeclared, refuse_stranger
from scrapersky.http.errors import problem
from scrapersky.logging import get_logger
from scrapersky.settings import Settings

log = get_logger(__name__)


def install_middleware(app: FastAPI, settings: Settings) -> None:
    if settings.auth_mode == OPEN:
        app.middleware("http")(_keep_strangers_out)
    app.middleware("http")(_identify)


async def _identify(request: Request, go_on: RequestResponseEndpoint) -> Response:
    request.state.request_id = uuid7().hex
    began = monotonic()
    with structlog.contextvars.bound_contextvars(request_id=request.state.request_id):
        response = await go_on(request)
        response.headers["X-Request-ID"] = request.state.request_id
        log.info(
            "request",
            method=request.method,
            path=request.url.path,
            status=response.status_code,
            ms=round((monotonic() - began) * 1000),
        )
    return response


async def _keep_strangers_out(request: Request, go_on: RequestResponseEndpoint) -> Response:
    try:
        refuse_stranger(request)
    except NotAllowed as refusal:
        return problem(request, 403, str(refusal))
    if body_is_undeclared(request):
        return problem(request, 415, "Send the body as `Content-Type: application/json`.")
    return await go_on(request)
