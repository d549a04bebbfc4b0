"""Who changed what and when, for a tenant's admins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts import audit
from scrapersky.accounts.users import users_of
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.http.auth import Admin
from scrapersky.http.context import Reading
from scrapersky.http.pagination import Cursor
from scrapersky.models import Actor, AuditEntry, User

PER_PAGE = 100
MOST_NAMES = 500
LATEST = 2_000
"""What was done lately is offered to choose from; anything else can be typed."""

Value = TypeVar("Value")

router = APIRouter(route_class=PageRoute)


class Narrowed:
    """What was asked for in the form; an empty field asks for nothing."""

    def __init__(
        self,
        who: str = "",
        what: Annotated[str, Query(max_length=100)] = "",
        since: str = "",
        until: str = "",
    ) -> None:
        self.who, self.what = who, what.strip() if what.isprintable() else ""
        self.since, self.until = since, until

    @property
    def wanted(self) -> audit.Wanted:
        return audit.Wanted(
            actor_id=_parsed(UUID, self.who),
            action=self.what or None,
            since=_parsed(_moment, self.since),
            until=_parsed(_moment, self.until),
        )

    @property
    def is_narrow(self) -> bool:
        return any((self.who, self.what, self.since, self.until))

    def address(self, cursor: str) -> str:
        asked = {**vars(self), "cursor": cursor}
        return "?" + urlencode({name: text for name, text in asked.items() if text})


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if not 1970 <= found.year < 9000:
        raise ValueError("Nothing was done then.")
    return found


def _parsed(kind: Callable[[str], Value], text: str) -> Value | None:
    """Nothing for what is none; an address that somebody typed is no reason for an error."""
    try:
        return kind(text) if text else None
    except ValueError:
        return None


@dataclass(frozen=True)
class Shown:
    entry: AuditEntry
    name: str

    @property
    def details(self) -> list[tuple[str, str]]:
        return [(name, str(value)) for name, value in self.entry.details.items()]


@router.get("/audit-log", response_model=None)
async def audit_log(
    actor: Admin,
    show: Showing,
    session: Reading,
    narrowed: Annotated[Narrowed, Depends()],
    cursor: Cursor = None,
) -> Response:
    found, following = await audit.entries(
        session, actor, narrowed.wanted, cursor=cursor, limit=PER_PAGE
    )
    people = await _people(session, actor)
    return show.page(
        "team/audit_log.html",
        title="Audit log",
        entries=await _with_names(session, people, found),
        people=people,
        actions=await _lately_done(session, actor),
        narrowed=narrowed,
        following=narrowed.address(following) if following else None,
        is_first=cursor is None,
    )


async def _people(session: AsyncSession, actor: Actor) -> Sequence[User]:
    return (await session.scalars(users_of(actor).order_by(User.name).limit(MOST_NAMES))).all()


async def _with_names(
    session: AsyncSession, people: Sequence[User], found: Sequence[AuditEntry]
) -> list[Shown]:
    names = {each.id: each.name for each in people}
    if missing := {each.actor_id for each in found} - names.keys():
        others = select(User.id, User.name).where(User.id.in_(missing))
        names |= {row[0]: row[1] for row in await session.execute(others)}
    return [Shown(each, names.get(each.actor_id, str(each.actor_id))) for each in found]


async def _lately_done(session: AsyncSession, actor: Actor) -> list[str]:
    latest = (
        select(AuditEntry.action)
        .where(AuditEntry.tenant_id == actor.tenant_id)
        .order_by(AuditEntry.at.desc(), AuditEntry.id.desc())
        .limit(LATEST)
        .subquery()
    )
    found = await session.scalars(select(latest.c.action).distinct())
    return sorted(found.all())
