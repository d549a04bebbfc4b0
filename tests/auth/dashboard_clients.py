"""Dashboard clients that sign in, for tests."""

from __future__ import annotations

from typing import Any

import httpx

from scrapersky.auth.passwords import hash_password
from scrapersky.auth.service import set_password
from scrapersky.db.session import Database
from scrapersky.models import Actor, RequestChannel, Role
from tests.auth.accounts import SYSTEM, add_user

SESSION = "/api/v3/session"
COOKIE = "scrapersky_session"
PASSWORD = "correct horse battery"
CLI = Actor(SYSTEM.user_id, SYSTEM.tenant_id, via=RequestChannel.CLI)


async def give_password(database: Database, who: Actor, password: str = PASSWORD) -> None:
    fresh = await hash_password(password)
    async with database.transaction() as session:
        acting = Actor(SYSTEM.user_id, who.tenant_id, via=RequestChannel.CLI)
        await set_password(session, acting, who.user_id, fresh)


async def add_person(
    database: Database, name: str, *, role: Role = Role.ADMIN, actor: Actor = SYSTEM
) -> Actor:
    """A user with a password."""
    made = await add_user(database, name, role=role, actor=actor)
    await give_password(database, made)
    return made


async def sign_in(client: httpx.AsyncClient, name: str = "alice", **more: Any) -> httpx.Response:
    """The client keeps the cookie, and sends the token from now on."""
    body = {"name": name, "password": PASSWORD, **more}
    answer = await client.post(SESSION, json=body)
    if answer.is_success:
        client.headers["X-CSRF-Token"] = answer.json()["csrf_token"]
    return answer
