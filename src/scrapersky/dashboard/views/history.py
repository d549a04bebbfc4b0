"""The bulk actions table with undo, and the audit log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth import audit
from scrapersky.auth.service import select_users
from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row, add_creator_names, creator
from scrapersky.dashboard.formats import format_number, format_time, humanize, render_badge
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.table import EmptyState, Table, TableColumn
from scrapersky.http.auth import Admin
from scrapersky.http.context import Reading
from scrapersky.lists.cursor import CursorParam
from scrapersky.lists.undo_routes import BULK_ACTIONS as LISTING
from scrapersky.models import Actor, AuditEntry, User
from scrapersky.plurals import pluralise

UNDO_QUESTION = "Undo this action? Rows that were changed since stay as they are."


def _describe_action(row: Row, _: bool) -> Markup:
    noun = humanize(row.kind)
    noun = noun if row.updated_count == 1 else pluralise(noun)
    rows = f"{format_number(row.updated_count)} {noun}"
    return Markup("{} → {}").format(rows, render_badge(row.to_status))


def _describe_selection(row: Row, _: bool) -> Markup:
    """Describe the selected rows: a number of rows or a filter."""
    if row.details.get("ids"):
        return Markup("{} selected").format(format_number(row.details["ids"]))
    meant = row.details.get("filter") or {}
    summary = "; ".join(
        f"{humanize(name)}: {_format_value(value)}" for name, value in meant.items()
    )
    return cells.shorten(summary or "all rows", 120)


def _format_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _undo_cell(row: Row, may_change: bool) -> Markup:
    if row.undone_at:
        return Markup("undone ") + format_time(row.undone_at)
    if not may_change:
        return Markup("")
    named, done = {"action_id": str(row.id)}, "Undone"
    return cells.row_button(
        row, cells.RowButton("Undo", "POST", "/bulk-actions/undo", UNDO_QUESTION, done, named)
    )


BULK_ACTIONS_TABLE = Table(
    kind="bulk-actions",
    title="Bulk actions",
    noun="action",
    says="Status changes of many rows. Each can be undone.",
    listing=LISTING,
    search="",
    prepare=add_creator_names,
    labels={"has_undone_at": "Undone"},
    order="what chosen queued_count who",
    extra=(
        TableColumn("what", "Action", _describe_action, sort="updated_count"),
        TableColumn("chosen", "Rows", _describe_selection),
        TableColumn("who", "User", creator),
        TableColumn("undo", "Undo", _undo_cell, sort="undone_at"),
    ),
    nothing=EmptyState(
        "No bulk actions yet. Select rows in any table and set their status; the action appears "
        "here and can be undone.",
        "/leads",
        "View leads",
    ),
)


PER_PAGE = 100
MAX_USER_CHOICES = 500
MAX_RECENT_ENTRIES = 2_000
"""Recent actions are suggested; any other can be typed."""

Value = TypeVar("Value")

router = APIRouter(route_class=PageRoute)


class AuditFilter:
    """Values of the filter form. Empty fields are ignored."""

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
    def conditions(self) -> audit.AuditQuery:
        return audit.AuditQuery(
            actor_id=_parse_or_none(UUID, self.who),
            action=self.what or None,
            since=_parse_or_none(_parse_time, self.since),
            until=_parse_or_none(_parse_time, self.until),
        )

    @property
    def is_narrow(self) -> bool:
        return any((self.who, self.what, self.since, self.until))

    def address(self, cursor: str) -> str:
        parameters = {**vars(self), "cursor": cursor}
        return "?" + urlencode({name: text for name, text in parameters.items() if text})


def _parse_time(text: str) -> datetime:
    parsed = datetime.fromisoformat(text)
    if not 1970 <= parsed.year < 9000:
        raise ValueError("The time is out of range.")
    return parsed


def _parse_or_none(kind: Callable[[str], Value], text: str) -> Value | None:
    """Return None for an invalid value: a mistyped URL should not cause an error page."""
    try:
        return kind(text) if text else None
    except ValueError:
        return None


@dataclass(frozen=True)
class AuditLine:
    entry: AuditEntry
    name: str

    @property
    def details(self) -> list[tuple[str, str]]:
        return [(name, str(value)) for name, value in self.entry.details.items()]


@router.get("/audit-log", response_model=None)
async def audit_log(
    actor: Admin,
    show: Renderer,
    session: Reading,
    narrowed: Annotated[AuditFilter, Depends()],
    cursor: CursorParam = None,
) -> Response:
    entries, following = await audit.list_audit_entries(
        session, actor, narrowed.conditions, cursor=cursor, limit=PER_PAGE
    )
    people = await _list_users(session, actor)
    return show.page(
        "team/audit_log.html",
        title="Audit log",
        entries=await _add_user_names(session, people, entries),
        people=people,
        actions=await _list_recent_actions(session, actor),
        narrowed=narrowed,
        following=narrowed.address(following) if following else None,
        is_first=cursor is None,
    )


async def _list_users(session: AsyncSession, actor: Actor) -> Sequence[User]:
    return (
        await session.scalars(select_users(actor).order_by(User.name).limit(MAX_USER_CHOICES))
    ).all()


async def _add_user_names(
    session: AsyncSession, people: Sequence[User], entries: Sequence[AuditEntry]
) -> list[AuditLine]:
    names = {each.id: each.name for each in people}
    if missing := {each.actor_id for each in entries} - names.keys():
        others = select(User.id, User.name).where(User.id.in_(missing))
        names |= {row[0]: row[1] for row in await session.execute(others)}
    return [AuditLine(each, names.get(each.actor_id, str(each.actor_id))) for each in entries]


async def _list_recent_actions(session: AsyncSession, actor: Actor) -> list[str]:
    latest = (
        select(AuditEntry.action)
        .where(AuditEntry.tenant_id == actor.tenant_id)
        .order_by(AuditEntry.at.desc(), AuditEntry.id.desc())
        .limit(MAX_RECENT_ENTRIES)
        .subquery()
    )
    rows = await session.scalars(select(latest.c.action).distinct())
    return sorted(rows.all())
