"""Passwords: set by admins, changed by oneself, kept as nothing that could be used."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from sqlalchemy import select

from scrapersky.auth.passwords import DUMMY_HASH, PasswordHash, hash_password, verify_password
from scrapersky.db.session import Database
from scrapersky.errors import InvalidInput
from scrapersky.logging import configure_logging
from scrapersky.models import AuditEntry, Role, User
from tests.accounts.issuer import with_secret
from tests.accounts.people import add_key, add_tenant, add_user, asking, signed_in_settings
from tests.accounts.visitors import COOKIE, PASSWORD, SESSION, add_person, sign_in
from tests.app import serving

JOBS, USERS, OWN = "/api/v3/jobs", "/api/v3/users", "/api/v3/session/password"
NEW = "another horse altogether"


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(signed_in_settings(url)) as made:
        yield made


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


async def test_how_it_was_made_stands_beside_it_so_that_it_may_change() -> None:
    cheap = PasswordHash(4, 1, 1, b"salt", b"")
    stored = str(PasswordHash(4, 1, 1, b"salt", cheap.compute_digest(PASSWORD)))

    assert await verify_password(PASSWORD, stored)
    assert PasswordHash.parse(await hash_password(PASSWORD)).cost > cheap.cost


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
