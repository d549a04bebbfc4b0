"""Admins create, promote and deactivate the users of their own tenant."""

from __future__ import annotations

from uuid import uuid4

import pytest
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import AuditEntry, Role
from tests.auth.accounts import SYSTEM, add_key, add_tenant, add_user, asking, signed_in_settings
from tests.auth.token_issuer import with_secret

USERS, JOBS, SCAN = "/api/v3/users", "/api/v3/jobs", "/api/v3/sitemap/scan"


async def test_users_are_made_and_listed_newest_first(url: str, database: Database) -> None:
    _, admin = await add_key(database)
    async with asking(signed_in_settings(url), admin) as client:
        made = await client.post(USERS, json={"name": " alice ", "role": "curator"})
        again = await client.post(USERS, json={"name": "alice"})
        first = (await client.get(USERS, params={"limit": 1})).json()
        following = {"limit": 1, "cursor": first["next_cursor"]}
        second = (await client.get(USERS, params=following)).json()

    assert (made.status_code, again.status_code) == (201, 409)
    names = [each["name"] for page in (first, second) for each in page["items"]]
    assert names == ["alice", "system"]
    assert second["next_cursor"] is None


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "x" * 201])
async def test_a_name_is_something_one_can_read(url: str, database: Database, name: str) -> None:
    _, admin = await add_key(database)
    async with asking(signed_in_settings(url), admin) as client:
        assert (await client.post(USERS, json={"name": name})).status_code == 422


async def test_a_key_follows_its_users_role(url: str, database: Database) -> None:
    bob = await add_user(database, "bob", role=Role.CURATOR)
    _, admin = await add_key(database)
    _, theirs = await add_key(database, bob, role=Role.CURATOR)
    async with asking(signed_in_settings(url), admin) as client:
        path = f"{USERS}/{bob.user_id}/role"
        changed = await client.post(path, json={"role": "viewer"})
        client.headers["Authorization"] = f"Bearer {theirs}"
        reads = await client.get(JOBS)
        refused = await client.post(SCAN, json={"base_url": "example.com"})

    assert changed.json()["role"] == "viewer"
    assert (reads.status_code, refused.status_code) == (200, 403)
    assert "Your role is viewer" in refused.json()["detail"]


async def test_a_deactivated_users_keys_and_tokens_stop_at_once(
    url: str, database: Database
) -> None:
    bob = await add_user(database, "bob")
    issuer = with_secret()
    _, admin = await add_key(database)
    _, key = await add_key(database, bob)
    token = issuer.token(sub=str(bob.user_id))
    async with asking(signed_in_settings(url, **issuer.settings), admin) as client:

        async def opened() -> list[int]:
            sent = [{"Authorization": f"Bearer {each}"} for each in (key, token)]
            return [(await client.get(JOBS, headers=each)).status_code for each in sent]

        before = await opened()
        await client.post(f"{USERS}/{bob.user_id}/deactivate")
        during = await opened()
        await client.post(f"{USERS}/{bob.user_id}/reactivate")
        after = await opened()

    assert (before, during, after) == ([200, 200], [401, 401], [200, 200])


async def test_somebody_who_came_by_token_is_deactivated_whatever_role_they_bring(
    url: str, database: Database
) -> None:
    issuer = with_secret()
    _, admin = await add_key(database)
    async with asking(signed_in_settings(url, **issuer.settings), admin) as client:
        await client.get(JOBS, headers={"Authorization": f"Bearer {issuer.token()}"})
        [alice] = [
            each for each in (await client.get(USERS)).json()["items"] if each["name"] == "alice"
        ]
        promoted = await client.post(f"{USERS}/{alice['id']}/role", json={"role": "admin"})
        await client.post(f"{USERS}/{alice['id']}/deactivate")
        token = issuer.token(role="admin")
        refused = await client.get(JOBS, headers={"Authorization": f"Bearer {token}"})

    assert promoted.status_code == 409
    assert "is set by the token" in promoted.json()["detail"]
    assert refused.status_code == 401
    assert refused.json()["detail"] == "The user of this token is deactivated."


@pytest.mark.parametrize(("act", "body"), [("role", {"role": "viewer"}), ("deactivate", None)])
async def test_nobody_locks_themselves_out(
    url: str, database: Database, act: str, body: dict[str, str] | None
) -> None:
    alice = await add_user(database, "alice")
    _, secret = await add_key(database, alice)
    async with asking(signed_in_settings(url), secret) as client:
        answer = await client.post(f"{USERS}/{alice.user_id}/{act}", json=body)

    assert answer.status_code == 409
    assert "Ask another admin" in answer.json()["detail"]


async def test_the_schedulers_user_stays(url: str, database: Database) -> None:
    alice = await add_user(database, "alice")
    _, secret = await add_key(database, alice)
    async with asking(signed_in_settings(url), secret) as client:
        answer = await client.post(f"{USERS}/{SYSTEM.user_id}/deactivate")

    assert answer.status_code == 409
    assert "The schedulers use this user" in answer.json()["detail"]


async def test_users_of_another_tenant_are_not_there(url: str, database: Database) -> None:
    other = await add_tenant(database, "other")
    bob = await add_user(database, "bob")
    _, foreign = await add_key(database, other)
    async with asking(signed_in_settings(url), foreign) as client:
        listed = (await client.get(USERS)).json()["items"]
        refused = [
            await client.post(f"{USERS}/{user_id}/deactivate") for user_id in (bob.user_id, uuid4())
        ]

    assert [each["name"] for each in listed] == ["admin of other"]
    assert [each.status_code for each in refused] == [404, 404]


async def test_an_unknown_role_is_refused_and_nothing_is_noted(
    url: str, database: Database
) -> None:
    _, admin = await add_key(database)
    async with database.reading() as session:
        before = (await session.scalars(select(AuditEntry.id))).all()
    async with asking(signed_in_settings(url), admin) as client:
        answer = await client.post(USERS, json={"name": "alice", "role": "root"})

    assert answer.status_code == 422
    async with database.reading() as session:
        assert (await session.scalars(select(AuditEntry.id))).all() == before
