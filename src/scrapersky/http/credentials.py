"""From what a request carries to who asks: an API key, or a token somebody else issued."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError

from scrapersky.db.away import is_read_only, is_writable
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.errors import NotAllowed, NotSignedIn
from scrapersky.http.tokens import Claims
from scrapersky.models import Actor, ApiKey, Role, Tenant, User, Via, record
from scrapersky.models.accounts import hash_key

USE_NOTED_EVERY = timedelta(minutes=1)
"""A key's last use is written no more often, so that asking does not mean writing."""


class _Found(NamedTuple):
    """A key as it stands, judged by the database's clock."""

    id: UUID
    user_id: UUID
    tenant_id: UUID
    role: str
    user_role: str
    revoked: bool
    expired: bool
    deactivated: bool
    use_is_news: bool


async def actor_with_key(database: Database, secret: str) -> Actor:
    """Reads only, but for the first use in a minute."""
    key = await _find_key(database, hash_key(secret))
    if key is None:
        raise NotSignedIn("The API key is not known, or was replaced by another one.")
    if key.revoked:
        raise NotSignedIn("The API key was revoked.")
    if key.expired:
        raise NotSignedIn("The API key has expired.")
    if key.deactivated:
        raise NotSignedIn("The user of this API key is deactivated.")
    if key.use_is_news:
        await _note_use(database, key.id)
    role = Role(key.role).at_most(Role(key.user_role))
    return Actor(user_id=key.user_id, tenant_id=key.tenant_id, role=role, key_id=key.id)


async def _find_key(database: Database, digest: bytes) -> _Found | None:
    wanted = or_(
        ApiKey.key_hash == digest,
        and_(ApiKey.previous_hash == digest, ApiKey.previous_until > func.now()),
    )
    async with database.reading() as session:
        found = await session.execute(
            select(
                ApiKey.id,
                ApiKey.user_id,
                ApiKey.tenant_id,
                ApiKey.role,
                User.role,
                ApiKey.revoked_at.is_not(None),
                and_(ApiKey.expires_at.is_not(None), ApiKey.expires_at <= func.now()),
                User.deactivated_at.is_not(None),
                _use_is_news(),
            )
            .join(User, User.id == ApiKey.user_id)
            .where(wanted)
        )
        row = found.one_or_none()
    return None if row is None else _Found(*row)


def _use_is_news() -> ColumnElement[bool]:
    """Not where nothing can be stored: whoever only reads is answered then, too."""
    before = func.now() - USE_NOTED_EVERY
    is_old = or_(ApiKey.last_used_at.is_(None), ApiKey.last_used_at < before)
    return and_(is_old, is_writable())


async def _note_use(database: Database, key_id: UUID) -> None:
    async with database.transaction() as session:
        await session.execute(
            update(ApiKey)
            .where(ApiKey.id == key_id, _use_is_news())
            # What an operator changed about the key stays when it was changed.
            .values(last_used_at=func.now(), updated_at=ApiKey.updated_at)
        )


async def actor_with_token(
    database: Database, claims: Claims, *, request_id: str | None = None
) -> Actor:
    """Reads only, but for the first sight of somebody, or of another role."""
    tenant_id, user = await _find_user(database, claims)
    if user is None or _is_outdated(user, claims):
        try:
            await _keep_user(database, claims, tenant_id, request_id)
        except DBAPIError as error:
            if user is None or not is_read_only(error):
                raise
        else:
            _, user = await _find_user(database, claims)
    if user is None or user.deactivated_at is not None:
        raise NotSignedIn("The user of this token is deactivated.")
    role = claims.role if _follows_token(user) else claims.role.at_most(Role(user.role))
    return Actor(user_id=user.id, tenant_id=tenant_id, role=role)


def _is_outdated(user: User, claims: Claims) -> bool:
    return _follows_token(user) and user.deactivated_at is None and user.role != claims.role


def _follows_token(user: User) -> bool:
    """Somebody made here has a role from here; everybody else has what their token says."""
    return user.issuer is not None


async def _find_user(database: Database, claims: Claims) -> tuple[UUID, User | None]:
    async with database.reading() as session:
        found = await session.execute(
            select(Tenant.id, User)
            .outerjoin(User, and_(User.tenant_id == Tenant.id, _is_subject(claims)))
            .where(_is_tenant(claims.tenant))
            # Whoever is meant by id comes before whoever bears that id as a name.
            .order_by(User.issuer.is_not(None))
        )
        row = found.first()
    if row is None:
        raise NotAllowed(f"The token is for the tenant {claims.tenant!r}, which is not there.")
    return row[0], row[1]


def _is_tenant(text: str) -> ColumnElement[bool]:
    given = _uuid(text)
    return Tenant.name == text if given is None else Tenant.id == given


def _is_subject(claims: Claims) -> ColumnElement[bool]:
    """A user made here is meant by id, never by a name that somebody else may bear too."""
    by_name = and_(User.issuer == claims.issuer, User.name == claims.subject)
    given = _uuid(claims.subject)
    return by_name if given is None else or_(by_name, and_(User.issuer.is_(None), User.id == given))


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


async def _keep_user(
    database: Database, claims: Claims, tenant_id: UUID, request_id: str | None
) -> None:
    """So that what they make has a maker, and can be told apart and deactivated."""
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
        if kept_id is not None:  # nothing when another request was quicker
            itself = Actor(kept_id, tenant_id, claims.role, via=Via.API, request_id=request_id)
            action = "user.create" if kept_id == made_id else "user.set_role"
            record(session, itself, action, kept_id, issuer=claims.issuer, role=claims.role)
