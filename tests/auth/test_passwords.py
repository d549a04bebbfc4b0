"""Passwords: set by admins, changed by their users, stored as slow hashes."""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx
import pytest
from argon2 import PasswordHasher, extract_parameters
from sqlalchemy import select

from scrapersky.auth import passwords
from scrapersky.auth.passwords import DUMMY_HASH, hash_password, needs_rehash, verify_password
from scrapersky.db.session import Database
from scrapersky.errors import InvalidInput
from scrapersky.logging import configure_logging
from scrapersky.models import Actor, AuditEntry, Role, User
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, add_user, asking, signed_in_settings
from tests.auth.dashboard_clients import COOKIE, PASSWORD, SESSION, add_person, sign_in
from tests.auth.token_issuer import with_secret

JOBS, USERS, OWN = "/api/v3/jobs", "/api/v3/users", "/api/v3/session/password"
NEW = "another horse altogether"

SCRYPT_N, SCRYPT_BLOCK = 2**15, 8
_salt = b"sixteen bytes of"
_digest = hashlib.scrypt(
    PASSWORD.encode(), salt=_salt, n=SCRYPT_N, r=SCRYPT_BLOCK, p=3, maxmem=2**26, dklen=32
)
SCRYPT_HASH = f"scrypt$15$8$3${b64encode(_salt).decode()}${b64encode(_digest).decode()}"
"""As version 0.2.0 and earlier stored it."""
REAL_HASHER = passwords._hasher
CHEAP_HASH = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(PASSWORD)
earlier_hashes = pytest.mark.parametrize(
    "stored", [SCRYPT_HASH, CHEAP_HASH], ids=["scrypt", "other parameters"]
)


@pytest.fixture
def _real_hasher(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests hash with parameters that cost nothing."""
    monkeypatch.setattr(passwords, "_hasher", REAL_HASHER)
    monkeypatch.setattr(passwords, "DUMMY_HASH", DUMMY_HASH)


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(signed_in_settings(url)) as made:
        yield made


@pytest.mark.usefixtures("_real_hasher")
async def test_what_is_kept_tells_a_right_password_from_a_wrong_one() -> None:
    kept = await hash_password(PASSWORD)
    again = await hash_password(PASSWORD)

    assert kept != again
    assert PASSWORD not in kept
    assert await verify_password(PASSWORD, kept)
    assert not await verify_password(PASSWORD + " ", kept)
    assert not await verify_password(PASSWORD, None)
    assert not await verify_password(PASSWORD, DUMMY_HASH)
    assert not await verify_password("x" * 1_001, kept)


@earlier_hashes
async def test_a_hash_made_in_another_way_is_still_verified_and_is_due_for_a_new_one(
    stored: str,
) -> None:
    assert await verify_password(PASSWORD, stored)
    assert not await verify_password(PASSWORD + " ", stored)
    assert needs_rehash(stored)


@pytest.mark.usefixtures("_real_hasher")
async def test_a_fresh_hash_is_not_due_for_a_new_one() -> None:
    fresh = await hash_password(PASSWORD)

    assert fresh.startswith("$argon2id$")
    assert not needs_rehash(fresh)


@pytest.mark.usefixtures("_real_hasher")
async def test_a_user_who_does_not_exist_costs_as_much_as_a_wrong_password() -> None:
    made = extract_parameters(await hash_password(PASSWORD))

    assert extract_parameters(DUMMY_HASH) == made
    # And as much memory as the hashes of earlier versions.
    assert made.memory_cost * 1024 == 128 * SCRYPT_BLOCK * SCRYPT_N


async def keep_hash(database: Database, user: Actor, stored: str) -> None:
    async with database.transaction() as session:
        (await session.get_one(User, user.user_id)).password_hash = stored


async def kept_hash(database: Database, user: Actor) -> str:
    async with database.reading() as session:
        return str((await session.get_one(User, user.user_id)).password_hash)


@earlier_hashes
async def test_the_next_sign_in_replaces_a_hash_made_in_another_way(
    client: httpx.AsyncClient, database: Database, stored: str
) -> None:
    alice = await add_person(database, "alice")
    await keep_hash(database, alice, stored)
    wrong = await sign_in(client, password=NEW)
    after_wrong = await kept_hash(database, alice)
    right = await sign_in(client)
    replaced = await kept_hash(database, alice)
    again = await sign_in(client)

    assert [each.status_code for each in (wrong, right, again)] == [401, 201, 201]
    assert after_wrong == stored
    assert not needs_rehash(replaced)
    assert await kept_hash(database, alice) == replaced
    assert await verify_password(PASSWORD, replaced)


async def test_sign_ins_at_the_same_time_all_succeed_and_replace_the_hash_once(
    url: str, database: Database
) -> None:
    alice = await add_person(database, "alice")
    await keep_hash(database, alice, SCRYPT_HASH)
    async with AsyncExitStack() as stack:
        settings = signed_in_settings(url)
        clients = [await stack.enter_async_context(serving(settings)) for _ in range(4)]
        answers = await asyncio.gather(*(sign_in(each) for each in clients))
        sessions = [(await each.get(JOBS)).status_code for each in clients]

    assert [each.status_code for each in answers] == [201] * 4
    assert sessions == [200] * 4
    assert not needs_rehash(await kept_hash(database, alice))


async def test_a_password_that_is_changed_while_its_hash_is_replaced_stays_changed(
    client: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = await add_person(database, "alice")
    await keep_hash(database, alice, SCRYPT_HASH)
    changed = await hash_password(NEW)
    compute = passwords.compute_hash

    async def compute_late(password: str) -> str:
        await keep_hash(database, alice, changed)
        return await compute(password)

    monkeypatch.setattr(passwords, "compute_hash", compute_late)
    answer = await sign_in(client)

    assert answer.status_code == 401
    assert await kept_hash(database, alice) == changed


async def test_an_accent_may_be_spelled_in_two_ways() -> None:
    assert await verify_password(
        "cafe\u0301 au lait noir", await hash_password("café au lait noir")
    )


@pytest.mark.parametrize("password", ["", "short", "x" * 11, "x" * 1_001])
async def test_too_short_or_endless_is_none(password: str) -> None:
    with pytest.raises(InvalidInput, match="characters"):
        await hash_password(password)


async def test_an_admin_gives_a_password_and_takes_the_old_one(
    url: str, client: httpx.AsyncClient, database: Database
) -> None:
    alice = await add_person(database, "alice", role=Role.VIEWER)
    _, admin = await add_key(database)
    path, headers = f"{USERS}/{alice.user_id}/password", {"X-API-Key": admin}
    before = await sign_in(client)
    short = await client.post(path, json={"password": "short"}, headers=headers)
    still = (await client.get(JOBS)).status_code
    changed = await client.post(path, json={"password": NEW}, headers=headers)
    after = (await client.get(JOBS)).status_code

    assert (before.status_code, still, after) == (201, 200, 401)
    assert short.status_code == 422
    assert "at least 12 characters" in short.json()["detail"]
    assert changed.json()["has_password"] is True
    assert (await sign_in(client)).status_code == 401
    assert (await sign_in(client, password=NEW)).status_code == 201


async def test_who_may_not_set_a_password_sets_none(
    client: httpx.AsyncClient, database: Database
) -> None:
    alice = await add_person(database, "alice")
    curator = await add_user(database, "carol", role=Role.CURATOR)
    other = await add_tenant(database, "other")
    _, weak = await add_key(database, curator, role=Role.CURATOR)
    _, foreign = await add_key(database, other)
    _, own = await add_key(database, alice)
    answers = [
        await client.post(
            f"{USERS}/{alice.user_id}/password", json={"password": NEW}, headers={"X-API-Key": key}
        )
        for key in (weak, foreign, own)
    ]

    assert [each.status_code for each in answers] == [403, 404, 409]
    assert "your own password" in answers[2].json()["detail"]
    assert (await sign_in(client)).status_code == 201


async def test_whoever_comes_by_token_has_no_password(url: str, database: Database) -> None:
    issuer = with_secret()
    _, admin = await add_key(database)
    async with asking(signed_in_settings(url, **issuer.settings), admin) as client:
        await client.get(JOBS, headers={"Authorization": f"Bearer {issuer.token()}"})
        async with database.reading() as session:
            user = (await session.scalars(select(User).where(User.name == "alice"))).one()
        answer = await client.post(f"{USERS}/{user.id}/password", json={"password": NEW})

    assert answer.status_code == 409
    assert "signs in by token" in answer.json()["detail"]


async def test_ones_own_password_is_changed_with_the_current_one(
    url: str, client: httpx.AsyncClient, database: Database
) -> None:
    await add_person(database, "alice", role=Role.VIEWER)
    await sign_in(client)
    elsewhere = client.cookies[COOKIE]
    await sign_in(client)
    wrong = await client.post(OWN, json={"current": NEW, "new": NEW})
    short = await client.post(OWN, json={"current": PASSWORD, "new": "short"})
    changed = await client.post(OWN, json={"current": PASSWORD, "new": NEW})
    here = (await client.get(JOBS)).status_code

    assert [each.status_code for each in (wrong, short, changed)] == [403, 422, 204]
    assert wrong.json()["detail"] == "The current password is wrong."
    assert here == 200
    async with serving(signed_in_settings(url)) as another:
        answer = await another.get(JOBS, headers={"Cookie": f"{COOKIE}={elsewhere}"})
        assert answer.status_code == 401
        assert (await sign_in(another, password=NEW)).status_code == 201


async def test_a_key_alone_does_not_make_the_first_password(url: str, database: Database) -> None:
    """Or whoever got hold of a key for reading could sign in as its user."""
    alice = await add_user(database, "alice")
    _, secret = await add_key(database, alice, role=Role.VIEWER)
    async with asking(signed_in_settings(url), secret) as client:
        answer = await client.post(OWN, json={"current": "", "new": NEW})

    assert answer.status_code == 403
    assert "an admin" in answer.json()["detail"]


async def test_a_password_stands_in_no_log_and_no_row(
    url: str,
    client: httpx.AsyncClient,
    database: Database,
    capfd: pytest.CaptureFixture[str],
) -> None:
    canary = "HUNTER2-canary-word"
    alice = await add_user(database, "alice")
    _, admin = await add_key(database)
    headers = {"X-API-Key": admin}
    configure_logging(level="debug")
    try:
        path = f"{USERS}/{alice.user_id}/password"
        said = [await client.post(path, json={"password": canary}, headers=headers)]
        said += [await client.post(path, json={"password": [canary]}, headers=headers)]
        said += [await client.post(path, json={"pass": canary}, headers=headers)]
        said += [
            await sign_in(client, password=canary),
            await sign_in(client, password=canary + "x"),
        ]
        said += [await client.post(SESSION, json={"name": "alice", "password": {canary: canary}})]
        half = f'{{"current": "{canary}", "new": "{canary}\\ud800"}}'.encode()
        kind = {"Content-Type": "application/json"}
        said += [await client.post(OWN, content=half, headers=kind)]
    finally:
        configure_logging(level="error")

    heard = capfd.readouterr()
    assert "request" in heard.err
    assert canary not in heard.err + heard.out
    assert not any(canary in each.text for each in said)
    async with database.reading() as session:
        entries = (await session.scalars(select(AuditEntry))).all()
        assert "user.set_password" in {each.action for each in entries}
        assert not any(canary in str(vars(each)) for each in entries)
        assert canary not in str((await session.get_one(User, alice.user_id)).password_hash)
