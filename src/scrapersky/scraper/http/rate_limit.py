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
"""Longer crawl delays are capped. Sites that do not want to be crawled can use Disallow."""
MAX_GATE_WAIT_SECONDS = 60.0
"""Longest wait for a slot. Beyond it, `HostClosed` is raised and the request is retried later."""
MAX_RETRY_AFTER_SECONDS = 24 * 3600.0


class FetchErrorKind(StrEnum):
    """Why a request received no complete response."""

    TIMED_OUT = "timed_out"
    CONNECTION = "connection"
    TLS = "tls"
    DNS = "dns"


@dataclass(frozen=True)
class HostOutcome:
    """Outcome of one request to a host: a status, or the kind of error if there was none."""

    status: int | None = None
    error: FetchErrorKind | None = None
    retry_after_seconds: float | None = None

    @property
    def is_pushback(self) -> bool:
        """Whether the host asks us to slow down."""
        return self.status in (429, 503)

    @property
    def is_failure(self) -> bool:
        """Whether the outcome counts towards opening the host's circuit breaker."""
        return self.error is not None or self.is_pushback or (self.status or 0) >= 500


class SlotLost(ScraperSkyError):
    """The slot may have been reassigned. Nothing was sent; acquire a new slot."""


class Slot(Protocol):
    """Permission to send one request to a host."""

    def check(self) -> None:
        """Raise `SlotLost` if the slot has expired. Call it immediately before sending.

        A process can be suspended between acquiring its slot and sending. Its slot is then given to
        another process that waits for the host.
        """
        ...


class Gate(Protocol):
    """Rate limiter for hosts. `host` is lower case, with its port unless that is the default."""

    def slot(self, host: str, *, exempt: bool) -> AbstractAsyncContextManager[Slot | None]:
        """Hold a slot around one request: wait for the host's next turn, or raise `HostClosed`.

        A gate whose slots cannot be lost yields None. Exempt hosts are in the allowed networks and
        have no delay.
        """
        ...

    async def report(self, host: str, outcome: HostOutcome) -> None:
        """Record the outcome. Call it once after each request."""
        ...

    async def set_crawl_delay(self, host: str, seconds: float) -> None:
        """Set the delay requested by the host's robots.txt. The fetcher has already capped it."""
        ...


@dataclass
class _HostState:
    places: asyncio.Semaphore
    delay_seconds: float
    next_turn: float = 0.0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class LocalGate:
    """Gate for one process, with a concurrency limit and a delay per host."""

    def __init__(self, *, concurrency: int = 4, delay_seconds: float = 0.1) -> None:
        self._hosts: defaultdict[str, _HostState] = defaultdict(
            lambda: _HostState(asyncio.Semaphore(concurrency), delay_seconds)
        )

    @asynccontextmanager
    async def slot(self, host: str, *, exempt: bool) -> AsyncIterator[None]:
        state = self._hosts[host]
        async with state.places:
            if not exempt:
                async with state.turn:
                    clock = asyncio.get_running_loop().time
                    wait = max(0.0, state.next_turn - clock())
                    if wait > MAX_GATE_WAIT_SECONDS:
                        until = datetime.now(UTC) + timedelta(seconds=wait)
                        raise HostClosed(f"{host} asked us to retry in {wait:.0f} s.", until=until)
                    await asyncio.sleep(wait)
                    state.next_turn = clock() + state.delay_seconds
            yield

    async def report(self, host: str, outcome: HostOutcome) -> None:
        if outcome.retry_after_seconds is not None and outcome.is_pushback:
            state = self._hosts[host]
            earliest = asyncio.get_running_loop().time() + outcome.retry_after_seconds
            state.next_turn = max(state.next_turn, earliest)

    async def set_crawl_delay(self, host: str, seconds: float) -> None:
        state = self._hosts[host]
        state.delay_seconds = max(state.delay_seconds, min(seconds, MAX_CRAWL_DELAY_SECONDS))


def parse_retry_after(text: str | None, *, now: datetime | None = None) -> float | None:
    """Parse a `Retry-After` header, in seconds or as a date, and return seconds.

    Return None if it cannot be parsed.
    """
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
