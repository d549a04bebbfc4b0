"""Authenticate dashboard sessions by cookie, and protect them against CSRF.

The session row is checked on every request. A browser sends the cookie whichever page triggered the
request, so every change must also carry a token derived from the session's, which only our own
pages contain.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from fastapi import Request, Response
from sqlalchemy import ColumnElement, and_, func, or_, select, update

from scrapersky.db.outages import is_writable
from scrapersky.db.session import Database
from scrapersky.errors import NotAllowed, NotSignedIn
from scrapersky.http.credentials import SECURE_SESSION_COOKIE, SESSION_COOKIE, has_secure_cookies
from scrapersky.models import Actor, ApiKey, RequestChannel, Role, User, UserSession
from scrapersky.models.accounts import hash_key
from scrapersky.settings import Settings

CSRF_HEADER = "X-CSRF-Token"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
LAST_SEEN_INTERVAL = timedelta(minutes=1)
EVENT_STREAM_TYPE = "text/event-stream"


@dataclass(frozen=True)
class SessionIdentity:
    actor: Actor
    user_name: str
    csrf: str


class _SessionRow(NamedTuple):
    """A session with its state by the database's clock."""

    id: UUID
    user_id: UUID
    tenant_id: UUID
    key_id: UUID | None
    role: str
    user_role: str
    user_name: str
    ended: bool
    expired: bool
    sighting_is_news: bool


def build_csrf_token(token: str) -> str:
    """Derive the CSRF token from the session token; the reverse is not possible."""
    return hmac.digest(token.encode(), b"csrf", "sha256").hex()


async def authenticate_session(
    database: Database, settings: Settings, token: str, *, noted: bool = True
) -> SessionIdentity:
    """Authenticate a session. Writes only on the first request per minute."""
    row = await _find_session(database, settings, hash_key(token))
    if row is None or row.ended:
        raise NotSignedIn("You are signed out. Sign in again.")
    if row.expired:
        raise NotSignedIn("Your session has expired. Sign in again.")
    if noted and row.sighting_is_news:
        await _update_last_seen(database, row.id)
    actor = Actor(
        user_id=row.user_id,
        tenant_id=row.tenant_id,
        role=Role(row.role).cap(Role(row.user_role)),
        key_id=row.key_id,
        session_id=row.id,
        via=RequestChannel.DASHBOARD,
    )
    return SessionIdentity(actor, row.user_name, build_csrf_token(token))


async def _find_session(
    database: Database, settings: Settings, digest: bytes
) -> _SessionRow | None:
    async with database.reading() as session:
        result = await session.execute(
            select(
                UserSession.id,
                UserSession.user_id,
                UserSession.tenant_id,
                UserSession.api_key_id,
                UserSession.role,
                User.role,
                User.name,
                has_ended(),
                has_expired(settings),
                _is_last_seen_stale(),
            )
            .join(User, User.id == UserSession.user_id)
            .outerjoin(ApiKey, ApiKey.id == UserSession.api_key_id)
            .where(UserSession.token_hash == digest)
        )
        row = result.one_or_none()
    return None if row is None else _SessionRow._make(row)


def has_ended() -> ColumnElement[bool]:
    """Match sessions that were ended, or whose user or key was disabled. Join both tables."""
    return or_(
        UserSession.ended_at.is_not(None),
        User.deactivated_at.is_not(None),
        ApiKey.revoked_at.is_not(None),
    )


def has_expired(settings: Settings) -> ColumnElement[bool]:
    idle = timedelta(hours=settings.session_hours)
    return or_(
        UserSession.expires_at <= func.now(),
        UserSession.last_seen_at <= func.now() - idle,
        and_(ApiKey.expires_at.is_not(None), ApiKey.expires_at <= func.now()),
    )


def _is_last_seen_stale() -> ColumnElement[bool]:
    """False while the database is read-only, so that read requests still work."""
    return and_(UserSession.last_seen_at < func.now() - LAST_SEEN_INTERVAL, is_writable())


async def _update_last_seen(database: Database, session_id: UUID) -> None:
    async with database.transaction() as session:
        await session.execute(
            update(UserSession)
            .where(UserSession.id == session_id, _is_last_seen_stale())
            .values(last_seen_at=func.now())
        )


def is_user_activity(request: Request) -> bool:
    """Return False for event streams: an open page keeps one open even if the user is away."""
    return EVENT_STREAM_TYPE not in request.headers.get("accept", "")


def verify_csrf_token(request: Request, csrf: str) -> None:
    if request.method in SAFE_METHODS:
        return
    token = request.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(token.encode(), csrf.encode()):
        raise NotAllowed(
            "Nothing was changed, because the CSRF token is missing or not valid. "
            "Reload the page and try again."
        )


def set_session_cookie(request: Request, response: Response, token: str) -> None:
    """Set a cookie that lasts until the browser is closed; the session row has the real expiry."""
    secure = has_secure_cookies(request)
    response.set_cookie(
        SECURE_SESSION_COOKIE if secure else SESSION_COOKIE,
        token,
        path="/",
        httponly=True,
        samesite="lax",
        secure=secure,
    )


def delete_session_cookie(response: Response) -> None:
    """Delete both cookie names, since the browser may hold either."""
    for name in (SESSION_COOKIE, SECURE_SESSION_COOKIE):
        secure = name == SECURE_SESSION_COOKIE
        response.delete_cookie(name, path="/", httponly=True, samesite="lax", secure=secure)
