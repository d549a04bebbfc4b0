"""Password guessing is limited, and no one can lock out another user."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, update

from scrapersky.auth import sign_in_limits
from scrapersky.auth.sign_in_limits import (
    ADDRESS_AND_NAME_LIMIT,
    ADDRESS_LIMIT,
    DEVICE_COOKIE,
    DEVICE_LIMIT,
    MAX_DEVICES_PER_USER,
    NAME_LIMIT,
    USER_LIMIT,
    AttemptSource,
    count_attempt,
    delete_old_attempts,
    refund_attempt,
)
from scrapersky.db.session import Database
from scrapersky.models import SignInBucket, SignInDevice
from tests.app import serving
from tests.auth.accounts import add_tenant, add_user, signed_in_settings
from tests.auth.dashboard_clients import PASSWORD, SESSION, add_person, sign_in
from tests.conftest import make_settings

OWN = "/api/v3/session/password"
LIMITS = (
    "DEVICE_LIMIT",
    "ADDRESS_LIMIT",
    "ADDRESS_AND_NAME_LIMIT",
    "NAME_LIMIT",
    "USER_LIMIT",
)
NEVER = 1e12


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buckets do not drain, however slow the machine is."""
    for name in (*LIMITS, "ATTACK_LIMIT"):
        limit = getattr(sign_in_limits, name)
        monkeypatch.setattr(sign_in_limits, name, replace(limit, seconds_each=NEVER))


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(signed_in_settings(url)) as made:
        yield made


@asynccontextmanager
async def visiting(client: httpx.AsyncClient, address: str) -> AsyncIterator[httpx.AsyncClient]:
    """Another browser, at this address, of the same server."""
    transport = httpx.ASGITransport(client.app, client=(address, 1))  # type: ignore[attr-defined]
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as made:
        yield made


async def attempt(database: Database, source: AttemptSource) -> int:
    """What a failed attempt is told to wait; a refused one counts for nothing."""
    async with database.transaction() as session:
        wait = await count_attempt(session, source)
        if wait:
            await session.rollback()
    return wait


async def under_attack(database: Database, name: str = "alice") -> None:
    for number in range(NAME_LIMIT.capacity + 5):
        assert await attempt(database, AttemptSource(f"bot {number}", name)) == 0


async def drain(database: Database, seconds: float) -> None:
    """As if so much time had passed."""
    async with database.transaction() as session:
        earlier = SignInBucket.updated_at - timedelta(seconds=seconds)
        await session.execute(update(SignInBucket).values(updated_at=earlier))


@pytest.mark.usefixtures("frozen")
async def test_nobody_learns_whether_there_is_somebody_of_that_name(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_person(database, "alice")
    await add_user(database, "without password")
    free = ADDRESS_AND_NAME_LIMIT.capacity
    for number in range(free + 1):
        answers = [
            await sign_in(client, name, password="wrong")
            for name in ("alice", "nobody", "without password")
        ]
        # But for the seconds, which go by while the three are asked one after the other.
        said = {
            (each.status_code, each.json()["detail"].rstrip("0123456789 s.")) for each in answers
        }
        assert len(said) == 1, said
        [(status, sentence)] = said
        assert status == (401 if number < free else 429)
    assert sentence == "Too many failed attempts. Try again in"
    assert int(answers[0].headers["retry-after"]) > 0
    assert (await sign_in(client)).status_code == 429


@pytest.mark.usefixtures("frozen")
async def test_processes_count_together_and_many_guesses_at_once_are_counted_too(
    url: str, client: httpx.AsyncClient, database: Database
) -> None:
    await add_person(database, "alice")
    free = ADDRESS_AND_NAME_LIMIT.capacity
    async with serving(signed_in_settings(url)) as another:
        tries = [sign_in((client, another)[n % 2], password="wrong") for n in range(free + 4)]
        statuses = [each.status_code for each in await asyncio.gather(*tries)]
        assert (statuses.count(401), statuses.count(429)) == (free, 4)
        assert (await sign_in(another)).status_code == 429


@pytest.mark.usefixtures("frozen")
async def test_whoever_floods_a_name_does_not_keep_its_owner_out(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_person(database, "alice")
    async with visiting(client, "203.0.113.9") as attacker:
        for _ in range(ADDRESS_AND_NAME_LIMIT.capacity):
            assert (await sign_in(attacker, password="wrong")).status_code == 401
        assert (await sign_in(attacker, password="wrong")).status_code == 429
    assert (await sign_in(client)).status_code == 201


@pytest.mark.usefixtures("frozen")
async def test_even_a_flood_from_everywhere_leaves_an_unused_address_its_attempt(
    client: httpx.AsyncClient, database: Database
) -> None:
    alice = await add_person(database, "alice")
    await under_attack(database, f"{alice.tenant_id}\0alice")
    async with visiting(client, "203.0.113.9") as bot:
        assert (await sign_in(bot, password="wrong")).status_code == 401
        assert (await sign_in(bot, password="wrong")).status_code == 429
    assert (await sign_in(client)).status_code == 201
    # And what she does not fail at is not held against her: she signs in as often as she likes.
    assert (await sign_in(client)).status_code == 201


@pytest.mark.usefixtures("frozen")
async def test_a_known_browser_is_let_in_when_its_whole_address_is_used_up(
    client: httpx.AsyncClient, database: Database
) -> None:
    """An attacker in the same office, or everybody behind a proxy that is not declared."""
    alice = await add_person(database, "alice")
    assert (await sign_in(client)).status_code == 201
    address = AttemptSource("address:127.0.0.1", f"{alice.tenant_id}\0alice")
    while await attempt(database, address) == 0:
        pass
    for number in range(ADDRESS_LIMIT.capacity):
        await attempt(database, replace(address, name=f"name {number}"))

    assert (await sign_in(client)).status_code == 201
    async with visiting(client, "127.0.0.1") as stranger:
        assert (await sign_in(stranger)).status_code == 429


@pytest.mark.usefixtures("frozen")
async def test_a_known_browser_is_limited_too_and_only_for_its_own_user(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_person(database, "alice")
    await add_person(database, "bob")
    assert (await sign_in(client)).status_code == 201
    for _ in range(DEVICE_LIMIT.capacity):
        assert (await sign_in(client, password="wrong")).status_code == 401
    assert (await sign_in(client)).status_code == 429
    # Alice's cookie is worth nothing for guessing Bob's password.
    for _ in range(ADDRESS_AND_NAME_LIMIT.capacity):
        assert (await sign_in(client, "bob", password="wrong")).status_code == 401
    assert (await sign_in(client, "bob")).status_code == 429


async def test_the_device_cookie_is_kept_from_scripts_and_from_other_paths(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_person(database, "alice")
    answer = await sign_in(client)
    [cookie] = [
        each for each in answer.headers.get_list("set-cookie") if each.startswith(DEVICE_COOKIE)
    ]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert f"Path={SESSION}" in cookie
    again = await sign_in(client)
    assert client.cookies[DEVICE_COOKIE] in " ".join(again.headers.get_list("set-cookie"))
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(SignInDevice)) == 1


@pytest.mark.usefixtures("frozen")
async def test_a_name_is_counted_in_its_tenant_however_the_tenant_is_written(
    client: httpx.AsyncClient, database: Database
) -> None:
    acme = await add_tenant(database, "acme")
    await add_person(database, "alice")
    await add_person(database, "alice", actor=acme)
    for number in range(ADDRESS_AND_NAME_LIMIT.capacity):
        tenant = ("acme", str(acme.tenant_id))[number % 2]
        answer = await sign_in(client, password="wrong", tenant=tenant)
        assert answer.status_code == 401
    for tenant in ("acme", str(acme.tenant_id)):
        assert (await sign_in(client, tenant=tenant)).status_code == 429
    assert (await sign_in(client)).status_code == 201


@pytest.mark.usefixtures("frozen")
async def test_guessing_the_current_password_of_a_session_is_limited(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_person(database, "alice")
    await sign_in(client)
    wanted: dict[str, Any] = {"current": "wrong", "new": "another horse altogether"}
    for _ in range(USER_LIMIT.capacity):
        assert (await client.post(OWN, json=wanted)).status_code == 403
    assert (await client.post(OWN, json={**wanted, "current": PASSWORD})).status_code == 429


# The counting itself


async def test_failures_drain_one_after_the_other(database: Database) -> None:
    source, limit = AttemptSource("home", "alice"), ADDRESS_AND_NAME_LIMIT
    for _ in range(limit.capacity):
        assert await attempt(database, source) == 0
    assert 0 < await attempt(database, source) <= limit.seconds_each
    await drain(database, limit.seconds_each)
    assert await attempt(database, source) == 0
    assert await attempt(database, source) > 0
    await drain(database, limit.seconds_each * limit.capacity)
    for _ in range(limit.capacity):
        assert await attempt(database, source) == 0


async def test_a_name_is_no_longer_under_attack_some_minutes_after_it(database: Database) -> None:
    await under_attack(database)
    home = AttemptSource("home", "alice")
    assert await attempt(database, home) == 0
    assert await attempt(database, home) > ADDRESS_AND_NAME_LIMIT.seconds_each
    await drain(database, 1800)
    for _ in range(ADDRESS_AND_NAME_LIMIT.capacity):
        assert await attempt(database, home) == 0


@pytest.mark.usefixtures("frozen")
async def test_an_address_cannot_go_through_all_names_nor_wash_itself_with_one_it_knows(
    database: Database,
) -> None:
    for number in range(ADDRESS_LIMIT.capacity):
        assert await attempt(database, AttemptSource("home", f"name {number}")) == 0
        assert await attempt(database, AttemptSource("elsewhere", "mine")) == 0
        async with database.transaction() as session:
            await refund_attempt(session, AttemptSource("elsewhere", "mine"))
    assert await attempt(database, AttemptSource("home", "another")) > 0
    assert await attempt(database, AttemptSource("elsewhere", "another")) == 0


async def test_counts_and_devices_that_are_old_are_deleted_and_there_are_never_too_many(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = make_settings(url)
    await under_attack(database)
    assert await delete_old_attempts(database, settings) == 0
    monkeypatch.setattr(sign_in_limits, "MAX_BUCKETS", 10)
    await delete_old_attempts(database, settings)
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(SignInBucket)) == 10
    await drain(database, sign_in_limits.BUCKET_MAX_AGE.total_seconds() + 1)
    assert await delete_old_attempts(database, settings) == 10

    alice = await add_user(database, "alice")
    async with database.transaction() as session:
        owned = {"user_id": alice.user_id, "tenant_id": alice.tenant_id}
        old = func.now() - sign_in_limits.DEVICE_MAX_AGE - timedelta(days=1)
        session.add(SignInDevice(token_hash=b"old", last_used_at=old, **owned))
        session.add(SignInDevice(token_hash=b"new", **owned))
    assert await delete_old_attempts(database, settings) == 1


async def test_a_user_has_so_many_devices_at_most(
    client: httpx.AsyncClient, database: Database
) -> None:
    alice = await add_person(database, "alice")
    async with database.transaction() as session:
        for number in range(MAX_DEVICES_PER_USER):
            token_hash = number.to_bytes(2, "big")
            used = func.now() - timedelta(minutes=number + 1)
            session.add(
                SignInDevice(
                    token_hash=token_hash,
                    user_id=alice.user_id,
                    tenant_id=alice.tenant_id,
                    last_used_at=used,
                )
            )
    assert (await sign_in(client)).status_code == 201
    async with database.reading() as session:
        kept = set(await session.scalars(select(SignInDevice.token_hash)))
    assert len(kept) == MAX_DEVICES_PER_USER
    assert (MAX_DEVICES_PER_USER - 1).to_bytes(2, "big") not in kept
