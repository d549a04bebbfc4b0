"""The local gate limits concurrency and rate per host."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from scrapersky.scraper import HostClosed, HostOutcome, LocalGate
from scrapersky.scraper.http.rate_limit import parse_retry_after
from tests.scraper.virtual_time import in_virtual_time, now

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
        return now()


async def all_at_once(gate: LocalGate, *hosts: str, exempt: bool = False) -> list[float]:
    return await asyncio.gather(*(enter(gate, host, exempt=exempt) for host in hosts))


def test_requests_to_one_host_keep_their_distance() -> None:
    gate = LocalGate(delay_seconds=0.05)

    assert in_virtual_time(all_at_once(gate, *["a.example"] * 4)) == [0, 0.05, 0.1, 0.15]


def test_other_hosts_do_not_wait() -> None:
    gate = LocalGate(delay_seconds=30)

    assert in_virtual_time(all_at_once(gate, "a.example", "b.example", "a.example:81")) == [0, 0, 0]


def test_exempt_hosts_do_not_wait() -> None:
    gate = LocalGate(delay_seconds=30)

    assert in_virtual_time(all_at_once(gate, *["a.example"] * 3, exempt=True)) == [0, 0, 0]


def test_time_that_a_request_takes_counts_towards_the_distance() -> None:
    async def story() -> list[float]:
        gate, times = LocalGate(delay_seconds=1), []
        for takes in (0.25, 3, 0):
            async with gate.slot("a.example", exempt=False):
                times.append(now())
                await asyncio.sleep(takes)
        return times

    assert in_virtual_time(story()) == [0, 1, 4]


def test_a_short_rest_that_a_host_asks_for_is_waited_for() -> None:
    async def story() -> float:
        gate = LocalGate(delay_seconds=0)
        await gate.report("a.example", HostOutcome(status=503, retry_after_seconds=40))
        return await enter(gate, "a.example")

    assert in_virtual_time(story()) == 40


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

    assert 0 < closed.value.seconds_left <= 600


@pytest.mark.parametrize(
    ("asked", "distance"), [(0.01, 0.1), (0.1, 0.1), (2.5, 2.5), (30, 30), (1e20, 30)]
)
def test_a_crawl_delay_only_makes_slower_and_never_stops_us(asked: float, distance: float) -> None:
    async def story() -> list[float]:
        gate = LocalGate(delay_seconds=0.1)
        await gate.set_crawl_delay("a.example", asked)
        return await all_at_once(gate, "a.example", "a.example", "b.example")

    assert in_virtual_time(story()) == [0, distance, 0]
