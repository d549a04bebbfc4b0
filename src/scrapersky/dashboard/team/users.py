"""The users of a tenant, for its admins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Response
from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts.users import users_of
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.http.auth import Admin
from scrapersky.http.context import Context, Reading
from scrapersky.http.pagination import Cursor, newest_first
from scrapersky.models import Actor, ApiKey, Role, User, UserSession
from scrapersky.settings import Settings

PER_PAGE = 50

router = APIRouter(route_class=PageRoute)


@dataclass(frozen=True)
class Person:
    """A user, and what the one who looks may do about them."""

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


@router.get("/users", response_model=None)
async def users(
    actor: Admin, show: Showing, context: Context, session: Reading, cursor: Cursor = None
) -> Response:
    found, following = await newest_first(
        session,
        users_of(actor),
        at=User.created_at,
        key=User.id,
        cursor=cursor,
        limit=PER_PAGE,
    )
    people = await _people(session, actor, context.settings, list(found))
    return show.page(
        "team/users.html",
        title="Users",
        people=people,
        roles=list(Role),
        following=following,
        is_first=cursor is None,
    )


async def _people(
    session: AsyncSession, actor: Actor, settings: Settings, found: list[User]
) -> list[Person]:
    seen = {row[0]: row[1] for row in await session.execute(_last_seen(found))}
    return [
        Person(
            each,
            seen.get(each.id),
            is_oneself=each.id == actor.user_id,
            works_the_queues=each.id == settings.scheduler_system_user_id,
        )
        for each in found
    ]


def _last_seen(found: list[User]) -> Select[object, datetime]:
    """On the dashboard or with a key; those who come by token leave no such trace."""
    ids = [each.id for each in found]
    sessions = select(UserSession.user_id, UserSession.last_seen_at.label("at"))
    keys = select(ApiKey.user_id, ApiKey.last_used_at)
    either = (
        sessions.where(UserSession.user_id.in_(ids))
        .union_all(keys.where(ApiKey.user_id.in_(ids), ApiKey.last_used_at.is_not(None)))
        .subquery()
    )
    return select(either.c.user_id, func.max(either.c.at)).group_by(either.c.user_id)
