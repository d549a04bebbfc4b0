"""Rate limits per host are exact across all workers, and failing hosts are backed off."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import delete, func, select, update

from scrapersky.db.session import Database
from scrapersky.pipeline import workers
from scrapersky.pipeline.engine import run_engine
from scrapersky.pipeline.hosts import (
    FAILURES_TO_OPEN,
    TIMEOUTS_TO_OPEN,
    HostGate,
    free_lost_slots,
    reset_future_slots,
)
from scrapersky.pipeline.tables import Host, HostSlot
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.fetch_errors import HostClosed
from scrapersky.scraper.http.rate_limit import FetchErrorKind, HostOutcome
from scrapersky.scraper.http.urls import Site
from scrapersky.scraper.sitemaps.base_url import find_base_url
from tests.conftest import make_settings
from tests.fake_web import FakeWeb
from tests.waiting import PATIENCE_SECONDS

HOST = "bakery.example"


def gate(database: Database, url: str, **more: object) -> HostGate:
    # A slot expires after the timeout: so late that no test sees it happen.
    settings = make_settings(url, **{"fetch_timeout_seconds": 3600, **more})
    return HostGate(database, settings, worker_id=uuid4())


async def test_two_workers_together_never_exceed_a_hosts_concurrency(
    database: Database, url: str
) -> None:
    gates = [gate(database, url, host_concurrency=3) for _ in range(2)]
    now = most = 0
    full = asyncio.Event()

    async def ask(number: int) -> None:
        nonlocal now, most
        async with gates[number % 2].slot(HOST, exempt=True):
            now += 1
            most = max(most, now)
            if most == 3:
                full.set()
            await asyncio.wait_for(full.wait(), PATIENCE_SECONDS)
            await asyncio.sleep(0.15)
            now -= 1

    await asyncio.gather(*(ask(number) for number in range(9)))
    assert most == 3


async def test_a_host_whose_row_is_not_there_any_more_or_not_yet_is_asked_all_the_same(
    database: Database, url: str
) -> None:
    mine = gate(database, url)
    async with mine.slot(HOST, exempt=True):
        pass
    async with database.transaction() as session:
        await session.execute(delete(Host))

    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        mine.slot(HOST, exempt=True),
        database.reading() as session,
    ):
        assert list(await session.scalars(select(HostSlot.host))) == [HOST]


async def test_two_workers_together_keep_the_hosts_delay(database: Database, url: str) -> None:
    gates = [gate(database, url, host_delay_ms=60) for _ in range(2)]
    began = monotonic()

    async def ask(number: int) -> None:
        async with gates[number % 2].slot(HOST, exempt=False):
            pass

    await asyncio.gather(*(ask(number) for number in range(6)))
    assert monotonic() - began > 5 * 0.055


async def test_a_slot_whose_process_was_killed_does_not_count_for_ever(
    database: Database, url: str
) -> None:
    mine = gate(database, url, host_concurrency=1)
    async with database.transaction() as session:
        past = func.now() - timedelta(seconds=1)
        session.add(HostSlot(host=HOST, expires_at=past))

    async with asyncio.timeout(PATIENCE_SECONDS), mine.slot(HOST, exempt=True):
        pass
    async with database.transaction() as session:
        await free_lost_slots(session, dead_after=timedelta(seconds=15))
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(HostSlot)) == 0


async def test_a_dead_workers_slots_are_free_as_soon_as_it_is_known_to_be_dead(
    database: Database, url: str
) -> None:
    identity = WorkerIdentity()
    async with database.transaction() as session:
        await workers.record_heartbeat(session, identity)
        for worker_id in (identity.id, uuid4()):
            later = func.now() + timedelta(hours=1)
            session.add(HostSlot(host=HOST, worker_id=worker_id, expires_at=later))
    async with database.transaction() as session:
        await free_lost_slots(session, dead_after=timedelta(seconds=15))
    async with database.reading() as session:
        left = (await session.scalars(select(HostSlot.worker_id))).all()

    assert left == [identity.id]


async def test_a_slot_that_could_not_be_given_back_is_given_back_with_the_next_request(
    database: Database, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = gate(database, url, host_concurrency=1)
    really = database.transaction

    def away() -> Any:
        raise ConnectionRefusedError

    async with mine.slot(HOST, exempt=True):
        monkeypatch.setattr(database, "transaction", away)
    monkeypatch.setattr(database, "transaction", really)
    async with asyncio.timeout(PATIENCE_SECONDS), mine.slot(HOST, exempt=True):
        pass
    assert await _slots(database) == 0


async def test_a_slot_that_could_not_be_given_back_is_given_back_with_a_heartbeat(
    database: Database, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = database.transaction

    def away() -> Any:
        raise ConnectionRefusedError

    settings = make_settings(url, worker_beat_seconds=0.05, fetch_timeout_seconds=3600)
    async with run_engine(database, settings, []) as engine:
        assert engine.gate is not None
        async with engine.gate.slot(HOST, exempt=True):
            monkeypatch.setattr(database, "transaction", away)
        monkeypatch.setattr(database, "transaction", really)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await _slots(database):
                await asyncio.sleep(0.02)
        assert await _slots(database) == 0


async def _slots(database: Database) -> int:
    async with database.reading() as session:
        return int(await session.scalar(select(func.count()).select_from(HostSlot)) or 0)


async def test_retry_after_moves_the_whole_host(database: Database, url: str) -> None:
    await _introduce(database)
    await gate(database, url).report(HOST, HostOutcome(status=429, retry_after_seconds=3600))
    with pytest.raises(HostClosed) as closed:
        async with gate(database, url).slot(HOST, exempt=True):
            pass
    assert closed.value.until is not None


async def test_a_host_that_keeps_failing_is_left_alone_and_a_good_answer_opens_it(
    database: Database, url: str
) -> None:
    await _introduce(database)
    mine = gate(database, url)
    for _ in range(FAILURES_TO_OPEN):
        await mine.report(HOST, HostOutcome(status=500))
    with pytest.raises(HostClosed, match=r"Backing off .* last with status 500"):
        async with mine.slot(HOST, exempt=True):
            pass
    async with database.transaction() as session:
        await session.execute(update(Host).values(circuit_open_until=func.now()))
    async with mine.slot(HOST, exempt=True):
        await mine.report(HOST, HostOutcome(status=200))
    async with database.reading() as session:
        host = await session.get_one(Host, HOST)
    assert (host.failures, host.circuit_open_until) == (0, None)


async def test_a_host_without_https_recovers_when_its_circuit_closes(
    database: Database, url: str
) -> None:
    """Its next visitor asks by https first, in vain; that must not open the circuit again."""
    await _introduce(database)
    mine = gate(database, url)
    for _ in range(FAILURES_TO_OPEN):
        await mine.report(HOST, HostOutcome(status=500))
    async with database.transaction() as session:
        await session.execute(update(Host).values(circuit_open_until=func.now()))
    async with FakeWeb() as web:
        web.host(HOST).robots("User-agent: *")
        async with Fetcher.from_settings(web.settings(), mine) as fetch:
            base = await find_base_url(Site(HOST, HOST), fetch)

    host = await _host(database)
    assert base.url == f"http://{HOST}"
    assert (host.failures, host.circuit_open_until) == (0, None)


TIMED_OUT = HostOutcome(error=FetchErrorKind.TIMED_OUT)


async def test_a_host_is_left_alone_after_two_time_outs(database: Database, url: str) -> None:
    await _introduce(database)
    mine = gate(database, url)
    await mine.report(HOST, TIMED_OUT)
    async with mine.slot(HOST, exempt=True):
        pass
    await mine.report(HOST, TIMED_OUT)
    with pytest.raises(HostClosed, match="last with error timed_out"):
        async with mine.slot(HOST, exempt=True):
            pass


async def test_an_answer_between_two_time_outs_begins_the_count_anew(
    database: Database, url: str
) -> None:
    await _introduce(database)
    mine = gate(database, url)
    for outcome in (TIMED_OUT, HostOutcome(status=500), TIMED_OUT):
        await mine.report(HOST, outcome)
    async with mine.slot(HOST, exempt=True):
        host = await _host(database)
    assert (host.timeouts, host.failures, host.circuit_open_until) == (1, 3, None)


async def test_requests_that_time_out_together_do_not_prolong_the_pause(
    database: Database, url: str
) -> None:
    await _introduce(database)
    mine = gate(database, url)
    for _ in range(TIMEOUTS_TO_OPEN):
        await mine.report(HOST, TIMED_OUT)
    until = (await _host(database)).circuit_open_until
    for _ in range(5):
        await mine.report(HOST, TIMED_OUT)
    assert (await _host(database)).circuit_open_until == until


async def test_a_host_is_proven_by_an_answer_until_it_times_out(
    database: Database, url: str
) -> None:
    mine = gate(database, url)
    async with mine.slot(HOST, exempt=True):
        await mine.report(HOST, HostOutcome(status=404))
    assert (await _host(database)).is_proven
    await mine.report(HOST, HostOutcome(status=500))
    assert (await _host(database)).is_proven
    await mine.report(HOST, TIMED_OUT)
    assert not (await _host(database)).is_proven


async def _host(database: Database) -> Host:
    async with database.reading() as session:
        return await session.get_one(Host, HOST)


async def _introduce(database: Database) -> None:
    async with database.transaction() as session:
        session.add(Host(host=HOST))


async def test_slots_taken_before_the_database_clock_was_set_back_end_after_their_lifetime(
    database: Database,
) -> None:
    dead_after, lifetime = timedelta(seconds=15), timedelta(minutes=2)
    ahead = func.now() + timedelta(hours=1)
    async with database.transaction() as session:
        session.add(HostSlot(host=HOST, taken_at=ahead, expires_at=ahead + lifetime))
        session.add(HostSlot(host=HOST, expires_at=func.now() + lifetime))
    async with database.transaction() as session:
        await reset_future_slots(session, dead_after=dead_after)
    async with database.reading() as session:
        too_long = select(func.count()).where(HostSlot.expires_at > func.now() + lifetime)
        assert await session.scalar(too_long) == 0


def test_a_pause_is_measured_on_the_clock_that_set_it() -> None:
    """A worker whose clock is an hour behind must not wait an hour longer."""
    database_now = datetime.now(UTC) + timedelta(hours=1)
    until = database_now + timedelta(seconds=30)

    closed = HostClosed("The host is closed.", until=until, now=database_now)

    assert 0 < closed.seconds_left <= 30
