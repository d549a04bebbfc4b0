"""One host is asked by few at once and not too fast."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from itertools import pairwise
from time import monotonic

import pytest

from scrapersky.scraper import HostClosed, HostOutcome, LocalGate
from scrapersky.scraper.politeness import parse_retry_after

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Thu, 01 Jan 2026 00:01:00 GMT", 60.0),
        ("Thu, 01 Jan 2026 00:01:00", 60.0),
        ("Wed, 31 Dec 2025 00:00:00 GMT", 0.0),
        ("99999999999", 86400.0),
        ("-5", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str | None, seconds: float | None) -> None:
    assert parse_retry_after(text, now=NOW) == seconds


async def enter(gate: LocalGate, host: str, *, exempt: bool = False) -> float:
    async with gate.slot(host, exempt=exempt):
        return monotonic()


async def test_requests_to_one_host_keep_their_distance() -> None:
    gate = LocalGate(delay_seconds=0.05)

    times = sorted(await asyncio.gather(*(enter(gate, "a.example") for _ in range(4))))

    assert all(later - earlier >= 0.045 for earlier, later in pairwise(times))


async def test_exempt_hosts_and_other_hosts_do_not_wait() -> None:
    gate = LocalGate(delay_seconds=30)
    await enter(gate, "a.example")

    async with asyncio.timeout(1):
        await enter(gate, "b.example")
        await enter(gate, "c.example", exempt=True)
        await enter(gate, "c.example", exempt=True)


async def test_no_more_at_once_than_there_are_places() -> None:
    gate = LocalGate(concurrency=2, delay_seconds=0)
    inside = most = 0

    async def visit() -> None:
        nonlocal inside, most
        async with gate.slot("a.example", exempt=True):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.01)
            inside -= 1

    await asyncio.gather(*(visit() for _ in range(6)))

    assert most == 2


async def test_a_host_that_asks_for_a_long_rest_closes() -> None:
    gate = LocalGate(delay_seconds=0)
    await gate.report("a.example", HostOutcome(status=429, retry_after_seconds=600))

    with pytest.raises(HostClosed) as closed:
        await enter(gate, "a.example")

    assert 590 < closed.value.seconds_left <= 600


async def test_a_crawl_delay_only_makes_slower() -> None:
    gate = LocalGate(delay_seconds=0.1)
    await gate.set_crawl_delay("a.example", 0.01)
    times = [await enter(gate, "a.example"), await enter(gate, "a.example")]

    assert times[1] - times[0] >= 0.09
