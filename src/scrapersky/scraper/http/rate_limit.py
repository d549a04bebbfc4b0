"""Per-host rate limiting: the gate protocol, and an in-memory gate for one process."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Protocol

from scrapersky.errors import ScraperSkyError
from scrapersky.scraper.http.fetch_errors import HostClosed

MAX_CRAWL_DELAY_SECONDS = 30.0
"""A robots.txt that asks for more is asking us to stay away, which it can say with Disallow."""
MAX_GATE_WAIT_SECONDS = 60.0
"""Who would have to wait longer at the gate is sent away instead, to come back then."""
MAX_RETRY_AFTER_SECONDS = 24 * 3600.0


class FetchErrorKind(StrEnum):
    """Why a request got no answer."""

    TIMED_OUT = "timed_out"
    CONNECTION = "connection"
    TLS = "tls"
    DNS = "dns"


@dataclass(frozen=True)
class HostOutcome:
    """How one request to a host went: a status, or the kind of error when there was none."""

    status: int | None = None
    error: FetchErrorKind | None = None
    retry_after_seconds: float | None = None

    @property
    def is_pushback(self) -> bool:
        """The host asks us to slow down."""
        return self.status in (429, 503)

    @property
    def is_failure(self) -> bool:
        """It counts towards opening the host's circuit."""
        return self.error is not None or self.is_pushback or (self.status or 0) >= 500


class SlotLost(ScraperSkyError):
    """The slot may belong to somebody else by now. Nothing was sent; take a new one."""


class Slot(Protocol):
    """A host's permission for one request."""

    def check(self) -> None:
        """Called immediately before the request is sent; raises `SlotLost`.

        A process can be frozen or a machine suspended between taking its slot and sending. Whoever
        waits for the host meanwhile is given the slot of a process that looks dead."""
        ...


class Gate(Protocol):
    """Who may ask which host, and when. `host` is lower-case, with its port unless default."""

    def slot(self, host: str, *, exempt: bool) -> AbstractAsyncContextManager[Slot | None]:
        """Held around one request; waits for the host's turn, or raises `HostClosed`. A gate whose
        slots cannot be lost yields None.

        An exempt host lies in the allowed networks and has no delay.
        """
        ...

    async def report(self, host: str, outcome: HostOutcome) -> None:
        """Called once after each request."""
        ...

    async def set_crawl_delay(self, host: str, seconds: float) -> None:
        """What the host's robots.txt asks for, already capped."""
        ...


@dataclass
class _HostState:
    places: asyncio.Semaphore
    delay_seconds: float
    next_turn: float = 0.0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class LocalGate:
    """A gate for one process: so many at once per host, so far apart."""

    def __init__(self, *, concurrency: int = 4, delay_seconds: float = 0.1) -> None:
        self._hosts: defaultdict[str, _HostState] = defaultdict(
            lambda: _HostState(asyncio.Semaphore(concurrency), delay_seconds)
        )

    @asynccontextmanager
    async def slot(self, host: str, *, exempt: bool) -> AsyncIterator[None]:
        state = self._hosts[host]
        async with state.places:
            if not exempt:
                await self._wait_for_turn(host, state)
            yield

    @staticmethod
    async def _wait_for_turn(host: str, state: _HostState) -> None:
        async with state.turn:
            clock = asyncio.get_running_loop().time
            wait = max(0.0, state.next_turn - clock())
            if wait > MAX_GATE_WAIT_SECONDS:
                until = datetime.now(UTC) + timedelta(seconds=wait)
                raise HostClosed(f"{host} asked us to stay away for {wait:.0f} s.", until=until)
            await asyncio.sleep(wait)
            state.next_turn = clock() + state.delay_seconds

    async def report(self, host: str, outcome: HostOutcome) -> None:
        if outcome.retry_after_seconds is not None and outcome.is_pushback:
            state = self._hosts[host]
            turn = asyncio.get_running_loop().time() + outcome.retry_after_seconds
            state.next_turn = max(state.next_turn, turn)

    async def set_crawl_delay(self, host: str, seconds: float) -> None:
        state = self._hosts[host]
        state.delay_seconds = max(state.delay_seconds, min(seconds, MAX_CRAWL_DELAY_SECONDS))


def parse_retry_after(text: str | None, *, now: datetime | None = None) -> float | None:
    """Seconds from a `Retry-After` header, which holds seconds or a date; None when unreadable."""
    if text is None or not (text := text.strip()):
        return None
    if text.isascii() and text.isdigit():
        seconds = float(text)
    else:
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        seconds = (date - (now or datetime.now(UTC))).total_seconds()
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_SECONDS)
