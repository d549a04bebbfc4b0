"""A LISTEN connection that probes itself and reconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import asyncpg
from sqlalchemy.engine import URL

from scrapersky.db.session import enable_keepalive, get_libpq_url
from scrapersky.logging import get_logger

PROBE_INTERVAL_SECONDS = 20.0
"""Interval of the listener's self-notification. A broken connection can stay silent for minutes."""
PROBE_TIMEOUT_SECONDS = 5.0
CONNECT_TIMEOUT_SECONDS = 10.0
COMMAND_TIMEOUT_SECONDS = 10.0
RECONNECT_FIRST_SECONDS, RECONNECT_LAST_SECONDS = 0.1, 5.0

log = get_logger(__name__)


class NotificationListener:
    """Listens on one channel while `run` is running. `up` says whether it currently receives."""

    def __init__(
        self,
        url: URL,
        channel: str,
        *,
        callback: Callable[[str], None],
        connected: Callable[[], None],
        probe_every_seconds: float = PROBE_INTERVAL_SECONDS,
    ) -> None:
        self._dsn = get_libpq_url(url)
        self._channel = channel
        self._heard = callback
        self._connected = connected
        self._probe_every_seconds = probe_every_seconds
        self._probe = f"probe {uuid4()}"
        self._probe_heard = asyncio.Event()
        self.up = False

    async def run(self) -> None:
        pause = RECONNECT_FIRST_SECONDS
        while True:
            try:
                await self._listen()
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                log.warning("listener connection lost", error=str(error) or repr(error))
            if self.up:
                pause = RECONNECT_FIRST_SECONDS
            self.up = False
            await asyncio.sleep(pause)
            pause = min(pause * 2, RECONNECT_LAST_SECONDS)

    async def _listen(self) -> None:
        settings = {"application_name": "scrapersky listener"}
        # LISTEN accepts no timeout, so the connection sets one for every statement.
        connection = await asyncpg.connect(
            self._dsn,
            timeout=CONNECT_TIMEOUT_SECONDS,
            command_timeout=COMMAND_TIMEOUT_SECONDS,
            server_settings=settings,
        )
        enable_keepalive(connection)
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        try:
            await connection.add_listener(self._channel, self._handle_notification)
            await self._probe_channel(connection)
            self.up = True
            self._connected()
            while not lost.is_set():
                await _wait_for_event(lost, self._probe_every_seconds)
                if not lost.is_set():
                    await self._probe_channel(connection)
        finally:
            connection.terminate()

    async def _probe_channel(self, connection: asyncpg.Connection[Any]) -> None:
        self._probe_heard.clear()
        await connection.execute(
            "SELECT pg_notify($1, $2)", self._channel, self._probe, timeout=PROBE_TIMEOUT_SECONDS
        )
        # Not `asyncio.wait_for`: before Python 3.12 it returns normally when it is cancelled in the
        # moment in which the event is set, and a listener that missed its cancellation never ends.
        async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
            await self._probe_heard.wait()

    def _handle_notification(
        self, _connection: object, _pid: int, _channel: str, payload: object
    ) -> None:
        if payload == self._probe:
            self._probe_heard.set()
        elif not str(payload).startswith("probe "):
            self._heard(str(payload))


async def _wait_for_event(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
