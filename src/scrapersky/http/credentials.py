"""Read API keys, bearer tokens and session cookies from a request, and find whose they are.

Tokens are verified in `tokens`, which is loaded only where they are configured.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from fastapi import Request
from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError

from scrapersky.db.base import uuid7
from scrapersky.db.outages import is_read_only, is_writable
from scrapersky.db.session import Database
from scrapersky.errors import NotAllowed, NotSignedIn
from scrapersky.models import Actor, ApiKey, RequestChannel, Role, Tenant, User, record
from scrapersky.models.accounts import hash_key

if TYPE_CHECKING:
    from scrapersky.http.tokens import TokenClaims

SESSION_COOKIE = "scrapersky_session"
SECURE_SESSION_COOKIE = f"__Host-{SESSION_COOKIE}"
"""Browsers accept a `__Host-` cookie only over https, from this exact host and for the path `/`."""


def get_credentials(request: Request) -> str | None:
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and credentials.strip():
        return credentials.strip()
    return request.headers.get("x-api-key", "").strip() or None


def get_session_token(request: Request) -> str | None:
    """Return the session token from the cookie.

    Over https the plain cookie is ignored: an attacker who can answer for this host over http, or
    who controls a sibling subdomain, can set one.
    """
    if secure := request.cookies.get(SECURE_SESSION_COOKIE):
        return secure
    if has_secure_cookies(request):
        return None
    return request.cookies.get(SESSION_COOKIE) or None


def has_secure_cookies(request: Request) -> bool:
    """Return whether this request's session cookie is https-only; see `proxies`."""
    secure: bool = getattr(request.state, "secure_cookies", request.url.scheme == "https")
    return secure


LAST_USED_INTERVAL = timedelta(minutes=1)
"""Minimum time between updates of a key's last use, so that most requests write nothing."""


class _KeyRow(NamedTuple):
    """A key with its state by the database's clock."""

    id: UUID
    user_id: UUID
    tenant_id: UUID
    role: str
    user_role: str
    revoked: bool
    expired: bool
    deactivated: bool
    use_is_news: bool


async def authenticate_key(database: Database, secret: str) -> Actor:
    """Authenticate an API key. Writes only on the first use per minute."""
    key = await _find_key(database, hash_key(secret))
    if key is None:
        raise NotSignedIn("The API key is unknown or was rotated.")
    if key.revoked:
        raise NotSignedIn("The API key was revoked.")
    if key.expired:
        raise NotSignedIn("The API key has expired.")
    if key.deactivated:
        raise NotSignedIn("The user of this API key is deactivated.")
    if key.use_is_news:
        await _update_last_used(database, key.id)
    role = Role(key.role).cap(Role(key.user_role))
    return Actor(user_id=key.user_id, tenant_id=key.tenant_id, role=role, key_id=key.id)


async def _find_key(database: Database, digest: bytes) -> _KeyRow | None:
    condition = or_(
        ApiKey.key_hash == digest,
        and_(ApiKey.previous_hash == digest, ApiKey.previous_until > func.now()),
    )
    async with database.reading() as session:
        result = await session.execute(
            select(
                ApiKey.id,
                ApiKey.user_id,
                ApiKey.tenant_id,
                ApiKey.role,
                User.role,
                ApiKey.revoked_at.is_not(None),
                and_(ApiKey.expires_at.is_not(None), ApiKey.expires_at <= func.now()),
                User.deactivated_at.is_not(None),
                _is_last_used_stale(),
            )
            .join(User, User.id == ApiKey.user_id)
            .where(condition)
        )
        row = result.one_or_none()
    return None if row is None else _KeyRow(*row)


def _is_last_used_stale() -> ColumnElement[bool]:
    """False while the database is read-only, so that read requests still work."""
    before = func.now() - LAST_USED_INTERVAL
    is_old = or_(ApiKey.last_used_at.is_(None), ApiKey.last_used_at < before)
    return and_(is_old, is_writable())


async def _update_last_used(database: Database, key_id: UUID) -> None:
    async with database.transaction() as session:
        await session.execute(
            update(ApiKey)
            .where(ApiKey.id == key_id, _is_last_used_stale())
            # Keep `updated_at`: it tracks changes made by an operator, not use.
            .values(last_used_at=func.now(), updated_at=ApiKey.updated_at)
        )


async def authenticate_token(
    database: Database, claims: TokenClaims, *, request_id: str | None = None
) -> Actor:
    """Authenticate a token's user. Writes only for a new user or a changed role."""
    tenant_id, user = await _find_user(database, claims)
    if user is None or _is_outdated(user, claims):
        try:
            await _upsert_user(database, claims, tenant_id, request_id)
        except DBAPIError as error:
            if user is None or not is_read_only(error):
                raise
        else:
            _, user = await _find_user(database, claims)
    if user is None or user.deactivated_at is not None:
        raise NotSignedIn("The user of this token is deactivated.")
    role = claims.role if _has_token_role(user) else claims.role.cap(Role(user.role))
    return Actor(user_id=user.id, tenant_id=tenant_id, role=role)


def _is_outdated(user: User, claims: TokenClaims) -> bool:
    return _has_token_role(user) and user.deactivated_at is None and user.role != claims.role


def _has_token_role(user: User) -> bool:
    """Return whether the role comes from the token; users created here have a stored role."""
    return user.issuer is not None


async def _find_user(database: Database, claims: TokenClaims) -> tuple[UUID, User | None]:
    async with database.reading() as session:
        result = await session.execute(
            select(Tenant.id, User)
            .outerjoin(User, and_(User.tenant_id == Tenant.id, _is_subject(claims)))
            .where(_is_tenant(claims.tenant))
            # A user with this id comes before a token user with the id as its name.
            .order_by(User.issuer.is_not(None))
        )
        row = result.first()
    if row is None:
        raise NotAllowed(f"The token's tenant {claims.tenant!r} does not exist.")
    return row[0], row[1]


def _is_tenant(text: str) -> ColumnElement[bool]:
    tenant_id = _parse_uuid(text)
    return Tenant.name == text if tenant_id is None else Tenant.id == tenant_id


def _is_subject(claims: TokenClaims) -> ColumnElement[bool]:
    """Match the token's subject.

    Users created here match by id only, since a token user may have the same name.
    """
    by_name = and_(User.issuer == claims.issuer, User.name == claims.subject)
    user_id = _parse_uuid(claims.subject)
    return (
        by_name
        if user_id is None
        else or_(by_name, and_(User.issuer.is_(None), User.id == user_id))
    )


def _parse_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


async def _upsert_user(
    database: Database, claims: TokenClaims, tenant_id: UUID, request_id: str | None
) -> None:
    """Store the token's user, so that its rows have an owner and it can be deactivated."""
    made_id = uuid7()
    who = {"tenant_id": tenant_id, "issuer": claims.issuer, "name": claims.subject}
    async with database.transaction() as session:
        kept_id = await session.scalar(
            insert(User)
            .values(id=made_id, role=claims.role, **who)
            .on_conflict_do_update(
                index_elements=list(who),
                set_={"role": claims.role, "updated_at": func.now()},
                where=User.role != claims.role,
            )
            .returning(User.id)
        )
        if kept_id is not None:  # None if a concurrent request stored the user first
            itself = Actor(
                kept_id, tenant_id, claims.role, via=RequestChannel.API, request_id=request_id
            )
            action = "user.create" if kept_id == made_id else "user.set_role"
            record(session, itself, action, kept_id, issuer=claims.issuer, role=claims.role)
