"""Query the audit log, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import ColumnElement, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import InvalidInput
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
    wanted: AuditQuery,
    *,
    cursor: str | None = None,
    limit: int = 50,
) -> tuple[Sequence[AuditEntry], str | None]:
    """Return one page and the cursor of the next page (None on the last)."""
    ours = select(AuditEntry).where(AuditEntry.tenant_id == actor.tenant_id)
    statement = ours.where(*_conditions(wanted))
    if cursor is not None:
        statement = statement.where(tuple_(AuditEntry.at, AuditEntry.id) < _decode_cursor(cursor))
    newest_first = statement.order_by(AuditEntry.at.desc(), AuditEntry.id.desc())
    found = (await session.scalars(newest_first.limit(limit + 1))).all()
    return found[:limit], _encode_cursor(found[limit - 1]) if len(found) > limit else None


def _conditions(wanted: AuditQuery) -> Iterator[ColumnElement[bool]]:
    if wanted.actor_id is not None:
        yield AuditEntry.actor_id == wanted.actor_id
    if wanted.action is not None:
        yield AuditEntry.action == wanted.action
    if wanted.since is not None:
        yield AuditEntry.at >= _ensure_timezone(wanted.since)
    if wanted.until is not None:
        yield AuditEntry.at < _ensure_timezone(wanted.until)


def _encode_cursor(last: AuditEntry) -> str:
    return f"{last.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}~{last.id}"


def _decode_cursor(cursor: str) -> tuple[datetime, int]:
    at, _, number = cursor.partition("~")
    if not number.isdigit() or len(number) > 18:
        raise InvalidInput("The cursor is not valid. Start again without a cursor.")
    try:
        return _ensure_timezone(datetime.fromisoformat(at)), int(number)
    except ValueError:
        raise InvalidInput("The cursor is not valid. Start again without a cursor.") from None


def _ensure_timezone(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
