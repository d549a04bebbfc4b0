"""Create, list and end dashboard sessions."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.errors import Conflict
from scrapersky.http.sessions import has_ended, has_expired
from scrapersky.models import Actor, ApiKey, RequestChannel, User, UserSession, record
from scrapersky.models.accounts import hash_key
from scrapersky.settings import Settings

MAX_CLIENT_CHARACTERS = 200


@dataclass(frozen=True)
class NewSession:
    """A session and its token, of which only a hash is stored."""

    session: UserSession
    token: str


async def create_session(
    session: AsyncSession,
    actor: Actor,
    settings: Settings,
    *,
    client: str = "",
    until: datetime | None = None,
) -> NewSession:
    """Create a session with the actor's role as its maximum.

    It ends at `until` at the latest, the expiry of the token used to sign in.
    """
    token = secrets.token_urlsafe(32)
    latest = func.now() + timedelta(days=settings.session_max_days)
    user_session = UserSession(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        user_id=actor.user_id,
        api_key_id=actor.key_id,
        role=actor.role,
        token_hash=hash_key(token),
        client=_strip_unprintable(client)[:MAX_CLIENT_CHARACTERS],
        expires_at=latest if until is None else func.least(latest, until),
    )
    session.add(user_session)
    await session.flush()
    await session.refresh(user_session)
    record(session, replace(actor, via=RequestChannel.DASHBOARD), "session.begin", user_session.id)
    return NewSession(user_session, token)


def _strip_unprintable(text: str) -> str:
    return "".join(each for each in text if each.isprintable())


async def end_session(session: AsyncSession, actor: Actor) -> None:
    """Sign out: end the actor's current session."""
    if actor.session_id is None:
        raise Conflict("The request has no session to end.")
    await _end_sessions(session, UserSession.id == actor.session_id)
    record(session, actor, "session.end", actor.session_id)


async def end_other_sessions(session: AsyncSession, actor: Actor) -> int:
    """End the actor's sessions except the current one and return their number."""
    count = await end_user_sessions(session, actor, actor.user_id)
    record(session, actor, "session.end_others", actor.session_id, ended=count)
    return count


async def end_user_sessions(session: AsyncSession, actor: Actor, user_id: UUID) -> int:
    """End a user's sessions, except the actor's current one."""
    return await _end_sessions(session, UserSession.user_id == user_id, _is_not_current(actor))


async def end_key_sessions(session: AsyncSession, actor: Actor, key_id: UUID) -> int:
    return await _end_sessions(session, UserSession.api_key_id == key_id, _is_not_current(actor))


def _is_not_current(actor: Actor) -> ColumnElement[bool]:
    return UserSession.id.is_distinct_from(actor.session_id)


async def _end_sessions(session: AsyncSession, *which: ColumnElement[bool]) -> int:
    ended = await session.scalars(
        update(UserSession)
        .where(UserSession.ended_at.is_(None), *which)
        .values(ended_at=func.now())
        .returning(UserSession.id)
        .execution_options(synchronize_session=False)
    )
    return len(ended.all())


async def list_sessions(
    session: AsyncSession, actor: Actor, settings: Settings
) -> Sequence[UserSession]:
    """Return the actor's active sessions, last used first."""
    rows = await session.scalars(
        select(UserSession)
        .join(User, User.id == UserSession.user_id)
        .outerjoin(ApiKey, ApiKey.id == UserSession.api_key_id)
        .where(UserSession.user_id == actor.user_id, ~has_ended(), ~has_expired(settings))
        .order_by(UserSession.last_seen_at.desc(), UserSession.id.desc())
        .limit(100)
    )
    return rows.all()


def get_expiry(row: UserSession, settings: Settings) -> datetime:
    """Return when the session expires if it is not used before."""
    return min(row.expires_at, row.last_seen_at + timedelta(hours=settings.session_hours))
