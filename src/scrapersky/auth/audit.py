"""Query the audit log, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import ColumnElement, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.lists.cursor import fetch_newest_first
from scrapersky.models import Actor, AuditEntry


@dataclass(frozen=True)
class AuditQuery:
    """Filters of the audit log; None matches any entry."""

    actor_id: UUID | None = None
    action: str | None = None
    since: datetime | None = None
    until: datetime | None = None


async def list_audit_entries(
    session: AsyncSession,
    actor: Actor,
    query: AuditQuery,
    *,
    cursor: str | None = None,
    limit: int = 50,
) -> tuple[Sequence[AuditEntry], str | None]:
    """Return one page and the cursor of the next page (None on the last)."""
    ours = select(AuditEntry).where(AuditEntry.tenant_id == actor.tenant_id)
    return await fetch_newest_first(
        session,
        ours.where(*_conditions(query)),
        at=AuditEntry.at,
        key=AuditEntry.id,
        cursor=cursor,
        limit=limit,
    )


def _conditions(query: AuditQuery) -> Iterator[ColumnElement[bool]]:
    if query.actor_id is not None:
        yield AuditEntry.actor_id == query.actor_id
    if query.action is not None:
        yield AuditEntry.action == query.action
    if query.since is not None:
        yield AuditEntry.at >= _ensure_timezone(query.since)
    if query.until is not None:
        yield AuditEntry.at < _ensure_timezone(query.until)


def _ensure_timezone(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
