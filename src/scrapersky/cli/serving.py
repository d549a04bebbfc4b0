"""The API on sockets that are bound already, from opening the database to handing rows back."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from scrapersky.cli.listening import PortTaken, url_of
from scrapersky.cli.output import out
from scrapersky.cli.protocol import Connection
from scrapersky.cli.signals import stopping_on_signals
from scrapersky.errors import SettingsError
from scrapersky.http.auth import OPEN, is_loopback
from scrapersky.logging import get_logger
from scrapersky.main import create_app
from scrapersky.settings import Settings

CONNECTIONS_GRACE_SECONDS = 5
"""Answers under way may be finished; whoever downloads for longer has to ask again."""

log = get_logger(__name__)


def refuse_open_to_others(settings: Settings, sockets: list[socket.socket]) -> None:
    others = [address for each in sockets if not is_loopback(address := each.getsockname()[0])]
    if settings.auth_mode == OPEN and others:
        raise SettingsError(
            f"Without sign-in the server answers on loopback only, not on {others[0]}: "
            "set AUTH_MODE=required and make a key with `scrapersky api-key create`, "
            "or leave --host out."
        )


async def serve_on(settings: Settings, sockets: list[socket.socket]) -> None:
    app = create_app(settings, say=log.info)
    server = Server(
        app,
        uvicorn.Config(
            app,
            http=Connection.with_limit(settings.max_header_bytes),
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=CONNECTIONS_GRACE_SECONDS,
        ),
        settings,
    )
    # Not uvicorn's lifespan: it would log what keeps us from starting and say no more.
    with stopping_on_signals(server.stop):
        async with app.router.lifespan_context(app):
            await server.serve(sockets)


class Server(uvicorn.Server):
    """Leaves signals to us, and tells people where it is."""

    def __init__(self, app: FastAPI, config: uvicorn.Config, settings: Settings) -> None:
        super().__init__(config)
        self._app = app
        self._settings = settings
        self._task = asyncio.current_task()

    def stop(self) -> None:
        """Before it serves there is nothing to finish, so what is being opened is closed again."""
        self.should_exit = True
        if self.started:
            self._app.state.context.stopping.set()
        if not self.started and self._task is not None:
            self._task.cancel()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Uvicorn raises them again when it is done, before the schedulers have handed back.
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except OSError as error:
            # Two may bind the same port at once; the second to listen on it is told only then.
            raise PortTaken(f"{url_of((sockets or [])[0])} is in use: {error.strerror}.") from error
        for line in introduction(self._settings, sockets or []):
            out.print(line, markup=False, highlight=False, soft_wrap=True)


def introduction(settings: Settings, sockets: list[socket.socket]) -> list[str]:
    url = url_of(sockets[0])
    access = (
        "Open: whoever can reach this machine's loopback may do anything."
        if settings.auth_mode == OPEN
        else "Requests need an API key or a token."
    )
    work = "" if settings.scheduler_enabled else " The queues are left to `scrapersky worker`."
    where = f"ScraperSky listens on {url}, for browsers and programs ({url}/openapi.json)."
    return [where, access + work]
