"""Dashboard sessions: the cookie grants the user's role while its session row is valid."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, update

from scrapersky.db.session import Database
from scrapersky.models import Actor, ApiKey, AuditEntry, Role, User, UserSession
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, add_user, asking, signed_in_settings
from tests.auth.dashboard_clients import (
    COOKIE,
    PASSWORD,
    SESSION,
    add_person,
    give_password,
    sign_in,
)
from tests.auth.token_issuer import with_secret
from tests.conftest import make_settings

JOBS, SCAN, USERS = "/api/v3/jobs", "/api/v3/sitemap/scan", "/api/v3/users"
SITE = {"base_url": "example.com"}


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(signed_in_settings(url)) as made:
        yield made


@pytest.fixture
async def alice(database: Database) -> Actor:
    return await add_person(database, "alice")


async def age(database: Database, **values: Any) -> None:
    async with database.transaction() as session:
        await session.execute(update(UserSession).values(**values))


async def status(client: httpx.AsyncClient) -> int:
    return (await client.get(JOBS)).status_code


async def test_a_password_opens_and_signing_out_closes(
    client: httpx.AsyncClient, database: Database, alice: Actor
) -> None:
    begun = await sign_in(client)
    shown = (await client.get(SESSION)).json()
    asked = await client.post(SCAN, json=SITE)
    token = client.cookies[COOKIE]
    ended = await client.delete(SESSION)
    client.cookies.set(COOKIE, token, domain="localhost.local")

    assert begun.status_code == 201
    assert begun.headers["cache-control"] == "no-store"
    said = begun.headers["set-cookie"].lower()
    assert all(each in said for each in ("httponly", "samesite=lax", "path=/"))
    assert "secure" not in said
    assert shown == begun.json()
    assert (shown["user"]["name"], shown["role"]) == ("alice", "admin")
    assert asked.status_code == 202
    assert ended.status_code == 204
    assert await status(client) == 401
    async with database.reading() as session:
        row = (await session.scalars(select(UserSession))).one()
        assert token.encode() not in row.token_hash
        noted = await session.execute(select(AuditEntry.action, AuditEntry.via))
        assert {("session.begin", "dashboard"), ("session.end", "dashboard")} <= {
            (each.action, each.via) for each in noted
        }
        assert ("sitemap.scan", "dashboard") in {
            (each.action, each.via)
            for each in await session.execute(select(AuditEntry.action, AuditEntry.via))
        }


async def test_over_https_the_cookie_stays_there(client: httpx.AsyncClient, alice: Actor) -> None:
    body = {"name": "alice", "password": PASSWORD}
    answer = await client.post(f"https://localhost{SESSION}", json=body)

    assert "secure" in answer.headers["set-cookie"].lower()


async def test_an_api_key_opens_a_session_that_reaches_as_far_and_ends_with_it(
    client: httpx.AsyncClient, database: Database, alice: Actor
) -> None:
    key_id, secret = await add_key(database, alice, role=Role.VIEWER)
    _, admin = await add_key(database)
    by_header = await client.post(SESSION, headers={"Authorization": f"Bearer {secret}"})
    begun = await client.post(SESSION, json={"api_key": secret})
    client.headers["X-CSRF-Token"] = begun.json()["csrf_token"]
    before = await status(client)
    refused = await client.post(SCAN, json=SITE)
    await client.post(f"/api/v3/api-keys/{key_id}/revoke", headers={"X-API-Key": admin})

    assert (by_header.status_code, begun.status_code) == (201, 201)
    assert begun.json()["role"] == "viewer"
    assert (before, refused.status_code, await status(client)) == (200, 403, 401)


async def test_a_rotated_key_ends_what_was_begun_with_the_old_secret(
    client: httpx.AsyncClient, database: Database, alice: Actor
) -> None:
    key_id, secret = await add_key(database, alice)
    _, admin = await add_key(database)
    await client.post(SESSION, json={"api_key": secret})
    await client.post(f"/api/v3/api-keys/{key_id}/rotate", headers={"X-API-Key": admin})

    assert await status(client) == 401


async def test_an_expired_key_takes_its_sessions_with_it(
    client: httpx.AsyncClient, database: Database, alice: Actor
) -> None:
    _, secret = await add_key(database, alice)
    await client.post(SESSION, json={"api_key": secret})
    before = await status(client)
    async with database.transaction() as session:
        await session.execute(update(ApiKey).values(expires_at=func.now()))

    assert (before, await status(client)) == (200, 401)


async def test_a_session_does_not_outlive_the_token_it_was_begun_with(
    url: str, database: Database
) -> None:
    issuer = with_secret()
    token = issuer.token(role="curator")
    async with serving(signed_in_settings(url, **issuer.settings)) as client:
        begun = await client.post(SESSION, headers={"Authorization": f"Bearer {token}"})

        assert (begun.status_code, begun.json()["role"]) == (201, "curator")
        assert await status(client) == 200
    async with database.reading() as session:
        row = (await session.scalars(select(UserSession))).one()
        assert row.expires_at - row.created_at < timedelta(hours=2)


async def test_a_changed_role_counts_with_the_next_request(
    client: httpx.AsyncClient, database: Database, alice: Actor
) -> None:
    _, admin = await add_key(database)
    await sign_in(client)
    path, headers = f"{USERS}/{alice.user_id}/role", {"X-API-Key": admin}
    seen = []
    for role in ("viewer", "curator"):
        await client.post(path, json={"role": role}, headers=headers)
        asked = await client.post(SCAN, json=SITE)
        seen.append(((await client.get(SESSION)).json()["role"], asked.status_code))

    assert seen == [("viewer", 403), ("curator", 202)]


async def test_a_deactivated_user_is_out_at_once_and_stays_out(
    client: httpx.AsyncClient, database: Database, alice: Actor
) -> None:
    _, admin = await add_key(database)
    headers = {"X-API-Key": admin}
    await sign_in(client)
    seen = [await status(client)]
    for act in ("deactivate", "reactivate"):
        await client.post(f"{USERS}/{alice.user_id}/{act}", headers=headers)
        seen.append(await status(client))

    assert seen == [200, 401, 401]


async def test_a_user_deactivated_behind_our_back_is_out_too(
    client: httpx.AsyncClient, database: Database, alice: Actor
) -> None:
    await sign_in(client)
    async with database.transaction() as session:
        await session.execute(
            update(User).where(User.id == alice.user_id).values(deactivated_at=func.now())
        )

    assert await status(client) == 401
    assert (await sign_in(client)).status_code == 401


@pytest.mark.parametrize(
    "values",
    [
        {"last_seen_at": func.now() - timedelta(hours=12, seconds=1)},
        {"expires_at": func.now()},
        {"ended_at": func.now()},
    ],
    ids=["idle", "old", "ended"],
)
async def test_a_session_that_is_over_opens_nothing(
    client: httpx.AsyncClient, database: Database, alice: Actor, values: dict[str, Any]
) -> None:
    await sign_in(client)
    await age(database, **values)
    answer = await client.get(JOBS)

    assert answer.status_code == 401
    assert "Sign in again" in answer.json()["detail"]


async def test_use_keeps_it_alive_but_a_page_left_open_does_not(
    client: httpx.AsyncClient, database: Database, alice: Actor
) -> None:
    async def idle() -> timedelta:
        async with database.reading() as session:
            now, seen = (await session.execute(select(func.now(), UserSession.last_seen_at))).one()
            since: timedelta = now - seen
            return since

    await sign_in(client)
    await age(database, last_seen_at=func.now() - timedelta(hours=11))
    await client.get(SESSION, headers={"Accept": "text/event-stream"})
    left_open = await idle()
    await client.get(SESSION)

    assert left_open > timedelta(hours=10)
    assert await idle() < timedelta(minutes=1)


@pytest.mark.parametrize("token", [None, "", "0" * 64, "ü", "of another session"])
async def test_what_changes_something_needs_the_pages_token(
    client: httpx.AsyncClient, database: Database, alice: Actor, token: str | None
) -> None:
    other = (await sign_in(client)).json()["csrf_token"]
    await sign_in(client)
    del client.headers["X-CSRF-Token"]
    given = other if token == "of another session" else token
    headers = {} if given is None else {"X-CSRF-Token": given.encode()}
    refused = [
        await client.request(method, path, headers=headers)  # type: ignore[arg-type]
        for method, path in (("POST", USERS), ("DELETE", SESSION))
    ]

    assert [each.status_code for each in refused] == [403, 403]
    assert "Reload the page" in refused[0].json()["detail"]
    assert await status(client) == 200


@pytest.mark.parametrize("cookie", ["", "x", "a" * 43, "sky_" + "a" * 43, "%00", "é"])
async def test_a_made_up_cookie_opens_nothing(client: httpx.AsyncClient, cookie: str) -> None:
    headers = [(b"Cookie", f"{COOKIE}={cookie}".encode())]
    answer = await client.get(JOBS, headers=headers)

    assert answer.status_code == 401


async def test_a_wrong_key_beside_a_good_cookie_opens_nothing(
    client: httpx.AsyncClient, alice: Actor
) -> None:
    await sign_in(client)
    by_header = await client.get(JOBS, headers={"Authorization": "Bearer sky_wrong"})
    by_other = await client.get(JOBS, headers={"X-API-Key": "sky_wrong"})
    of_a_proxy = await client.get(JOBS, headers={"Authorization": "Basic eDp5"})

    assert (by_header.status_code, by_other.status_code) == (401, 401)
    assert of_a_proxy.status_code == 200


async def test_the_same_name_in_another_tenant_is_somebody_else(
    client: httpx.AsyncClient, database: Database, alice: Actor
) -> None:
    other = await add_tenant(database, "other")
    theirs = await add_user(database, "alice", actor=other)
    await give_password(database, theirs, "another horse altogether")
    here = await sign_in(client)
    mixed = await sign_in(client, tenant="other")
    there = await sign_in(client, tenant="other", password="another horse altogether")
    by_id = await sign_in(client, tenant=str(other.tenant_id), password="another horse altogether")
    nowhere = await sign_in(client, tenant="nowhere")

    assert [each.status_code for each in (here, mixed, there, by_id, nowhere)] == [
        201,
        401,
        201,
        201,
        401,
    ]
    assert there.json()["user"]["id"] == str(theirs.user_id)
    assert mixed.json()["detail"] == nowhere.json()["detail"]


async def test_ones_sessions_are_listed_and_the_others_ended(
    url: str, client: httpx.AsyncClient, database: Database, alice: Actor
) -> None:
    await add_person(database, "bob")
    await sign_in(client, "bob")
    bobs = client.cookies[COOKIE]
    await client.post(
        SESSION,
        json={"name": "alice", "password": PASSWORD},
        headers={"User-Agent": "Browser\x07/1 " + "x" * 500},
    )
    elsewhere = client.cookies[COOKIE]
    await sign_in(client)
    listed = (await client.get("/api/v3/sessions")).json()
    ended = (await client.post("/api/v3/sessions/end-others")).json()
    left = (await client.get("/api/v3/sessions")).json()

    assert [each["is_current"] for each in listed] == [True, False]
    assert listed[1]["client"].startswith("Browser/1 x")
    assert len(listed[1]["client"]) == 200
    assert ended == {"ended": 1}
    assert [each["id"] for each in left] == [listed[0]["id"]]
    async with serving(signed_in_settings(url)) as another:
        for cookie, expected in ((elsewhere, 401), (bobs, 200)):
            answer = await another.get(JOBS, headers={"Cookie": f"{COOKIE}={cookie}"})
            assert answer.status_code == expected


async def test_with_a_key_there_is_no_session_to_end(url: str, database: Database) -> None:
    _, secret = await add_key(database)
    async with asking(signed_in_settings(url), secret) as client:
        shown = (await client.get(SESSION)).json()
        ended = await client.delete(SESSION)

    assert (shown["user"]["name"], shown["csrf_token"]) == ("system", None)
    assert ended.status_code == 409


async def test_open_mode_needs_none(url: str) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        headers = {"Cookie": f"{COOKIE}=made-up"}
        assert (await client.post(SCAN, json=SITE, headers=headers)).status_code == 202
        assert (await client.get(SESSION)).json()["role"] == "admin"
        refused = await client.post(SESSION, json={"name": "alice", "password": PASSWORD})

    assert refused.status_code == 409


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
async def test_no_other_web_page_can_sign_somebody_in(
    client: httpx.AsyncClient, alice: Actor, kind: str | None
) -> None:
    body = b'{"name": "alice", "password": "correct horse battery"}'
    headers = {} if kind is None else {"Content-Type": kind}
    answer = await client.post(SESSION, content=body, headers=headers)

    assert answer.status_code in (415, 422)
    assert COOKIE not in answer.headers.get("set-cookie", "")


async def test_each_person_has_a_share_of_requests(url: str, database: Database) -> None:
    settings = signed_in_settings(url, rate_limit_per_minute=6, rate_limit_burst=4)
    await add_person(database, "alice")
    await add_person(database, "bob")
    async with serving(settings) as client:
        seen = []
        for name in ("alice", "bob"):
            await sign_in(client, name)
            client.headers.pop("X-CSRF-Token")
            seen.append([await status(client) for _ in range(6)])
            client.cookies.clear()

    # The first of each was counted for the address, for until then nobody knew the session.
    assert seen == [[200, 200, 200, 200, 200, 429]] * 2
