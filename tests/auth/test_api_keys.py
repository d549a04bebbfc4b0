"""API keys: shown once, rotated, expired, revoked, and cheap to use."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from fastapi import Request, Response
from sqlalchemy import event, func, select, update
from starlette.middleware.base import RequestResponseEndpoint

from scrapersky.db.session import Database
from scrapersky.errors import Conflict, InvalidInput, NotFound
from scrapersky.main import create_app
from scrapersky.models import ApiKey, AuditEntry, Role
from tests.auth.accounts import SYSTEM, add_key, add_tenant, add_user, asking, signed_in_settings

KEYS, JOBS, SCAN = "/api/v3/api-keys", "/api/v3/jobs", "/api/v3/sitemap/scan"


async def status_with(client: httpx.AsyncClient, secret: str) -> tuple[int, str]:
    answer = await client.get(JOBS, headers={"Authorization": f"Bearer {secret}"})
    return answer.status_code, answer.json().get("detail", "")


async def change(database: Database, key_id: UUID, **values: Any) -> None:
    async with database.transaction() as session:
        await session.execute(update(ApiKey).where(ApiKey.id == key_id).values(**values))


async def test_a_key_is_shown_once_and_known_by_its_beginning(url: str, database: Database) -> None:
    _, admin = await add_key(database)
    async with asking(signed_in_settings(url), admin) as client:
        made = (await client.post(KEYS, json={"name": "export", "role": "viewer"})).json()
        listed = (await client.get(KEYS)).json()

    assert made["key"].startswith(made["prefix"])
    assert made["prefix"].startswith("sky_")
    assert len(made["prefix"]) == 12
    assert made["prefix"] in {each["prefix"] for each in listed}
    assert made["key"] not in json.dumps(listed)


async def test_the_secret_is_neither_in_the_database_nor_in_the_audit_log(
    url: str, database: Database
) -> None:
    _, admin = await add_key(database)
    async with asking(signed_in_settings(url), admin) as client:
        made = (await client.post(KEYS, json={"name": "export"})).json()
        rotated = (await client.post(f"{KEYS}/{made['id']}/rotate")).json()

    async with database.reading() as session:
        rows = [str(vars(each)) for each in await session.scalars(select(ApiKey))]
        rows += [str(vars(each)) for each in await session.scalars(select(AuditEntry))]
    for secret in (admin, made["key"], rotated["key"]):
        assert not any(secret in row for row in rows)


async def test_a_rotated_key_opens_with_the_new_secret_only(url: str, database: Database) -> None:
    _, admin = await add_key(database)
    key_id, old = await add_key(database, role=Role.VIEWER)
    async with asking(signed_in_settings(url), admin) as client:
        rotated = (await client.post(f"{KEYS}/{key_id}/rotate")).json()

        assert rotated["id"] == str(key_id)
        assert (await status_with(client, rotated["key"]))[0] == 200
        status, why = await status_with(client, old)
    assert (status, "rotated" in why) == (401, True)
    assert rotated["previous_until"] is None


async def test_the_old_secret_is_good_for_the_grace(url: str, database: Database) -> None:
    _, admin = await add_key(database)
    key_id, old = await add_key(database, role=Role.VIEWER)
    async with asking(signed_in_settings(url), admin) as client:
        wanted = {"grace_seconds": 60}
        rotated = (await client.post(f"{KEYS}/{key_id}/rotate", json=wanted)).json()
        during = [(await status_with(client, each))[0] for each in (old, rotated["key"])]
        await change(database, key_id, previous_until=func.now())
        after = [(await status_with(client, each))[0] for each in (old, rotated["key"])]

    assert during == [200, 200]
    assert after == [401, 200]


async def test_of_two_rotations_only_the_last_secret_has_a_grace(
    url: str, database: Database
) -> None:
    _, admin = await add_key(database)
    key_id, first = await add_key(database, role=Role.VIEWER)
    async with asking(signed_in_settings(url), admin) as client:
        rotate = f"{KEYS}/{key_id}/rotate"
        second = (await client.post(rotate, json={"grace_seconds": 60})).json()["key"]
        third = (await client.post(rotate, json={"grace_seconds": 60})).json()["key"]
        opens = [(await status_with(client, each))[0] for each in (first, second, third)]

    assert opens == [401, 200, 200]


async def test_a_revoked_key_opens_nothing_not_even_within_a_grace(
    url: str, database: Database
) -> None:
    _, admin = await add_key(database)
    key_id, old = await add_key(database, role=Role.VIEWER)
    async with asking(signed_in_settings(url), admin) as client:
        path = f"{KEYS}/{key_id}"
        new = (await client.post(f"{path}/rotate", json={"grace_seconds": 60})).json()["key"]
        await client.post(f"{path}/revoke")
        opens = [await status_with(client, each) for each in (old, new)]
        again = await client.post(f"{path}/rotate")

    assert opens == [(401, "The API key was revoked.")] * 2
    assert again.status_code == 409


async def test_an_expired_key_opens_nothing(url: str, database: Database) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    key_id, secret = await add_key(database, expires_at=soon)
    async with asking(signed_in_settings(url), secret) as client:
        before, _ = await status_with(client, secret)
        await change(database, key_id, expires_at=func.now())
        after = await status_with(client, secret)

    assert before == 200
    assert after == (401, "The API key has expired.")


async def test_a_key_cannot_have_expired_before_it_was_made(url: str, database: Database) -> None:
    _, admin = await add_key(database)
    async with asking(signed_in_settings(url), admin) as client:
        answer = await client.post(KEYS, json={"name": "x", "expires_at": "2020-01-01T00:00:00"})

    assert answer.status_code == 422
    async with database.reading() as session:
        assert await session.scalar(select(func.count(ApiKey.id))) == 1


async def test_a_key_never_reaches_further_than_its_user(database: Database) -> None:
    bob = await add_user(database, "bob", role=Role.VIEWER)

    with pytest.raises(
        InvalidInput, match="bob has the role viewer, so the key's role cannot be curator"
    ):
        await add_key(database, SYSTEM, role=Role.CURATOR, user_id=bob.user_id)


async def test_a_key_cannot_be_made_for_somebody_of_another_tenant(database: Database) -> None:
    stranger = await add_tenant(database, "other")

    with pytest.raises(NotFound, match="in this tenant"):
        await add_key(database, SYSTEM, user_id=stranger.user_id)


async def test_a_key_cannot_be_made_for_somebody_deactivated(url: str, database: Database) -> None:
    bob = await add_user(database, "bob")
    _, admin = await add_key(database)
    async with asking(signed_in_settings(url), admin) as client:
        await client.post(f"/api/v3/users/{bob.user_id}/deactivate")

    with pytest.raises(Conflict, match="bob is deactivated"):
        await add_key(database, SYSTEM, user_id=bob.user_id)


@pytest.mark.parametrize(
    ("role", "reads", "scans", "makes_keys"),
    [("viewer", 200, 403, 403), ("curator", 200, 202, 403), ("admin", 200, 202, 201)],
)
async def test_a_role_reaches_so_far(
    url: str, database: Database, role: str, reads: int, scans: int, makes_keys: int
) -> None:
    _, secret = await add_key(database, role=Role(role))
    async with asking(signed_in_settings(url), secret) as client:
        read = await client.get(JOBS)
        scanned = await client.post(SCAN, json={"base_url": "example.com"})
        made = await client.post(KEYS, json={"name": "x"})

    assert [each.status_code for each in (read, scanned, made)] == [reads, scans, makes_keys]


def writes_seen(client: httpx.AsyncClient) -> list[str]:
    """Every change the application makes to a key, from now on."""
    seen: list[str] = []

    def listen(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "api_keys" in statement and not statement.lstrip().upper().startswith("SELECT"):
            seen.append(statement)

    engine = client.app.state.context.database.engine.sync_engine  # type: ignore[attr-defined]
    event.listen(engine, "before_cursor_execute", listen)
    return seen


async def test_asking_writes_no_more_than_once_a_minute(url: str, database: Database) -> None:
    key_id, secret = await add_key(database)
    async with asking(signed_in_settings(url), secret) as client:
        writes = writes_seen(client)
        for _ in range(5):
            assert (await client.get(JOBS)).status_code == 200
        first_minute = len(writes)
        await change(database, key_id, last_used_at=func.now() - timedelta(seconds=61))
        await client.get(JOBS)

    assert (first_minute, len(writes)) == (1, 2), writes
    assert all("last_used_at" in each for each in writes)


async def test_who_asks_is_known_to_what_stands_around_the_routes(
    url: str, database: Database
) -> None:
    """Limits per key go by this: it stays over requests, and two keys of one user differ."""
    (first_id, first), (second_id, second) = [await add_key(database) for _ in range(2)]
    seen: list[str] = []
    app = create_app(signed_in_settings(url))

    @app.middleware("http")
    async def look(request: Request, go_on: RequestResponseEndpoint) -> Response:
        answer = await go_on(request)
        seen.append(request.state.identity.id)
        return answer

    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        for secret in (first, first, second):
            await status_with(client, secret)

    assert seen == [f"key:{first_id}", f"key:{first_id}", f"key:{second_id}"]
