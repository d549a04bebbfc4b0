"""Sign in with a password, an API key or a bearer token."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from fastapi import Request
from sqlalchemy import ColumnElement, Select, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth import passwords, sessions
from scrapersky.auth.schemas import SignInIn
from scrapersky.auth.sign_in_limits import limit_attempts, remember_device
from scrapersky.auth.tenants import parse_uuid
from scrapersky.db.session import Database
from scrapersky.errors import InvalidInput, NotAllowed, NotSignedIn
from scrapersky.http.application import AppContext
from scrapersky.http.auth import authenticate_credentials
from scrapersky.http.credentials import get_credentials
from scrapersky.models import DEFAULT_TENANT_ID, Actor, Role, Tenant, User, UserSession
from scrapersky.models.accounts import KEY_PREFIX

WRONG_CREDENTIALS = "Wrong name or password."


@dataclass(frozen=True)
class VerifiedUser:
    """A user whose password was just verified; the hash allows a recheck."""

    user_id: UUID
    tenant_id: UUID
    password_hash: str

    def build_actor(self, request_id: str) -> Actor:
        """Build an actor without a role limit; each request caps it by the user's current role."""
        return Actor(self.user_id, self.tenant_id, Role.ADMIN, request_id=request_id)


async def verify_user(
    database: Database, name: str, password: str, tenant: str | None
) -> VerifiedUser:
    """Verify name and password. No connection is held while the password is hashed."""
    async with database.reading() as session:
        result = (await session.execute(_select_user(name.strip(), tenant))).one_or_none()
    kept = None if result is None else result[2]
    if not await passwords.verify_password(password, kept) or result is None or kept is None:
        raise NotSignedIn(WRONG_CREDENTIALS)
    return VerifiedUser(result[0], result[1], kept)


def _select_user(name: str, tenant: str | None) -> Select[UUID, UUID, str | None]:
    return (
        select(User.id, User.tenant_id, User.password_hash)
        .join(Tenant, Tenant.id == User.tenant_id)
        .where(
            User.name == name,
            User.issuer.is_(None),
            User.deactivated_at.is_(None),
            _is_tenant((tenant or "").strip()),
        )
    )


def _is_tenant(text: str) -> ColumnElement[bool]:
    if not text:
        return Tenant.id == DEFAULT_TENANT_ID
    tenant_id = parse_uuid(text)
    return Tenant.name == text if tenant_id is None else Tenant.id == tenant_id


async def verify_current_user(database: Database, actor: Actor, password: str) -> VerifiedUser:
    """Verify the current password before a signed-in user changes it."""
    async with database.reading() as session:
        user = await session.get_one(User, actor.user_id)
    if user.password_hash is None:
        raise NotAllowed("You have no password yet. Ask an admin to set one.")
    if not await passwords.verify_password(password, user.password_hash):
        raise NotAllowed("The current password is wrong.")
    return VerifiedUser(user.id, user.tenant_id, user.password_hash)


async def recheck_user(session: AsyncSession, proven: VerifiedUser) -> User:
    """Lock and return the user, if neither the password nor the user's state changed during
    hashing.
    """
    unchanged = (
        select(User)
        .where(
            User.id == proven.user_id,
            User.password_hash == proven.password_hash,
            User.deactivated_at.is_(None),
        )
        .with_for_update(read=True)
    )
    user = await session.scalar(unchanged)
    if user is None:
        raise NotSignedIn(WRONG_CREDENTIALS)
    return user


@dataclass(frozen=True)
class SignInResult:
    user: User
    session: UserSession
    token: str
    device_token: str | None = None
    """Value of the device cookie; None after a sign-in with a key or token."""

    @property
    def role(self) -> Role:
        return Role(self.session.role).cap(Role(self.user.role))


async def begin_session(request: Request, context: AppContext, body: SignInIn) -> SignInResult:
    if body.name is not None and body.password is not None:
        return await _begin_with_password(request, context, body, body.name)
    api_key = body.api_key
    credentials = (
        get_credentials(request) if api_key is None else api_key.get_secret_value().strip()
    )
    if not credentials:
        raise InvalidInput("Enter a name and password, or an API key.")
    return await _begin_with_credentials(request, context, credentials)


async def _begin_with_password(
    request: Request, context: AppContext, body: SignInIn, name: str
) -> SignInResult:
    assert body.password is not None
    password = body.password.get_secret_value()
    async with limit_attempts(request, context.database, name=name, tenant=body.tenant):
        proven = await verify_user(context.database, name, password, body.tenant)
        if passwords.needs_rehash(proven.password_hash):
            proven = await _replace_hash(context.database, proven, password) or await verify_user(
                context.database, name, password, body.tenant
            )
    async with context.database.transaction() as session:
        user = await recheck_user(session, proven)
        actor = proven.build_actor(request.state.request_id)
        user_session = await sessions.create_session(
            session, actor, context.settings, client=_get_user_agent(request)
        )
        device_token = await remember_device(session, request, user)
    return SignInResult(user, user_session.session, user_session.token, device_token)


async def _replace_hash(
    database: Database, proven: VerifiedUser, password: str
) -> VerifiedUser | None:
    """Store a hash of the current scheme and parameters.

    Returns None if the stored hash changed meanwhile. Either a concurrent sign-in replaced it or
    the password was changed, so the caller has to verify again.
    """
    fresh = await passwords.compute_hash(password)
    unchanged = (User.id == proven.user_id, User.password_hash == proven.password_hash)
    replacing = update(User).where(*unchanged).values(password_hash=fresh).returning(User.id)
    async with database.transaction() as session:
        replaced = await session.scalar(replacing)
    return None if replaced is None else replace(proven, password_hash=fresh)


async def _begin_with_credentials(
    request: Request, context: AppContext, credentials: str
) -> SignInResult:
    request_id = request.state.request_id
    known = await authenticate_credentials(credentials, context, request_id)
    actor = replace(known, request_id=request_id)
    until = _get_token_expiry(context, credentials)
    async with context.database.transaction() as session:
        user = await session.get_one(User, actor.user_id)
        user_session = await sessions.create_session(
            session, actor, context.settings, client=_get_user_agent(request), until=until
        )
    return SignInResult(user, user_session.session, user_session.token)


def _get_token_expiry(context: AppContext, credentials: str) -> datetime | None:
    """Return the token's expiry to bound the session; a key's expiry is checked per request."""
    if context.tokens is None or credentials.startswith(KEY_PREFIX):
        return None
    return context.tokens.verify(credentials).expires_at


def _get_user_agent(request: Request) -> str:
    return request.headers.get("user-agent", "")
