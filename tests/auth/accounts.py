"""Tenants, users and keys for tests, and clients that sign in with them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx

from scrapersky.auth.service import create_api_key, create_user
from scrapersky.auth.tenants import create_tenant
from scrapersky.db.session import Database
from scrapersky.models import DEFAULT_TENANT_ID, Actor, Role
from scrapersky.settings import Settings
from tests.app import serving
from tests.conftest import make_settings
from tests.stage_cases import SYSTEM_USER_ID

SYSTEM = Actor(user_id=SYSTEM_USER_ID, tenant_id=DEFAULT_TENANT_ID)


def signed_in_settings(url: str, **more: object) -> Settings:
    return make_settings(url, scheduler_enabled=False, auth_mode="required", **more)


async def add_user(
    database: Database, name: str, *, role: Role = Role.ADMIN, actor: Actor = SYSTEM
) -> Actor:
    """Somebody made in the tenant of the actor."""
    async with database.transaction() as session:
        made = await create_user(session, actor, name=name, role=role)
    return Actor(user_id=made.id, tenant_id=actor.tenant_id, role=role)


async def add_tenant(database: Database, name: str) -> Actor:
    """A tenant, and the admin in it."""
    async with database.transaction() as session:
        tenant = await create_tenant(session, SYSTEM, name)
    bare = Actor(user_id=SYSTEM.user_id, tenant_id=tenant.id)
    return await add_user(database, f"admin of {name}", actor=bare)


async def add_key(
    database: Database, actor: Actor = SYSTEM, *, role: Role = Role.ADMIN, **more: Any
) -> tuple[UUID, str]:
    async with database.transaction() as session:
        key, secret = await create_api_key(session, actor, name="a key", role=role, **more)
    return key.id, secret


@asynccontextmanager
async def asking(settings: Settings, credentials: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the whole application that sends these with every request."""
    async with serving(settings) as client:
        client.headers["Authorization"] = f"Bearer {credentials}"
        yield client
