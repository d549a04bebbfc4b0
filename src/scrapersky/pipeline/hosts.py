"""Politeness over all workers: every request takes its turn from the `hosts` table."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from uuid import UUID

from sqlalchemy import and_, delete, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.logging import get_logger
from scrapersky.pipeline.tables import Host, HostSlot, Worker
from scrapersky.scraper.failures import HostClosed
from scrapersky.scraper.politeness import HostOutcome
from scrapersky.settings import Settings

FAILURES_TO_OPEN = 5
"""So many failures in a row, and the host is left alone for a while."""
CIRCUIT_FIRST = timedelta(minutes=1)
CIRCUIT_LAST = timedelta(hours=1)
PUSHBACK_DEFAULT = timedelta(seconds=5)
"""How long a 429 or 503 without Retry-After moves the whole host."""
LONGEST_TURN = timedelta(seconds=60)
"""A turn further away than this is not waited for: the row comes back later instead."""
LOOK_AGAIN_SECONDS = 0.05
HOSTS_REMEMBERED = 5_000

log = get_logger(__name__)


@dataclass(frozen=True)
class Turn:
    """A slot taken; the request may start after the wait."""

    slot_id: UUID
    wait_seconds: float


class HostGate:
    """The gate the fetcher is given: exact limits, whoever else is fetching."""

    def __init__(self, database: Database, settings: Settings, *, worker_id: UUID | None) -> None:
        self._database = database
        self._settings = settings
        self._worker_id = worker_id
        self._slot_lifetime = timedelta(seconds=settings.fetch_timeout_seconds) + LONGEST_TURN
        self._still_ours = settings.worker_dead_after_seconds / 2
        self._owed: set[UUID] = set()
        """Slots that could not be given back because the database was away; due with the next
        request or heartbeat."""
        self._in_trouble: set[str] = set()
        """Hosts that had failures when we last looked: a good answer clears them."""
        self._places: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(settings.host_concurrency)
        )
        """Our own tasks queue up here, so that only those with a chance ask the database."""

    @asynccontextmanager
    async def slot(self, host: str, *, exempt: bool) -> AsyncIterator[None]:
        self._stay_small()
        async with self._places[host]:
            turn = await self._come_up(host, exempt=exempt)
            try:
                yield
            finally:
                await asyncio.shield(self._give_back(turn))

    async def _come_up(self, host: str, *, exempt: bool) -> Turn:
        """Take a turn and wait for it. A process that stood still meanwhile for so long that it
        may be taken for dead may have lost its slot to another, and takes a new one."""
        while True:
            asked = monotonic()
            turn = await self._take_turn(host, exempt=exempt)
            try:
                await asyncio.sleep(turn.wait_seconds)
            except BaseException:
                await asyncio.shield(self._give_back(turn))
                raise
            if monotonic() - asked - turn.wait_seconds < self._still_ours:
                return turn
            await self._give_back(turn)

    async def report(self, host: str, outcome: HostOutcome) -> None:
        """A good answer needs a write only if there was trouble before."""
        if not outcome.is_failure and host not in self._in_trouble:
            return
        async with self._database.transaction() as session:
            if outcome.is_pushback:
                await _push_back(session, host, outcome.retry_after_seconds)
            if outcome.is_failure:
                await _count_failure(session, host, _describe(outcome))
            else:
                await session.execute(
                    update(Host)
                    .where(Host.host == host, Host.failures > 0)
                    .values(failures=0, circuit_open_until=None, circuit_reason=None)
                )

    async def set_crawl_delay(self, host: str, seconds: float) -> None:
        async with self._database.transaction() as session:
            await session.execute(
                insert(Host)
                .values(host=host, crawl_delay_seconds=seconds)
                .on_conflict_do_update(
                    index_elements=[Host.host], set_={"crawl_delay_seconds": seconds}
                )
            )

    async def repay(self) -> None:
        """Give back the slots that could not be given back while the database was away."""
        if owed := frozenset(self._owed):
            async with self._database.transaction() as session:
                await session.execute(delete(HostSlot).where(HostSlot.id.in_(owed)))
            self._owed -= owed

    def _stay_small(self) -> None:
        """What is remembered here only saves round trips; the table is the truth."""
        if len(self._places) > HOSTS_REMEMBERED:
            self._places.clear()

    async def _take_turn(self, host: str, *, exempt: bool) -> Turn:
        """Look again until a place is free; the fetcher's deadline bounds the wait."""
        while True:
            await self.repay()
            async with self._database.transaction() as session:
                turn = await self._try(session, host, exempt=exempt)
            if turn is not None:
                return turn
            await asyncio.sleep(LOOK_AGAIN_SECONDS * random.uniform(0.5, 1.5))

    async def _try(self, session: AsyncSession, host: str, *, exempt: bool) -> Turn | None:
        """The host's row is locked first: only then is what is counted still true when we act."""
        now, row = await _locked(session, host)
        (self._in_trouble.add if row.failures else self._in_trouble.discard)(host)
        _refuse_closed(row, now)
        if await self._in_flight(session, host) >= (
            row.max_concurrency or self._settings.host_concurrency
        ):
            return None
        return await self._reserve(session, row, now, exempt=exempt)

    async def _in_flight(self, session: AsyncSession, host: str) -> int:
        counted = select(func.count()).where(
            HostSlot.host == host, HostSlot.expires_at > func.now()
        )
        return int(await session.scalar(counted) or 0)

    async def _reserve(
        self, session: AsyncSession, row: Host, now: datetime, *, exempt: bool
    ) -> Turn:
        start = max(now, row.next_slot_at)
        if start - now > LONGEST_TURN:
            raise HostClosed(f"{row.host} asked to be left alone for a while.", until=start)
        row.next_slot_at = start + self._delay(row, exempt=exempt)
        slot = HostSlot(
            id=uuid7(),
            host=row.host,
            worker_id=self._worker_id,
            expires_at=func.now() + self._slot_lifetime,
        )
        session.add(slot)
        return Turn(slot.id, (start - now).total_seconds())

    def _delay(self, row: Host, *, exempt: bool) -> timedelta:
        if row.crawl_delay_seconds is not None:
            return timedelta(seconds=row.crawl_delay_seconds)
        return timedelta(milliseconds=0 if exempt else self._settings.host_delay_ms)

    async def _give_back(self, turn: Turn) -> None:
        try:
            async with self._database.transaction() as session:
                await session.execute(delete(HostSlot).where(HostSlot.id == turn.slot_id))
        except Exception as error:
            self._owed.add(turn.slot_id)
            log.warning("a host's slot could not be given back yet", error=str(error))


async def _locked(session: AsyncSession, host: str) -> tuple[datetime, Host]:
    """The host's row, made by the first who asks, and the time.

    Whether it is there is asked each time: one who made it before us may not have committed it.
    """
    wanted = select(func.clock_timestamp(), Host).where(Host.host == host).with_for_update()
    found = (await session.execute(wanted)).one_or_none()
    if found is None:
        await session.execute(insert(Host).values(host=host).on_conflict_do_nothing())
        found = (await session.execute(wanted)).one()
    now, row = found
    return now, row


def _refuse_closed(host: Host, now: datetime) -> None:
    until = host.circuit_open_until
    if until is not None and until > now:
        raise HostClosed(
            f"{host.host} is left alone until {until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC: "
            f"{host.circuit_reason}.",
            until=until,
            asked=False,
        )


async def _push_back(session: AsyncSession, host: str, seconds: float | None) -> None:
    wait = PUSHBACK_DEFAULT if seconds is None else timedelta(seconds=seconds)
    later = func.greatest(Host.next_slot_at, func.now() + wait)
    await session.execute(update(Host).where(Host.host == host).values(next_slot_at=later))


async def _count_failure(session: AsyncSession, host: str, reason: str) -> None:
    failures = await session.scalar(
        update(Host)
        .where(Host.host == host)
        .values(failures=Host.failures + 1)
        .returning(Host.failures)
    )
    if failures is None or failures < FAILURES_TO_OPEN:
        return
    away = min(CIRCUIT_FIRST * 2 ** min(failures - FAILURES_TO_OPEN, 10), CIRCUIT_LAST)
    await session.execute(
        update(Host)
        .where(Host.host == host)
        .values(
            circuit_open_until=func.now() + away,
            circuit_reason=f"it failed {failures} times in a row, last with {reason}",
        )
    )
    log.warning("host left alone", host=host, seconds=away.total_seconds(), reason=reason)


def _describe(outcome: HostOutcome) -> str:
    return f"status {outcome.status}" if outcome.status else f"error {outcome.error}"


async def free_lost_slots(session: AsyncSession, *, dead_after: timedelta) -> None:
    """Slots of requests that nobody waits for any more: expired, or their worker is dead."""
    alive = exists().where(
        Worker.id == HostSlot.worker_id, Worker.beat_at > func.now() - dead_after
    )
    orphaned = and_(HostSlot.worker_id.is_not(None), ~alive)
    await session.execute(delete(HostSlot).where(or_(HostSlot.expires_at < func.now(), orphaned)))
