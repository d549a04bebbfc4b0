"""Who acts, and the keys programs sign in with."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.errors import InvalidInput, NotFound, SettingsError
from scrapersky.models import Actor, ApiKey, Role, User
from scrapersky.settings import Settings

KEY_PREFIX = "sky_"
"""Makes a key easy to recognise where it should not be."""


async def system_actor(session: AsyncSession, settings: Settings) -> Actor:
    """Whom the schedulers, the command line and open mode act for; must exist."""
    user = await session.get(User, settings.scheduler_system_user_id)
    if user is None:
        raise SettingsError(
            f"SCHEDULER_SYSTEM_USER_ID names {settings.scheduler_system_user_id}, "
            "but there is no such user in the database."
        )
    return Actor(user_id=user.id, tenant_id=user.tenant_id, role=Role(user.role))


async def create_api_key(
    session: AsyncSession, actor: Actor, *, name: str, role: Role
) -> tuple[ApiKey, str]:
    """The key's row and the key itself, which is shown this once and kept nowhere."""
    name = name.strip()
    if not name or len(name) > 200:
        raise InvalidInput("A key needs a name of 1 to 200 characters, to know it by later.")
    secret = KEY_PREFIX + secrets.token_urlsafe(32)
    key = ApiKey(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        user_id=actor.user_id,
        name=name,
        role=role,
        key_hash=hash_key(secret),
    )
    session.add(key)
    await session.flush()
    return key, secret


async def list_api_keys(session: AsyncSession, actor: Actor) -> Sequence[ApiKey]:
    found = await session.scalars(
        select(ApiKey).where(ApiKey.tenant_id == actor.tenant_id).order_by(ApiKey.created_at)
    )
    return found.all()


async def revoke_api_key(session: AsyncSession, actor: Actor, key_id: UUID) -> ApiKey:
    key = await session.scalar(
        select(ApiKey).where(ApiKey.id == key_id, ApiKey.tenant_id == actor.tenant_id)
    )
    if key is None:
        raise NotFound(f"There is no API key {key_id}.")
    if key.revoked_at is None:
        key.revoked_at = func.now()
        await session.flush()
        await session.refresh(key)
    return key


def hash_key(secret: str) -> bytes:
    """A plain digest is enough: the keys are long and random, so nothing can be guessed."""
    return hashlib.sha256(secret.encode()).digest()
