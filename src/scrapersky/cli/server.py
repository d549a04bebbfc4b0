"""Run the API with uvicorn on bound sockets, with header limits and graceful shutdown."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from scrapersky.cli.output import out
from scrapersky.cli.signals import EXIT_SLACK_SECONDS, exit_after, handle_stop_signals
from scrapersky.cli.sockets import PortInUse, get_socket_url
from scrapersky.errors import DatabaseUnavailable, SettingsError
from scrapersky.http.auth import OPEN_MODE, is_loopback
from scrapersky.http.event_stream import ABORT_EXTENSION
from scrapersky.http.problems import PROBLEM_JSON
from scrapersky.http.proxies import find_exposure_warnings
from scrapersky.logging import get_logger
from scrapersky.main import create_app
from scrapersky.settings import Settings

HEADER_TIMEOUT_SECONDS = 20.0
"""From a connection's start, or a request's first byte, to the end of its headers."""


LINGER_SECONDS = 2.0


class HeadersTooLarge(Exception):
    """Raised inside the parser callback to make the parser stop reading."""


class LimitedHttpProtocol(HttpToolsProtocol):
    """HTTP protocol with limits on headers, and connections that can be aborted.

    Header size is limited because the parser buffers headers until they end. Header time is limited
    because a client that sends a few bytes now and then would otherwise hold its connection
    forever. The abort extension drops a connection whose client has stopped reading.
    """

    max_header_bytes: int
    header_seconds: float
    _began = 0
    _ended = 0
    _header_bytes = 0
    _too_large = False
    _leaving = False
    _header_timer: asyncio.TimerHandle | None = None

    @classmethod
    def build_class(
        cls, max_header_bytes: int, header_seconds: float = HEADER_TIMEOUT_SECONDS
    ) -> type[LimitedHttpProtocol]:
        limits = {"max_header_bytes": max_header_bytes, "header_seconds": header_seconds}
        return type("Connection", (cls,), limits)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_header_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_header_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._leaving:
            return
        before = self._began
        super().data_received(data)
        still_in_headers = self._began > self._ended
        if still_in_headers and self._began == before and not self._too_large:
            self._header_bytes += len(data)
            if self._header_bytes > self.max_header_bytes:
                self.send_400_response("")
        if still_in_headers or not (self._is_responding() or self.timeout_keep_alive_task):
            # The second condition: bytes that start no request, such as empty lines, cancel
            # uvicorn's own keep-alive timeout for idle connections.
            self._start_header_timer()

    def _is_responding(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start_header_timer(self) -> None:
        """Start the timer once per request; later header bytes do not extend it."""
        if self._header_timer is None and not self.transport.is_closing():
            self._header_timer = self.loop.call_later(
                self.header_seconds, self._handle_header_timeout
            )

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _handle_header_timeout(self) -> None:
        self._header_timer = None
        if self._is_responding():
            # Headers of the next request arrive while a response is being sent. Nothing may be
            # written into that response, and the connection is in use anyway.
            self._start_header_timer()
        elif self._began > self._ended:
            self._send_408_response()
        else:
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._began, self._header_bytes = self._began + 1, 0
        scope: Any = self.scope
        scope["extensions"] = {ABORT_EXTENSION: self.transport.abort}

    def on_headers_complete(self) -> None:
        self._ended = self._began
        self._stop_header_timer()
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self.max_header_bytes:
            self._too_large = True
            raise HeadersTooLarge
        super().on_headers_complete()

    def _send_408_response(self) -> None:
        sentence = (
            f"The headers did not arrive within {self.header_seconds:g} s. Send them without delay."
        )
        document = {
            "type": "about:blank",
            "title": "Request Timeout",
            "status": 408,
            "detail": sentence,
        }
        self._send_and_close(408, PROBLEM_JSON, json.dumps(document).encode())

    def send_400_response(self, msg: str) -> None:
        """Answer 431 instead of uvicorn's 400 when the headers are too large."""
        if not self._too_large and self._header_bytes <= self.max_header_bytes:
            self._send_and_close(400, "text/plain; charset=utf-8", msg.encode())
            return
        self._too_large = True
        sentence = f"The headers are larger than {self.max_header_bytes:,} bytes."
        self._send_and_close(431, "text/plain; charset=utf-8", sentence.encode())

    def _send_and_close(self, status: int, media_type: str, content: bytes) -> None:
        head = (
            f"content-type: {media_type}\r\nx-content-type-options: nosniff\r\n"
            f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(STATUS_LINE[status] + head.encode() + content)
        self._linger_and_close()

    def _linger_and_close(self) -> None:
        """Close when the client has closed, or after a short delay.

        Closing while the client is still sending makes its TCP stack reset the connection and
        discard our unread response.
        """
        self._leaving = True
        self._stop_header_timer()
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self._header_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)
        else:
            self.transport.close()


CONNECTIONS_GRACE_SECONDS = 5
"""Time for responses in flight to finish. Longer downloads are cut off and must be requested again.
"""

log = get_logger(__name__)


def refuse_open_exposure(settings: Settings, sockets: list[socket.socket]) -> None:
    others = [address for each in sockets if not is_loopback(address := each.getsockname()[0])]
    if settings.auth_mode == OPEN_MODE and others:
        raise SettingsError(
            f"Without sign-in the server listens on loopback only, not on {others[0]}. "
            "Set AUTH_MODE=required and create a key with `scrapersky api-key create`, "
            "or omit --host."
        )


async def serve_sockets(settings: Settings, sockets: list[socket.socket]) -> None:
    for sentence in find_exposure_warnings(settings, [each.getsockname()[0] for each in sockets]):
        log.warning("exposed", reason=sentence)
    app = create_app(settings, report=log.info)
    server = ApiServer(
        app,
        uvicorn.Config(
            app,
            http=LimitedHttpProtocol.build_class(settings.max_header_bytes),
            lifespan="off",
            log_config=None,
            access_log=False,
            # Uvicorn would trust forwarded headers from every local process; see `http/proxies.py`.
            proxy_headers=False,
            timeout_graceful_shutdown=CONNECTIONS_GRACE_SECONDS,
        ),
        settings,
    )
    # Not uvicorn's lifespan: it logs a startup error and then hides it from the caller.
    grace = settings.shutdown_grace_seconds + CONNECTIONS_GRACE_SECONDS
    with handle_stop_signals(server.stop, within=grace):
        async with app.router.lifespan_context(app):
            scheduler = app.state.context.scheduler
            if scheduler is not None:
                server.stop_when(scheduler.engine.gave_up)
            await server.serve(sockets)
            if scheduler is not None and scheduler.engine.gave_up.is_set():
                exit_after(settings.shutdown_grace_seconds + EXIT_SLACK_SECONDS)
                raise DatabaseUnavailable(
                    "The database was unreachable for "
                    f"{settings.worker_exit_after_seconds:g} s (WORKER_EXIT_AFTER_SECONDS)."
                )


class ApiServer(uvicorn.Server):
    """Uvicorn server that leaves signals to us and prints its URL."""

    def __init__(self, app: FastAPI, config: uvicorn.Config, settings: Settings) -> None:
        super().__init__(config)
        self._app = app
        self._settings = settings
        self._task = asyncio.current_task()

    def stop(self) -> None:
        """Stop gracefully. During startup nothing is in flight, so the startup is cancelled
        instead.
        """
        self.should_exit = True
        if self.started:
            self._app.state.context.stopping.set()
        if not self.started and self._task is not None:
            self._task.cancel()

    def stop_when(self, event: asyncio.Event) -> None:
        async def stop() -> None:
            await event.wait()
            self.stop()

        self._stopper = asyncio.create_task(stop())

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Uvicorn re-raises captured signals when it is done, before the schedulers have released
        # their rows.
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except OSError as error:
            # Two processes can bind the same port; the second one gets the error only when it
            # listens.
            raise PortInUse(
                f"{get_socket_url((sockets or [])[0])} is in use: {error.strerror}."
            ) from error
        for line in build_banner(self._settings, sockets or []):
            out.print(line, markup=False, highlight=False, soft_wrap=True)


def build_banner(settings: Settings, sockets: list[socket.socket]) -> list[str]:
    url = get_socket_url(sockets[0])
    access = (
        "Sign-in is off: everyone with access to this machine's loopback interface has full access."
        if settings.auth_mode == OPEN_MODE
        else "Requests need an API key or a token."
    )
    work = "" if settings.scheduler_enabled else " Start `scrapersky worker` to process the queues."
    where = f"ScraperSky listens on {url}, with the API described at {url}/openapi.json."
    return [where, access + work]
