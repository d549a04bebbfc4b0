"""Signing in by name and password, without a word on whether it was the name that was wrong."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts import passwords
from scrapersky.accounts.names import uuid_in
from scrapersky.db.session import Database
from scrapersky.errors import NotAllowed, NotSignedIn
from scrapersky.models import DEFAULT_TENANT_ID, Actor, Role, Tenant, User

WRONG = "That name and password do not open anything here; look for a typing error."


@dataclass(frozen=True)
class Proven:
    """Somebody whose password was right a moment ago."""

    user_id: UUID
    tenant_id: UUID
    password_hash: str

    def actor_asking(self, request_id: str) -> Actor:
        """Reaches as far as the user does, whatever that is from time to time."""
        return Actor(self.user_id, self.tenant_id, Role.ADMIN, request_id=request_id)


async def prove(database: Database, name: str, password: str, tenant: str | None) -> Proven:
    """Who it is; no connection is held while the password is tried."""
    async with database.reading() as session:
        found = (await session.execute(_known_as(name.strip(), tenant))).one_or_none()
    kept = None if found is None else found[2]
    if not await passwords.is_right(password, kept) or found is None or kept is None:
        raise NotSignedIn(WRONG)
    return Proven(found[0], found[1], kept)


def _known_as(name: str, tenant: str | None) -> Select[UUID, UUID, str | None]:
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
    given = uuid_in(text)
    return Tenant.name == text if given is None else Tenant.id == given


async def prove_oneself(database: Database, actor: Actor, password: str) -> Proven:
    """Before somebody who is signed in changes their password."""
    async with database.reading() as session:
        user = await session.get_one(User, actor.user_id)
    if user.password_hash is None:
        raise NotAllowed("You have no password yet; an admin can give you the first one.")
    if not await passwords.is_right(password, user.password_hash):
        raise NotAllowed("The current password is not right.")
    return Proven(user.id, user.tenant_id, user.password_hash)


async def user_still_proven(session: AsyncSession, proven: Proven) -> User:
    """The password may have been changed, or the user deactivated, while it was tried."""
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
        raise NotSignedIn(WRONG)
    return user
