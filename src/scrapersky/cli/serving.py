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
from scrapersky.cli.signals import SLACK_SECONDS, end_after, stopping_on_signals
from scrapersky.errors import DatabaseUnavailable, SettingsError
from scrapersky.http.auth import OPEN, is_loopback
from scrapersky.http.proxies import find_exposure_warnings
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
    for sentence in find_exposure_warnings(settings, [each.getsockname()[0] for each in sockets]):
        log.warning("exposed", reason=sentence)
    app = create_app(settings, say=log.info)
    server = Server(
        app,
        uvicorn.Config(
            app,
            http=Connection.with_limit(settings.max_header_bytes),
            lifespan="off",
            log_config=None,
            access_log=False,
            # Uvicorn would believe every process of this machine; see `http/proxies.py`.
            proxy_headers=False,
            timeout_graceful_shutdown=CONNECTIONS_GRACE_SECONDS,
        ),
        settings,
    )
    # Not uvicorn's lifespan: it would log what keeps us from starting and say no more.
    grace = settings.shutdown_grace_seconds + CONNECTIONS_GRACE_SECONDS
    with stopping_on_signals(server.stop, within=grace):
        async with app.router.lifespan_context(app):
            scheduler = app.state.context.scheduler
            if scheduler is not None:
                server.stop_when(scheduler.engine.gave_up)
            await server.serve(sockets)
            if scheduler is not None and scheduler.engine.gave_up.is_set():
                end_after(settings.shutdown_grace_seconds + SLACK_SECONDS)
                raise DatabaseUnavailable(
                    "The database was out of reach for "
                    f"{settings.worker_exit_after_seconds:g} s (WORKER_EXIT_AFTER_SECONDS)."
                )


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

    def stop_when(self, event: asyncio.Event) -> None:
        async def stop() -> None:
            await event.wait()
            self.stop()

        self._stopper = asyncio.create_task(stop())

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
