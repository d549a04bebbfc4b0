"""Who acts, and the keys programs sign in with."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts.names import name_of
from scrapersky.accounts.sessions import end_of_key
from scrapersky.db.base import uuid7
from scrapersky.errors import Conflict, InvalidInput, NotFound, SettingsError
from scrapersky.models import Actor, ApiKey, Role, User, record
from scrapersky.models.accounts import KEY_PREFIX, hash_key
from scrapersky.settings import Settings

SHOWN_CHARACTERS = len(KEY_PREFIX) + 8
"""Enough to know a key by; the 35 that are not shown cannot be guessed."""
LONGEST_GRACE = timedelta(days=30)


async def system_actor(session: AsyncSession, settings: Settings) -> Actor:
    """Whom the schedulers, the command line and open mode act for; must exist."""
    user = await session.get(User, settings.scheduler_system_user_id)
    if user is None:
        raise SettingsError(
            f"SCHEDULER_SYSTEM_USER_ID names {settings.scheduler_system_user_id}, "
            "but there is no such user in the database."
        )
    if user.deactivated_at is not None:
        raise SettingsError(f"SCHEDULER_SYSTEM_USER_ID names {user.name}, who is deactivated.")
    return Actor(user_id=user.id, tenant_id=user.tenant_id, role=Role(user.role))


async def create_api_key(
    session: AsyncSession,
    actor: Actor,
    *,
    name: str,
    role: Role,
    user_id: UUID | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """The key's row and the key itself, which is shown this once and kept nowhere. It belongs to
    the user given, or else to whoever makes it."""
    name = name_of("A key", name)
    user = await _user_for_key(session, actor, user_id or actor.user_id, role)
    secret = _new_secret()
    key = ApiKey(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        user_id=user.id,
        name=name,
        role=role,
        prefix=secret[:SHOWN_CHARACTERS],
        key_hash=hash_key(secret),
        expires_at=_with_zone(expires_at),
    )
    session.add(key)
    await session.flush()
    await session.refresh(key)
    _refuse_past(key)
    record(session, actor, "api_key.create", key.id, name=name, role=role, user_id=str(user.id))
    return key, secret


def _new_secret() -> str:
    return KEY_PREFIX + secrets.token_urlsafe(32)


async def _user_for_key(session: AsyncSession, actor: Actor, user_id: UUID, role: Role) -> User:
    user = await session.scalar(
        select(User).where(User.id == user_id, User.tenant_id == actor.tenant_id)
    )
    if user is None:
        raise NotFound(f"There is no user {user_id} in this tenant to give the key to.")
    if user.deactivated_at is not None:
        raise Conflict(f"{user.name} is deactivated, so a key would open nothing.")
    if not Role(user.role).includes(role):
        raise InvalidInput(f"{user.name} is {user.role}; a key of theirs cannot be {role}.")
    return user


def _refuse_past(key: ApiKey) -> None:
    if key.expires_at is not None and key.expires_at <= key.created_at:
        raise InvalidInput("The key would have expired before it was made.")


def _with_zone(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment and not moment.tzinfo else moment


async def list_api_keys(session: AsyncSession, actor: Actor) -> Sequence[ApiKey]:
    found = await session.scalars(
        select(ApiKey)
        .where(ApiKey.tenant_id == actor.tenant_id)
        .order_by(ApiKey.created_at, ApiKey.id)
    )
    return found.all()


async def rotate_api_key(
    session: AsyncSession, actor: Actor, key_id: UUID, *, grace: timedelta = timedelta()
) -> tuple[ApiKey, str]:
    """A new secret for the same key, shown this once; the one before stays good for the grace.
    Sessions that were begun with it end."""
    if not timedelta() <= grace <= LONGEST_GRACE:
        raise InvalidInput(f"The grace is from 0 to {LONGEST_GRACE.days} days.")
    key = await _get_key(session, actor, key_id)
    if key.revoked_at is not None:
        raise Conflict(f"Key {key_id} was revoked; make a new one.")
    secret = _new_secret()
    key.previous_hash = key.key_hash if grace else None
    key.previous_until = func.now() + grace if grace else None
    key.key_hash, key.prefix = hash_key(secret), secret[:SHOWN_CHARACTERS]
    await end_of_key(session, actor, key.id)
    record(session, actor, "api_key.rotate", key.id, grace_seconds=grace.total_seconds())
    return await _stored(session, key), secret


async def revoke_api_key(session: AsyncSession, actor: Actor, key_id: UUID) -> ApiKey:
    key = await _get_key(session, actor, key_id)
    if key.revoked_at is None:
        key.revoked_at = func.now()
        await end_of_key(session, actor, key.id)
    record(session, actor, "api_key.revoke", key.id, name=key.name)
    return await _stored(session, key)


async def _get_key(session: AsyncSession, actor: Actor, key_id: UUID) -> ApiKey:
    """Locked, so that of two rotations at once each keeps what the other made."""
    wanted = select(ApiKey).where(ApiKey.id == key_id, ApiKey.tenant_id == actor.tenant_id)
    key = await session.scalar(wanted.with_for_update())
    if key is None:
        raise NotFound(f"There is no API key {key_id}.")
    return key


async def _stored(session: AsyncSession, key: ApiKey) -> ApiKey:
    await session.flush()
    await session.refresh(key)
    return key
