"""The users and API keys of a tenant, for its admins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Response
from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth.service import select_users
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.http.application import Context
from scrapersky.http.auth import Admin
from scrapersky.http.context import Reading
from scrapersky.lists.cursor import CursorParam, fetch_newest_first
from scrapersky.models import Actor, ApiKey, Role, User, UserSession
from scrapersky.settings import Settings

KEYS_PER_PAGE = 50
MAX_USER_CHOICES = 500
"""Maximum number of options in the user menu."""

api_keys_router = APIRouter(route_class=PageRoute)


@dataclass(frozen=True)
class ApiKeyLine:
    key: ApiKey
    owner: str
    now: datetime

    @property
    def old_is_good(self) -> bool:
        until = self.key.previous_until
        return until is not None and until > self.now

    @property
    def state(self) -> str:
        if self.key.revoked_at is not None:
            return "revoked"
        expires = self.key.expires_at
        return "expired" if expires is not None and expires <= self.now else "good"


@api_keys_router.get("/api-keys", response_model=None)
async def keys(
    actor: Admin,
    show: Renderer,
    session: Reading,
    cursor: CursorParam = None,
    revoked: bool = False,
) -> Response:
    statement = select(ApiKey).where(ApiKey.tenant_id == actor.tenant_id)
    api_keys, following = await fetch_newest_first(
        session,
        statement if revoked else statement.where(ApiKey.revoked_at.is_(None)),
        at=ApiKey.created_at,
        key=ApiKey.id,
        cursor=cursor,
        limit=KEYS_PER_PAGE,
    )
    owners = select(User.id, User.name).where(User.id.in_([each.user_id for each in api_keys]))
    names = {row[0]: row[1] for row in await session.execute(owners)}
    now = (await session.execute(select(func.now()))).scalar_one()
    active = select_users(actor).where(User.deactivated_at.is_(None)).order_by(User.name)
    return show.page(
        "team/keys.html",
        title="API keys",
        keys=[ApiKeyLine(each, names.get(each.user_id, ""), now) for each in api_keys],
        users=(await session.scalars(active.limit(MAX_USER_CHOICES))).all(),
        roles=list(Role),
        following=following,
        with_revoked=revoked,
        is_first=cursor is None,
    )


USERS_PER_PAGE = 50

users_router = APIRouter(route_class=PageRoute)


@dataclass(frozen=True)
class UserLine:
    """A user and the actions the current user may take."""

    user: User
    last_seen: datetime | None
    is_oneself: bool
    works_the_queues: bool

    @property
    def may_have_a_password(self) -> bool:
        return self.user.issuer is None and not self.is_oneself

    @property
    def may_change_role(self) -> bool:
        return self.may_have_a_password and not self.works_the_queues

    @property
    def may_be_deactivated(self) -> bool:
        return not self.is_oneself and not self.works_the_queues


@users_router.get("/users", response_model=None)
async def users(
    actor: Admin, show: Renderer, context: Context, session: Reading, cursor: CursorParam = None
) -> Response:
    page, following = await fetch_newest_first(
        session,
        select_users(actor),
        at=User.created_at,
        key=User.id,
        cursor=cursor,
        limit=USERS_PER_PAGE,
    )
    people = await _build_user_lines(session, actor, context.settings, list(page))
    return show.page(
        "team/users.html",
        title="Users",
        people=people,
        roles=list(Role),
        following=following,
        is_first=cursor is None,
    )


async def _build_user_lines(
    session: AsyncSession, actor: Actor, settings: Settings, users: list[User]
) -> list[UserLine]:
    last_seen = {row[0]: row[1] for row in await session.execute(_build_last_seen_query(users))}
    return [
        UserLine(
            each,
            last_seen.get(each.id),
            is_oneself=each.id == actor.user_id,
            works_the_queues=each.id == settings.scheduler_system_user_id,
        )
        for each in users
    ]


def _build_last_seen_query(users: list[User]) -> Select[object, datetime]:
    """Select the last dashboard or API key use; requests with tokens are not recorded."""
    ids = [each.id for each in users]
    sessions = select(UserSession.user_id, UserSession.last_seen_at.label("at"))
    keys = select(ApiKey.user_id, ApiKey.last_used_at)
    either = (
        sessions.where(UserSession.user_id.in_(ids))
        .union_all(keys.where(ApiKey.user_id.in_(ids), ApiKey.last_used_at.is_not(None)))
        .subquery()
    )
    return select(either.c.user_id, func.max(either.c.at)).group_by(either.c.user_id)
