"""Rate limits per caller, and the headers that report them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from scrapersky.auth.service import create_api_key, get_system_actor
from scrapersky.db.session import Database
from scrapersky.http.rate_limit import LRUCache, RateLimitMiddleware
from scrapersky.models import Role
from tests.app import serving
from tests.conftest import make_settings

JOBS = "/api/v3/jobs"
ONE_A_MINUTE: dict[str, Any] = {
    "scheduler_enabled": False,
    "rate_limit_per_minute": 1,
    "rate_limit_burst": 3,
}


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, **ONE_A_MINUTE)) as made:
        yield made


async def test_after_the_burst_a_caller_is_told_when_to_go_on(client: httpx.AsyncClient) -> None:
    answers = [await client.get(JOBS) for _ in range(4)]

    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    assert [each.headers["ratelimit-remaining"] for each in answers] == ["2", "1", "0", "0"]
    refused = answers[-1]
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.headers["ratelimit-limit"] == "3"
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert 120 <= int(refused.headers["ratelimit-reset"]) <= 180
    assert refused.json()["request_id"] == refused.headers["x-request-id"]


async def test_health_is_always_told(client: httpx.AsyncClient) -> None:
    for _ in range(5):
        await client.get(JOBS)
    answers = [await client.get("/health") for _ in range(5)]
    answers += [await client.get("/health/ready") for _ in range(5)]

    assert {each.status_code for each in answers} == {200}
    assert not any("ratelimit-limit" in each.headers for each in answers)


async def test_zero_means_no_limit(url: str) -> None:
    settings = make_settings(url, **{**ONE_A_MINUTE, "rate_limit_per_minute": 0})
    async with serving(settings) as client:
        answers = [await client.get(JOBS) for _ in range(10)]

    assert {each.status_code for each in answers} == {200}


async def test_each_key_has_its_own_share(url: str, database: Database) -> None:
    settings = make_settings(url, auth_mode="required", **ONE_A_MINUTE)
    secrets = []
    async with database.transaction() as session:
        actor = await get_system_actor(session, settings)
        for name in ("one", "two"):
            _, secret = await create_api_key(session, actor, name=name, role=Role.VIEWER)
            secrets.append(secret)
    async with serving(settings) as client:
        statuses = []
        for secret in secrets:
            signed = {"Authorization": f"Bearer {secret}"}
            answers = [await client.get(JOBS, headers=signed) for _ in range(5)]
            statuses.append([each.status_code for each in answers])

    # The first of each was counted for the address, for until then nobody knew the key.
    assert statuses == [[200, 200, 200, 200, 429]] * 2


async def test_guessing_keys_is_limited_by_address(url: str) -> None:
    settings = make_settings(url, auth_mode="required", **ONE_A_MINUTE)
    async with serving(settings) as client:
        guesses = [{"Authorization": f"Bearer sky_{number}"} for number in range(5)]
        answers = [await client.get(JOBS, headers=each) for each in guesses]

    assert [each.status_code for each in answers] == [401, 401, 401, 429, 429]


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


async def answer_ok(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def statuses_of(limits: RateLimitMiddleware, address: str, times: int) -> list[int]:
    transport = httpx.ASGITransport(limits, client=(address, 1234))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return [(await client.get("/")).status_code for _ in range(times)]


async def test_the_bucket_fills_with_time_and_no_further_than_its_size(url: str) -> None:
    clock = Clock()
    limits = RateLimitMiddleware(answer_ok, make_settings(url, **ONE_A_MINUTE), now=clock)

    assert await statuses_of(limits, "192.0.2.1", 4) == [200, 200, 200, 429]
    clock.seconds += 60
    assert await statuses_of(limits, "192.0.2.1", 2) == [200, 429]
    clock.seconds += 3600
    assert await statuses_of(limits, "192.0.2.1", 4) == [200, 200, 200, 429]


async def test_addresses_are_counted_apart_and_a_household_together(url: str) -> None:
    limits = RateLimitMiddleware(answer_ok, make_settings(url, **ONE_A_MINUTE), now=Clock())

    assert await statuses_of(limits, "192.0.2.1", 3) == [200, 200, 200]
    assert await statuses_of(limits, "192.0.2.2", 1) == [200]
    assert await statuses_of(limits, "2001:db8::1", 3) == [200, 200, 200]
    assert await statuses_of(limits, "2001:db8::2", 1) == [429]
    assert await statuses_of(limits, "2001:db8:0:1::1", 1) == [200]


def test_what_is_remembered_is_bounded() -> None:
    recent: LRUCache[int] = LRUCache(2)
    for number in range(3):
        recent.store(str(number), number)
        recent.get("0")

    assert [recent.get(name) for name in ("0", "1", "2")] == [0, None, 2]
