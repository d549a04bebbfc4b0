"""The change feed of a domain: URLs that are new, changed or gone since a moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Select, literal, select, tuple_, union_all
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from scrapersky.errors import InvalidInput
from scrapersky.models import SitemapFile, SitemapUrl


class ChangeKind(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"


NOTED_IN: dict[ChangeKind, InstrumentedAttribute[Any]] = {
    ChangeKind.NEW: SitemapUrl.first_seen,
    ChangeKind.CHANGED: SitemapUrl.changed_at,
    ChangeKind.GONE: SitemapUrl.gone_at,
}


class Change(NamedTuple):
    at: datetime
    id: int
    kind: str
    url: str
    lastmod: datetime | None
    sitemap_id: UUID


@dataclass(frozen=True)
class Place:
    """Where in the feed a page ended."""

    at: datetime
    id: int

    def encode(self) -> str:
        return f"{self.at.astimezone(UTC).isoformat()}~{self.id}"

    @classmethod
    def decode(cls, cursor: str) -> Place:
        at, _, row_id = cursor.partition("~")
        try:
            moment = datetime.fromisoformat(at.replace(" ", "+"))
            return cls(moment if moment.tzinfo else moment.replace(tzinfo=UTC), int(row_id))
        except ValueError:
            raise InvalidInput("The cursor is not one of ours; start without one.") from None


async def changes_of(
    session: AsyncSession,
    domain_id: UUID,
    *,
    since: datetime,
    kinds: Sequence[ChangeKind] = tuple(ChangeKind),
    after: Place | None = None,
    limit: int = 1000,
) -> Sequence[Change]:
    """Oldest first, so that a reader who keeps the last cursor can go on from there."""
    feed = union_all(*(_changes(domain_id, kind, since) for kind in kinds)).subquery()
    statement = select(feed).order_by(feed.c.at, feed.c.id, feed.c.kind).limit(limit)
    if after is not None:
        statement = statement.where(tuple_(feed.c.at, feed.c.id) > (after.at, after.id))
    return [Change(*row) for row in await session.execute(statement)]


def _changes(domain_id: UUID, kind: ChangeKind, since: datetime) -> Select[Any]:
    noted = NOTED_IN[kind]
    files = select(SitemapFile.id).where(SitemapFile.domain_id == domain_id)
    return select(
        noted.label("at"),
        SitemapUrl.id.label("id"),
        literal(kind.value).label("kind"),
        SitemapUrl.url.label("url"),
        SitemapUrl.lastmod.label("lastmod"),
        SitemapUrl.sitemap_id.label("sitemap_id"),
    ).where(noted >= since, SitemapUrl.sitemap_id.in_(files))
