"""Create, change and deactivate users and API keys, and load the system actor."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import Select, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth.sessions import end_key_sessions, end_user_sessions
from scrapersky.auth.sign_in import VerifiedUser
from scrapersky.auth.tenants import validate_name
from scrapersky.db.base import uuid7
from scrapersky.errors import Conflict, InvalidInput, NotFound, SettingsError
from scrapersky.models import Actor, ApiKey, RequestChannel, Role, User, record
from scrapersky.models.accounts import KEY_PREFIX, hash_key
from scrapersky.settings import Settings

KEY_PREFIX_CHARACTERS = len(KEY_PREFIX) + 8
"""Enough to identify a key; the other 35 characters cannot be guessed."""
MAX_ROTATION_GRACE = timedelta(days=30)


async def get_system_actor(session: AsyncSession, settings: Settings) -> Actor:
    """Return the actor of the schedulers, the command line and open mode.

    Raises `SettingsError` if the user is missing or deactivated.
    """
    user = await session.get(User, settings.scheduler_system_user_id)
    if user is None:
        raise SettingsError(
            f"SCHEDULER_SYSTEM_USER_ID is {settings.scheduler_system_user_id}, "
            "but this user does not exist."
        )
    if user.deactivated_at is not None:
        raise SettingsError(f"SCHEDULER_SYSTEM_USER_ID is {user.name}, who is deactivated.")
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
    """Create a key for a user (default: the actor) and return it with its secret.

    Only a hash of the secret is stored, so it can be shown only once.
    """
    name = validate_name("A key", name)
    user = await _get_key_user(session, actor, user_id or actor.user_id, role)
    secret = _generate_secret()
    key = ApiKey(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        user_id=user.id,
        name=name,
        role=role,
        prefix=secret[:KEY_PREFIX_CHARACTERS],
        key_hash=hash_key(secret),
        expires_at=_ensure_timezone(expires_at),
    )
    session.add(key)
    await session.flush()
    await session.refresh(key)
    _validate_expiry(key)
    record(session, actor, "api_key.create", key.id, name=name, role=role, user_id=str(user.id))
    return key, secret


def _generate_secret() -> str:
    return KEY_PREFIX + secrets.token_urlsafe(32)


async def _get_key_user(session: AsyncSession, actor: Actor, user_id: UUID, role: Role) -> User:
    user = await session.scalar(
        select(User).where(User.id == user_id, User.tenant_id == actor.tenant_id)
    )
    if user is None:
        raise NotFound(f"There is no user {user_id} in this tenant.")
    if user.deactivated_at is not None:
        raise Conflict(f"{user.name} is deactivated. Reactivate the user first.")
    if not Role(user.role).includes(role):
        raise InvalidInput(
            f"{user.name} has the role {user.role}, so the key's role cannot be {role}."
        )
    return user


def _validate_expiry(key: ApiKey) -> None:
    if key.expires_at is not None and key.expires_at <= key.created_at:
        raise InvalidInput("The key's expiry is in the past.")


def _ensure_timezone(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment and not moment.tzinfo else moment


async def list_api_keys(session: AsyncSession, actor: Actor) -> Sequence[ApiKey]:
    rows = await session.scalars(
        select(ApiKey)
        .where(ApiKey.tenant_id == actor.tenant_id)
        .order_by(ApiKey.created_at, ApiKey.id)
    )
    return rows.all()


async def rotate_api_key(
    session: AsyncSession, actor: Actor, key_id: UUID, *, grace: timedelta = timedelta()
) -> tuple[ApiKey, str]:
    """Give a key a new secret, which can be shown only once.

    The previous secret stays valid for `grace`. Sessions started with the key end.
    """
    if not timedelta() <= grace <= MAX_ROTATION_GRACE:
        raise InvalidInput(
            f"The grace period must be between 0 and {MAX_ROTATION_GRACE.days} days."
        )
    key = await _get_key(session, actor, key_id)
    if key.revoked_at is not None:
        raise Conflict(f"Key {key_id} is revoked. Create a new one.")
    secret = _generate_secret()
    key.previous_hash = key.key_hash if grace else None
    key.previous_until = func.now() + grace if grace else None
    key.key_hash, key.prefix = hash_key(secret), secret[:KEY_PREFIX_CHARACTERS]
    await end_key_sessions(session, actor, key.id)
    record(session, actor, "api_key.rotate", key.id, grace_seconds=grace.total_seconds())
    return await _refresh_key(session, key), secret


async def revoke_api_key(session: AsyncSession, actor: Actor, key_id: UUID) -> ApiKey:
    key = await _get_key(session, actor, key_id)
    if key.revoked_at is None:
        key.revoked_at = func.now()
        await end_key_sessions(session, actor, key.id)
    record(session, actor, "api_key.revoke", key.id, name=key.name)
    return await _refresh_key(session, key)


async def _get_key(session: AsyncSession, actor: Actor, key_id: UUID) -> ApiKey:
    """Get the key with a row lock, so that concurrent rotations do not overwrite each other."""
    statement = select(ApiKey).where(ApiKey.id == key_id, ApiKey.tenant_id == actor.tenant_id)
    key = await session.scalar(statement.with_for_update())
    if key is None:
        raise NotFound(f"There is no API key {key_id}.")
    return key


async def _refresh_key(session: AsyncSession, key: ApiKey) -> ApiKey:
    await session.flush()
    await session.refresh(key)
    return key


async def create_user(session: AsyncSession, actor: Actor, *, name: str, role: Role) -> User:
    name = validate_name("A user", name)
    user: User | None = await session.scalar(
        insert(User)
        .values(id=uuid7(), tenant_id=actor.tenant_id, name=name, role=role)
        .on_conflict_do_nothing(index_elements=[User.tenant_id, User.issuer, User.name])
        .returning(User)
    )
    if user is None:
        raise Conflict(f"A user named {name} already exists.")
    record(session, actor, "user.create", user.id, name=name, role=role)
    return user


def select_users(actor: Actor) -> Select[User]:
    return select(User).where(User.tenant_id == actor.tenant_id)


async def get_user(session: AsyncSession, actor: Actor, user_id: UUID) -> User:
    """Get the user with a row lock, so that concurrent changes see each other."""
    statement = select_users(actor).where(User.id == user_id).with_for_update()
    user = await session.scalar(statement)
    if user is None:
        raise NotFound(f"There is no user {user_id}.")
    return user


async def find_user_id(session: AsyncSession, actor: Actor, text: str) -> UUID:
    """Find a user by name or id. Users created here come before token users of the same name."""
    try:
        condition = or_(User.id == UUID(text), User.name == text)
    except ValueError:
        condition = User.name == text
    rows = (await session.scalars(select_users(actor).where(condition))).all()
    here = [each for each in rows if each.issuer is None] or rows
    if not here:
        raise NotFound(f"There is no user {text}.")
    if len(here) > 1:
        raise Conflict(f"Several users are named {text}. Use the user's id.")
    return here[0].id


async def set_role(session: AsyncSession, actor: Actor, user_id: UUID, role: Role) -> User:
    """Change a user's role. Takes effect with the next request, also for the user's keys."""
    user = await get_user(session, actor, user_id)
    _forbid_self_change(actor, user)
    if user.issuer is not None:
        raise Conflict(
            f"The role of {user.name} is set by the token. Change it at the token's issuer."
        )
    record(session, actor, "user.set_role", user.id, before=user.role, role=role)
    user.role = role
    return await _refresh_user(session, user)


async def deactivate(
    session: AsyncSession, actor: Actor, settings: Settings, user_id: UUID
) -> User:
    """Deactivate a user. Keys, tokens and sessions stop working with the next request.

    Rows the user created are kept.
    """
    user = await get_user(session, actor, user_id)
    if user.id == settings.scheduler_system_user_id:
        raise Conflict("The schedulers use this user, so it cannot be deactivated.")
    _forbid_self_change(actor, user)
    if user.deactivated_at is None:
        user.deactivated_at = func.now()
    await end_user_sessions(session, actor, user.id)
    record(session, actor, "user.deactivate", user.id)
    return await _refresh_user(session, user)


async def reactivate(session: AsyncSession, actor: Actor, user_id: UUID) -> User:
    user = await get_user(session, actor, user_id)
    user.deactivated_at = None
    record(session, actor, "user.reactivate", user.id)
    return await _refresh_user(session, user)


async def set_password(
    session: AsyncSession, actor: Actor, user_id: UUID, password_hash: str
) -> User:
    """Set another user's password and end their sessions."""
    user = await get_user(session, actor, user_id)
    if user.id == actor.user_id and actor.via is not RequestChannel.CLI:
        raise Conflict("Change your own password on your account page.")
    if user.issuer is not None:
        raise Conflict(f"{user.name} signs in by token and cannot have a password.")
    return await _store_password(session, actor, user, password_hash)


async def change_own_password(
    session: AsyncSession, actor: Actor, proven: VerifiedUser, password_hash: str
) -> User:
    """Change the actor's password and end their other sessions."""
    user = await get_user(session, actor, actor.user_id)
    if user.password_hash != proven.password_hash:
        raise Conflict("Your password was changed in the meantime. Sign in again.")
    return await _store_password(session, actor, user, password_hash)


async def _store_password(
    session: AsyncSession, actor: Actor, user: User, password_hash: str
) -> User:
    user.password_hash = password_hash
    ended = await end_user_sessions(session, actor, user.id)
    record(session, actor, "user.set_password", user.id, sessions_ended=ended)
    return await _refresh_user(session, user)


def _forbid_self_change(actor: Actor, user: User) -> None:
    """Forbid changes to oneself; otherwise the last admin could lock all users out.

    Allowed on the command line, which always has access.
    """
    if user.id == actor.user_id and actor.via is not RequestChannel.CLI:
        raise Conflict("You cannot change your own account this way. Ask another admin.")


async def _refresh_user(session: AsyncSession, user: User) -> User:
    await session.flush()
    await session.refresh(user)
    return user
