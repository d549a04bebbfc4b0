"""The API keys of a tenant, for its admins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Response
from sqlalchemy import func, select

from scrapersky.accounts.users import users_of
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.http.auth import Admin
from scrapersky.http.context import Reading
from scrapersky.http.pagination import Cursor, newest_first
from scrapersky.models import ApiKey, Role, User

PER_PAGE = 50
MOST_NAMES = 500
"""To choose a user from."""

router = APIRouter(route_class=PageRoute)


@dataclass(frozen=True)
class Shown:
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


@router.get("/api-keys", response_model=None)
async def keys(
    actor: Admin,
    show: Showing,
    session: Reading,
    cursor: Cursor = None,
    revoked: bool = False,
) -> Response:
    wanted = select(ApiKey).where(ApiKey.tenant_id == actor.tenant_id)
    found, following = await newest_first(
        session,
        wanted if revoked else wanted.where(ApiKey.revoked_at.is_(None)),
        at=ApiKey.created_at,
        key=ApiKey.id,
        cursor=cursor,
        limit=PER_PAGE,
    )
    owners = select(User.id, User.name).where(User.id.in_([each.user_id for each in found]))
    names = {row[0]: row[1] for row in await session.execute(owners)}
    now = (await session.execute(select(func.now()))).scalar_one()
    active = users_of(actor).where(User.deactivated_at.is_(None)).order_by(User.name)
    return show.page(
        "team/keys.html",
        title="API keys",
        keys=[Shown(each, names.get(each.user_id, ""), now) for each in found],
        users=(await session.scalars(active.limit(MOST_NAMES))).all(),
        roles=list(Role),
        following=following,
        with_revoked=revoked,
        is_first=cursor is None,
    )
