"""The host gate: rate limits, concurrency and circuit breaker per host, shared by all workers.

Every request takes a slot: a row in `host_slots`, inserted while the host's row is locked. Slots
are rows and not a counter, so that those of a killed process can be found and freed.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import and_, delete, exists, false, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.outages import retry_outages
from scrapersky.db.session import Database
from scrapersky.errors import DatabaseUnavailable
from scrapersky.logging import get_logger
from scrapersky.pipeline.tables import Host, HostSlot, Worker
from scrapersky.pipeline.workers import is_alive
from scrapersky.scraper.http.fetch_errors import HostClosed
from scrapersky.scraper.http.rate_limit import FetchErrorKind, HostOutcome, SlotLost
from scrapersky.settings import Settings

FAILURES_TO_OPEN = 5
"""Consecutive failures after which a host's circuit opens."""
TIMEOUTS_TO_OPEN = 2
"""Consecutive timeouts after which it opens.

They cost more than a refusal, because each holds a row for the whole timeout.
"""
CIRCUIT_MIN_PAUSE = timedelta(minutes=1)
CIRCUIT_MAX_PAUSE = timedelta(hours=1)
PUSHBACK_DEFAULT = timedelta(seconds=5)
"""How far a 429 or 503 without Retry-After delays all requests to the host."""
MAX_TURN_WAIT = timedelta(seconds=60)
"""The longest wait for a slot. If the next one is further away, the row is requeued instead."""
POLL_SECONDS = 0.05
MAX_HOSTS_CACHED = 5_000
DEADLINE_SECONDS = 30.0
"""Deadline for each transaction of the gate, including the wait for a pooled connection."""

log = get_logger(__name__)


def read_boot_clock() -> float:
    """Return seconds that keep counting while the process is frozen.

    Where the system supports it, they also count while the machine is suspended.
    """
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(frozen=True)
class SlotReservation:
    """A reserved slot. The request may start after the wait."""

    slot_id: UUID
    wait_seconds: float
    safe_until: float
    """Time on `clock` until which the slot cannot be given to another process.

    This holds even if our worker looks dead to others.
    """
    clock: Callable[[], float]

    def check(self) -> None:
        if self.clock() >= self.safe_until:
            raise SlotLost("The process was frozen for too long, so its slot may be lost.")


class HostGate:
    """The gate used by the fetcher. Its limits are exact across all processes."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        worker_id: UUID | None,
        clock: Callable[[], float] = read_boot_clock,
    ) -> None:
        self._database = database
        self._settings = settings
        self._worker_id = worker_id
        self._clock = clock
        self._slot_lifetime = timedelta(seconds=settings.fetch_timeout_seconds) + MAX_TURN_WAIT
        self._safe_seconds = settings.worker_dead_after_seconds / 2
        """How long a slot is safe without asking the database.

        Slots of silent workers are freed no earlier than `worker_dead_after_seconds` after they
        were taken. The other half of that time allows for clock drift and for sending the request.
        """
        self._taken: dict[UUID, float] = {}
        """Slots in use, and the time on our clock at which each must be renewed."""
        self._leaked: set[UUID] = set()
        """Slots that could not be released because the database was away.

        They are deleted with the next request or by housekeeping.
        """
        self._unreliable: set[str] = set()
        """Hosts that had failures, or had never answered, when last checked.

        Only for these is a good response written to the database.
        """
        self._places: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(settings.host_concurrency)
        )
        """Local queue per host, so that only tasks that may get a slot query the database."""

    @asynccontextmanager
    async def slot(self, host: str, *, exempt: bool) -> AsyncIterator[SlotReservation]:
        self._evict_places()
        async with self._places[host]:
            reservation = await self._acquire(host, exempt=exempt)
            self._taken[reservation.slot_id] = self._get_renewal_time()
            try:
                yield reservation
            finally:
                del self._taken[reservation.slot_id]
                # Shielded, so that cancelling the request does not also cancel the release. A
                # leaked slot would block the host until it expires.
                await asyncio.shield(self._release(reservation))

    def _get_renewal_time(self) -> float:
        return self._clock() + self._slot_lifetime.total_seconds() / 3

    async def _acquire(self, host: str, *, exempt: bool) -> SlotReservation:
        """Reserve a slot and wait until the request may start.

        After a long wait, or if the process was frozen meanwhile, the slot may have been given to
        another process. Then a new one is reserved.
        """
        while True:
            reservation = await self._reserve_slot(host, exempt=exempt)
            try:
                await asyncio.sleep(reservation.wait_seconds)
                if (confirmed := await self._confirm(reservation)) is not None:
                    return confirmed
            except BaseException:
                await asyncio.shield(self._release(reservation))
                raise

    async def _confirm(self, reservation: SlotReservation) -> SlotReservation | None:
        """Return the reservation if its slot is still ours, otherwise None.

        Within `safe_until` no query is needed. After it, the slot is renewed in the database, which
        fails if it was freed.
        """
        started = self._clock()
        if started < reservation.safe_until:
            return reservation
        renewal = _build_renewal([reservation.slot_id], self._slot_lifetime)
        still_there = await retry_outages(lambda: self._run(renewal))
        return (
            None
            if still_there is None
            else replace(reservation, safe_until=self._get_safe_until(started))
        )

    def _get_safe_until(self, started: float) -> float:
        return started + self._safe_seconds

    async def renew(self) -> None:
        """Renew the slots of long requests.

        A response body is read only as fast as its contents can be stored, so the duration of a
        request has no upper bound here.
        """
        now = self._clock()
        if due := [each for each, at in self._taken.items() if at <= now]:
            async with self._database.bounded_transaction(DEADLINE_SECONDS) as session:
                await session.execute(_build_renewal(due, self._slot_lifetime))
            for each in self._taken.keys() & due:
                self._taken[each] = self._get_renewal_time()

    async def report(self, host: str, outcome: HostOutcome) -> None:
        """Record the outcome of a request.

        A good response is written only if the host had failures before or had never answered.
        """
        if not outcome.is_failure and host not in self._unreliable:
            return
        if outcome.is_failure:
            await self._report_failure(host, outcome)
            return
        recovered = (
            update(Host)
            .where(Host.host == host, or_(Host.failures > 0, ~Host.is_proven))
            .values(
                failures=0,
                timeouts=0,
                is_proven=True,
                circuit_open_until=None,
                circuit_reason=None,
            )
            .returning(Host.host)
        )
        await retry_outages(lambda: self._run(recovered))

    async def _report_failure(self, host: str, outcome: HostOutcome) -> None:
        """Count a failure at most once.

        When the connection is lost during the commit, it is unknown whether the failure was
        counted. Counting it twice would open the circuit too early, so the transaction is not
        retried, and the row continues with the host's response.
        """
        try:
            async with self._database.bounded_transaction(DEADLINE_SECONDS) as session:
                if outcome.is_pushback:
                    await _push_back(session, host, outcome.retry_after_seconds)
                await _count_failure(session, host, outcome)
        except DatabaseUnavailable as error:
            log.warning("host failure not recorded", host=host, error=str(error))

    async def set_crawl_delay(self, host: str, seconds: float) -> None:
        known = (
            insert(Host)
            .values(host=host, crawl_delay_seconds=seconds)
            .on_conflict_do_update(
                index_elements=[Host.host], set_={"crawl_delay_seconds": seconds}
            )
            .returning(Host.host)
        )
        await retry_outages(lambda: self._run(known))

    async def _run(self, statement: Any) -> Any:
        """Execute one statement in its own transaction, and return its first value."""
        async with self._database.bounded_transaction(DEADLINE_SECONDS) as session:
            return await session.scalar(statement)

    async def release_leaked_slots(self) -> None:
        """Delete the slots that could not be released while the database was away."""
        if owed := frozenset(self._leaked):
            async with self._database.bounded_transaction(DEADLINE_SECONDS) as session:
                await session.execute(delete(HostSlot).where(HostSlot.id.in_(owed)))
            self._leaked -= owed

    def _evict_places(self) -> None:
        """Limit the size of the local queues.

        They only save round trips; the table is authoritative.
        """
        if len(self._places) > MAX_HOSTS_CACHED:
            self._places.clear()

    async def _reserve_slot(self, host: str, *, exempt: bool) -> SlotReservation:
        """Poll until a slot is free. The fetcher's deadline bounds the wait."""
        while True:
            if reservation := await retry_outages(lambda: self._try_once(host, exempt=exempt)):
                return reservation
            await asyncio.sleep(POLL_SECONDS * random.uniform(0.5, 1.5))

    async def _try_once(self, host: str, *, exempt: bool) -> SlotReservation | None:
        """Reserve a slot if one is free.

        After an outage it is unknown whether the slot was inserted. It is remembered as leaked, and
        the next attempt deletes it before it reserves another.
        """
        await self.release_leaked_slots()
        started, slot_id = self._clock(), uuid7()
        try:
            async with self._database.bounded_transaction(DEADLINE_SECONDS) as session:
                wait = await self._try_reserve(session, host, slot_id, exempt=exempt)
        except DatabaseUnavailable:
            self._leaked.add(slot_id)
            raise
        if wait is None:
            return None
        return SlotReservation(slot_id, wait, self._get_safe_until(started), self._clock)

    async def _try_reserve(
        self, session: AsyncSession, host: str, slot_id: UUID, *, exempt: bool
    ) -> float | None:
        """Lock the host's row, then count its slots and insert one.

        The lock must come first. Without it, two workers could both count a free place and exceed
        the limit.
        """
        now, row = await _lock_host(session, host)
        is_well = row.is_proven and not row.failures
        (self._unreliable.discard if is_well else self._unreliable.add)(host)
        _refuse_open_circuit(row, now)
        if await self._count_in_flight(session, host) >= (
            row.max_concurrency or self._settings.host_concurrency
        ):
            return None
        return self._insert_slot(session, row, now, slot_id, exempt=exempt)

    async def _count_in_flight(self, session: AsyncSession, host: str) -> int:
        counted = select(func.count()).where(
            HostSlot.host == host, HostSlot.expires_at > func.now()
        )
        return int(await session.scalar(counted) or 0)

    def _insert_slot(
        self, session: AsyncSession, row: Host, now: datetime, slot_id: UUID, *, exempt: bool
    ) -> float:
        """Insert the slot, and return how many seconds its request must wait."""
        start = max(now, row.next_slot_at)
        if start - now > MAX_TURN_WAIT:
            raise HostClosed(f"{row.host} requested a pause.", until=start, now=now)
        row.next_slot_at = start + self._get_delay(row, exempt=exempt)
        slot = HostSlot(
            id=slot_id,
            host=row.host,
            worker_id=self._worker_id,
            expires_at=func.now() + self._slot_lifetime,
        )
        session.add(slot)
        return (start - now).total_seconds()

    def _get_delay(self, row: Host, *, exempt: bool) -> timedelta:
        if row.crawl_delay_seconds is not None:
            return timedelta(seconds=row.crawl_delay_seconds)
        return timedelta(milliseconds=0 if exempt else self._settings.host_delay_ms)

    async def _release(self, reservation: SlotReservation) -> None:
        try:
            async with self._database.bounded_transaction(DEADLINE_SECONDS) as session:
                await session.execute(delete(HostSlot).where(HostSlot.id == reservation.slot_id))
        except Exception as error:
            # Do not fail the row: its work is done. The slot is deleted later.
            self._leaked.add(reservation.slot_id)
            log.warning("host slot not released yet", error=str(error))


async def _lock_host(session: AsyncSession, host: str) -> tuple[datetime, Host]:
    """Lock the host's row, inserting it if necessary, and return it with the current time.

    Whether the row exists is checked each time and not cached, because the transaction that
    inserted it may not have committed. `ON CONFLICT DO NOTHING` waits for that transaction.
    `clock_timestamp()` is used because `now()` is the start of the transaction, which may be well
    before the lock was granted.
    """
    statement = select(func.clock_timestamp(), Host).where(Host.host == host).with_for_update()
    result = (await session.execute(statement)).one_or_none()
    if result is None:
        await session.execute(insert(Host).values(host=host).on_conflict_do_nothing())
        result = (await session.execute(statement)).one()
    now, row = result
    return now, row


def _refuse_open_circuit(host: Host, now: datetime) -> None:
    until = host.circuit_open_until
    if until is not None and until > now:
        raise HostClosed(
            f"Backing off {host.host} until {until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC: "
            f"{host.circuit_reason}.",
            until=until,
            now=now,
            requested_by_host=False,
        )


async def _push_back(session: AsyncSession, host: str, seconds: float | None) -> None:
    wait = PUSHBACK_DEFAULT if seconds is None else timedelta(seconds=seconds)
    # Never make the next slot earlier: another response may have demanded a longer pause.
    later = func.greatest(Host.next_slot_at, func.now() + wait)
    await session.execute(update(Host).where(Host.host == host).values(next_slot_at=later))


async def _count_failure(session: AsyncSession, host: str, outcome: HostOutcome) -> None:
    timed_out = outcome.error is FetchErrorKind.TIMED_OUT
    changes: dict[str, Any] = {"failures": Host.failures + 1, "timeouts": 0}
    if timed_out:
        changes |= {"timeouts": Host.timeouts + 1, "is_proven": False}
    is_open = func.coalesce(Host.circuit_open_until > func.now(), false())
    counted = update(Host).where(Host.host == host).values(changes)
    result = await session.execute(counted.returning(Host.failures, Host.timeouts, is_open))
    failures, timeouts, was_open = result.one_or_none() or (0, 0, False)
    beyond = max(failures - FAILURES_TO_OPEN, timeouts - TIMEOUTS_TO_OPEN)
    # Ignore failures of requests that were in flight when the circuit opened. Several that fail
    # together would otherwise multiply the pause.
    if beyond < 0 or was_open:
        return
    away = min(CIRCUIT_MIN_PAUSE * 2 ** min(beyond, 10), CIRCUIT_MAX_PAUSE)
    reason = _describe_outcome(outcome)
    await session.execute(
        update(Host)
        .where(Host.host == host)
        .values(
            circuit_open_until=func.now() + away,
            circuit_reason=f"it failed {failures} times in a row, last with {reason}",
        )
    )
    log.warning("host circuit opened", host=host, seconds=away.total_seconds(), reason=reason)


def _describe_outcome(outcome: HostOutcome) -> str:
    return f"error {outcome.error}" if outcome.error else f"status {outcome.status}"


def _build_renewal(slot_ids: Sequence[UUID], lifetime: timedelta) -> Any:
    return (
        update(HostSlot)
        .where(HostSlot.id.in_(slot_ids), HostSlot.expires_at > func.now())
        .values(taken_at=func.now(), expires_at=func.now() + lifetime)
        .returning(HostSlot.id)
    )


async def reset_future_slots(session: AsyncSession, *, dead_after: timedelta) -> None:
    """Reset slots that were taken before the database's clock was set back.

    They keep their lifetime. Otherwise the slots of dead workers would block their hosts until the
    clock catches up.
    """
    future = HostSlot.taken_at > func.now() + dead_after
    lifetime = HostSlot.expires_at - HostSlot.taken_at
    await session.execute(
        update(HostSlot)
        .where(future)
        .values(taken_at=func.now(), expires_at=func.now() + lifetime)
        .execution_options(synchronize_session=False)
    )


async def free_lost_slots(session: AsyncSession, *, dead_after: timedelta) -> None:
    """Delete slots that expired or whose worker is dead.

    A worker without a row in `workers` has ended, and its slots are freed immediately. A silent
    worker may only be frozen and wake up. A slot that it took recently, even if its last heartbeat
    was already old, remains valid for `dead_after`. A worker can therefore tell by its own clock
    how long its slot is safe, and need not ask the database before it sends.
    """
    long_ago = func.now() - dead_after
    known = exists().where(Worker.id == HostSlot.worker_id)
    has_heartbeat = exists().where(Worker.id == HostSlot.worker_id, is_alive(dead_after))
    is_lost = or_(~known, and_(~has_heartbeat, HostSlot.taken_at < long_ago))
    orphaned = and_(HostSlot.worker_id.is_not(None), is_lost)
    await session.execute(delete(HostSlot).where(or_(HostSlot.expires_at < func.now(), orphaned)))
