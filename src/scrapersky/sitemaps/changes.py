"""The change feed of a domain: URLs that are new, changed or gone since a moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, Select, Uuid, func, literal, select, true, tuple_, union_all
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from scrapersky.errors import InvalidInput
from scrapersky.models import SitemapFile, SitemapUrl


class ChangeKind(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"


FILES_MORE = 4
"""So many times more sitemaps are looked at when those before did not fill a page."""
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
    """Oldest first, so that a reader who keeps the last cursor can go on from there.

    An index has the changes of each sitemap in the order of time; a page is merged from the
    sitemaps whose next change comes first, and from more of them only if these do not fill it.
    """
    asked = Asked(max(since, after.at) if after else since, after, limit)
    starts = (await session.execute(asked.starts(domain_id, kinds))).all()
    files = 2
    while True:
        until = starts[files].at if files < len(starts) else None
        merged = asked.merged([start.file_id for start in starts[:files]], kinds, until)
        found = [Change(*row) for row in await session.execute(merged)]
        if len(found) == limit or until is None:
            return found
        files *= FILES_MORE


@dataclass(frozen=True)
class Asked:
    """What a page of the feed may hold."""

    since: datetime
    after: Place | None
    limit: int

    def starts(self, domain_id: UUID, kinds: Sequence[ChangeKind]) -> Select[Any]:
        """The sitemaps of the domain that have changes, and when the next of each is."""
        file = select(SitemapFile.id).where(SitemapFile.domain_id == domain_id).subquery()
        firsts = []
        for kind in kinds:
            first = self._noted(kind, file.c.id).order_by(NOTED_IN[kind]).limit(1).lateral()
            firsts.append(select(file.c.id.label("file_id"), first.c.at).join(first, true()))
        each = union_all(*firsts).subquery()
        at = func.min(each.c.at)
        return select(each.c.file_id, at.label("at")).group_by(each.c.file_id).order_by(at)

    def merged(
        self, files: Sequence[UUID], kinds: Sequence[ChangeKind], until: datetime | None
    ) -> Select[Any]:
        """The changes of these sitemaps, before a moment if one is given."""
        file = select(func.unnest(literal(files, ARRAY(Uuid))).label("id")).subquery()
        parts = [self._changes(kind, file, until) for kind in kinds]
        feed = union_all(*parts).subquery()
        return select(feed).order_by(feed.c.at, feed.c.id, feed.c.kind).limit(self.limit)

    def _changes(self, kind: ChangeKind, file: Any, until: datetime | None) -> Select[Any]:
        noted = NOTED_IN[kind]
        statement = self._noted(kind, file.c.id).add_columns(
            SitemapUrl.id.label("id"),
            literal(kind.value).label("kind"),
            SitemapUrl.url.label("url"),
            SitemapUrl.lastmod.label("lastmod"),
            SitemapUrl.sitemap_id.label("sitemap_id"),
        )
        if until is not None:
            statement = statement.where(noted < until)
        part = statement.order_by(noted, SitemapUrl.id).limit(self.limit).lateral()
        return select(part).select_from(file.join(part, true()))

    def _noted(self, kind: ChangeKind, sitemap_id: Any) -> Select[Any]:
        noted = NOTED_IN[kind]
        statement = select(noted.label("at")).where(
            SitemapUrl.sitemap_id == sitemap_id, noted >= self.since
        )
        if self.after is not None:
            place = (self.after.at, self.after.id)
            statement = statement.where(tuple_(noted, SitemapUrl.id) > place)
        return statement
