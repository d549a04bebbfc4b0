"""Exhausted resources are reported as such, and count against no host and no row."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

import asyncpg
import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from scrapersky.db.session import Database
from scrapersky.errors import LimitedResource, ResourceExhausted
from scrapersky.pipeline.engine import run_engine
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.outcome import RetryPolicy, build_error_outcome
from scrapersky.pipeline.queue import Claim
from scrapersky.pipeline.report import load_status
from scrapersky.pipeline.stage import AnyStage, Tools
from scrapersky.pipeline.tables import DeadLetter, EventKind, Host
from scrapersky.pipeline.vitals import find_exhausted_resource
from scrapersky.scraper import Fetcher
from scrapersky.scraper.http.fetch_errors import ConnectionFailed, FetchFailed
from scrapersky.scraper.http.rate_limit import HostOutcome, LocalGate
from scrapersky.settings import Settings
from tests.conftest import make_settings
from tests.fake_web import FakeWeb
from tests.noop_hosts import HOSTED, HostedRow, Item, prepare
from tests.waiting import PATIENCE_SECONDS

TOO_MANY = DBAPIError("SELECT", None, asyncpg.TooManyConnectionsError("sorry, too many clients"))
DISK_FULL = DBAPIError("INSERT", None, asyncpg.DiskFullError("could not extend file"))
LIMITS = [
    (OSError(errno.EMFILE, "Too many open files"), LimitedResource.DESCRIPTORS),
    (OSError(errno.ENFILE, "Too many open files in system"), LimitedResource.DESCRIPTORS),
    (OSError(errno.ENOSPC, "No space left on device"), LimitedResource.DISK),
    (PoolTimeout("QueuePool limit of size 10"), LimitedResource.CONNECTIONS),
    (TOO_MANY, LimitedResource.CONNECTIONS),
    (DISK_FULL, LimitedResource.DISK),
]


@pytest.mark.parametrize(("error", "limit"), LIMITS, ids=repr)
def test_a_row_that_meets_a_limit_of_ours_keeps_its_attempt(
    error: Exception, limit: LimitedResource
) -> None:
    found = find_exhausted_resource(error)
    rule = RetryPolicy.from_settings(Settings(), max_attempts=1)
    outcome = build_error_outcome(Claim(uuid4(), uuid4(), attempts=1), error, rule)

    assert found is not None
    assert found.limit is limit
    assert (outcome.kind, outcome.refund) == (EventKind.HANDED_BACK, 1)
    assert outcome.error == str(found)
    assert outcome.delay is not None
    assert outcome.delay.total_seconds() > 1


@pytest.mark.parametrize(
    "error", [OSError(errno.ECONNREFUSED, "refused"), ConnectionFailed("no"), ValueError("EMFILE")]
)
def test_other_errors_are_not_taken_for_limits_of_ours(error: Exception) -> None:
    assert find_exhausted_resource(error) is None


@contextmanager
def no_descriptors_left() -> Iterator[None]:
    """Really: the next one that is opened is one too many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class ListeningGate(LocalGate):
    def __init__(self) -> None:
        super().__init__(delay_seconds=0)
        self.reports: list[tuple[str, HostOutcome]] = []

    async def report(self, host: str, outcome: HostOutcome) -> None:
        self.reports.append((host, outcome))


async def test_a_fetch_without_a_descriptor_blames_no_host() -> None:
    gate = ListeningGate()
    async with FakeWeb() as web:
        web.host("a.example").body("/", "x")
        async with Fetcher.from_settings(web.settings(), gate) as fetch:
            with no_descriptors_left(), pytest.raises(ResourceExhausted) as told:
                await fetch.get("http://a.example/")
            assert gate.reports == []
            assert (await fetch.get("http://a.example/")).status == 200

    assert told.value.limit is LimitedResource.DESCRIPTORS
    assert "file descriptors" in str(told.value)
    assert not isinstance(told.value, FetchFailed)


async def test_a_name_that_could_not_be_looked_up_for_want_of_a_descriptor_is_not_unknown() -> None:
    rules = {"fetch_allow_networks": "127.0.0.0/8"}
    settings = Settings(**rules)
    async with Fetcher.from_settings(settings, ListeningGate()) as fetch:
        # The thread of the resolver starts before there is nothing left.
        with pytest.raises(FetchFailed):
            await fetch.get("http://nobody.invalid/")
        with no_descriptors_left(), pytest.raises(ResourceExhausted):
            await fetch.get("http://nobody.invalid/")


async def test_no_more_connections_are_kept_than_there_are_descriptors_for() -> None:
    async with FakeWeb() as web:
        names = [f"site{number}.example" for number in range(12)]
        for name in names:
            web.host(name).body("/", "x")
        async with Fetcher.from_settings(web.settings()) as fetch:
            fetch._sockets.keep = 3
            for name in names:
                await fetch.get(f"http://{name}/")
            async with asyncio.timeout(PATIENCE_SECONDS):
                while fetch._sockets.count > 3:
                    await asyncio.sleep(0.01)
            assert fetch._sockets.count == 3


async def test_requests_wait_for_a_descriptor_and_their_time_does_not_run() -> None:
    async with FakeWeb() as web:
        host = web.host("a.example").body("/", "x")
        async with Fetcher.from_settings(web.settings(), LocalGate(delay_seconds=0)) as fetch:
            fetch._permits = asyncio.Semaphore(1)
            await asyncio.gather(*(fetch.get("http://a.example/") for _ in range(5)))
    assert (len(host.seen), host.most_in_flight) == (5, 1)


async def test_a_stage_without_descriptors_hands_its_rows_back_and_everybody_is_told(
    database: Database, url: str
) -> None:
    await prepare(database)

    async def work(item: Item, tools: Tools) -> Item:
        with no_descriptors_left():
            await tools.fetch.get(f"http://{item.host}/")
        return item

    stage: AnyStage = replace(HOSTED, name="starved", work=work)
    settings = make_settings(url, fetch_resolve="a.example=127.0.0.1:9")
    async with database.transaction() as session:
        session.add(HostedRow(host="a.example"))
    async with run_engine(database, settings, [stage]) as engine:
        await run_job_loop(engine.runner("starved"))
        await engine.beat()
        async with database.reading() as session:
            told = (await load_status(session, [stage], settings)).own_limits
    async with database.reading() as session:
        row = await session.scalar(select(HostedRow))
        waits = await session.scalar(select(HOSTED.queue.due_at > func.now()))
        letters = await session.scalar(select(func.count()).select_from(DeadLetter))
        host = await session.get(Host, "a.example")

    assert row is not None
    assert (row.status, HOSTED.queue.of(row).attempts, waits, letters) == ("queued", 0, True, 0)
    assert host is not None
    assert (host.failures, host.circuit_open_until) == (0, None)
    assert len(told) == 1
    assert "file descriptors" in told[0]


def test_a_circular_chain_of_causes_is_followed_once() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert find_exhausted_resource(first) is None
