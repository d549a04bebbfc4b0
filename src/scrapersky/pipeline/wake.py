"""Wake a stage's consumers as soon as its rows are committed, in this and every other process.

Wake-ups only reduce latency. The interval tick finds rows whose wake-up was lost.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any
from uuid import uuid4

from sqlalchemy import ARRAY, Text, bindparam, func, select
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.listen import NotificationListener
from scrapersky.db.session import Database
from scrapersky.db.statements import CompiledStatement
from scrapersky.logging import get_logger

CHANNEL = "scrapersky_wake"
NOTIFY_INTERVAL_SECONDS = 0.1
"""Minimum time between two NOTIFY statements.

PostgreSQL serializes the commits of transactions that notify, so a NOTIFY in each would cost a
multiple of the throughput.
"""
IN_SESSION, TOLD = "scrapersky.wake", "scrapersky.told"
NOTIFY = CompiledStatement(
    select(func.pg_notify(CHANNEL, func.unnest(bindparam("payloads", type_=ARRAY(Text)))))
)

log = get_logger(__name__)


def wake_after_commit(session: AsyncSession, *stages: str) -> None:
    """Wake these stages once the session's transaction has been committed."""
    session.info.setdefault(IN_SESSION, set()).update(stages)


class Wakeups:
    """Sends wake-ups after commits, and receives those of other processes."""

    def __init__(self, database: Database, listen_url: URL | None = None) -> None:
        self._database = database
        self._sender = uuid4().hex
        self._sleepers: defaultdict[str, list[Callable[[], Any]]] = defaultdict(list)
        self._unsent: set[str] = set()
        self._sending: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self.listener = NotificationListener(
            listen_url or database.url,
            CHANNEL,
            callback=self._handle_notification,
            connected=self._wake_all,
        )
        self._told_at = 0.0
        database.before_commit.append(self._before_commit)
        database.after_commit.append(self._after_commit)

    def subscribe(self, stage: str, wake: Callable[[], Any]) -> None:
        self._sleepers[stage].append(wake)

    def listen(self) -> None:
        self._listening = asyncio.create_task(self.listener.run(), name="listener")

    @property
    def is_listening(self) -> bool:
        """Whether this process listens. Whether its connection is up is `listener.up`."""
        return self._listening is not None

    def announce(self, *stages: str) -> None:
        """Wake these stages here immediately, and notify other processes.

        Those are woken within NOTIFY_INTERVAL_SECONDS.
        """
        for stage in stages:
            self._wake(stage)
        self._unsent.update(stages)
        if self._unsent and self._sending is None:
            self._sending = asyncio.create_task(self._send(), name="wake-sender")

    async def flush(self) -> None:
        """Wait until all pending notifications have been sent."""
        if self._sending is not None:
            await self._sending

    async def close(self) -> None:
        self._sleepers.clear()
        await self.flush()
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening
        with suppress(ValueError):
            self._database.before_commit.remove(self._before_commit)
            self._database.after_commit.remove(self._after_commit)

    async def _before_commit(self, session: AsyncSession) -> None:
        """Send the NOTIFY within the transaction, if none was sent lately.

        Others then receive it with the commit itself. A busy process sends its notifications
        afterwards and in batches, because a NOTIFY in every transaction makes writers queue for a
        lock at commit.
        """
        stages = session.info.get(IN_SESSION)
        now = monotonic()
        if not stages or now - self._told_at < NOTIFY_INTERVAL_SECONDS:
            return
        self._told_at = now
        raw = await (await session.connection()).get_raw_connection()
        driver: Any = raw.driver_connection
        payloads = [f"{self._sender} {each}" for each in stages]
        await driver.fetch(NOTIFY.sql, *NOTIFY.arguments({"payloads": payloads}))
        session.info[TOLD] = True

    def _after_commit(self, session: AsyncSession) -> None:
        stages = session.info.pop(IN_SESSION, ())
        if session.info.pop(TOLD, False):
            for stage in stages:
                self._wake(stage)
        else:
            self.announce(*stages)

    async def _send(self) -> None:
        try:
            while self._unsent:
                stages, self._unsent = self._unsent, set()
                await self._notify(stages)
                if self._unsent:
                    await asyncio.sleep(NOTIFY_INTERVAL_SECONDS)
        finally:
            self._sending = None

    async def _notify(self, stages: set[str]) -> None:
        payloads = [f"{self._sender} {each}" for each in stages]
        try:
            await self._database.direct.fetch(NOTIFY, {"payloads": payloads})
        except Exception as error:
            log.warning(
                "NOTIFY failed; other processes will find the rows with their next tick",
                error=str(error),
            )

    def _handle_notification(self, payload: str) -> None:
        sender, _, stage = payload.partition(" ")
        if sender != self._sender:
            self._wake(stage)

    def _wake(self, stage: str) -> None:
        for wake in self._sleepers.get(stage, ()):
            wake()

    def _wake_all(self) -> None:
        """Wake all stages after a reconnect, because notifications may have been missed."""
        for stage in list(self._sleepers):
            self._wake(stage)
