"""Change feed of a domain: URLs added, changed or gone since a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, Select, Uuid, func, literal, select, true, tuple_, union_all
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from scrapersky.models import SitemapFile, SitemapUrl


class UrlChangeKind(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"


FILE_BATCH_GROWTH = 4
"""Growth factor of the number of sitemaps read when the first ones do not fill a page."""
CHANGE_COLUMNS: dict[UrlChangeKind, InstrumentedAttribute[Any]] = {
    UrlChangeKind.NEW: SitemapUrl.first_seen,
    UrlChangeKind.CHANGED: SitemapUrl.changed_at,
    UrlChangeKind.GONE: SitemapUrl.gone_at,
}


class UrlChange(NamedTuple):
    at: datetime
    id: int
    kind: str
    url: str
    lastmod: datetime | None
    sitemap_id: UUID


class ChangeCursor(NamedTuple):
    """Position in the change feed."""

    at: datetime
    id: int


async def list_changes(
    session: AsyncSession,
    domain_id: UUID,
    *,
    since: datetime,
    kinds: Sequence[UrlChangeKind] = tuple(UrlChangeKind),
    after: ChangeCursor | None = None,
    limit: int = 1000,
) -> Sequence[UrlChange]:
    """List changes, oldest first, so that a client can continue from its last cursor.

    An index holds the changes of each sitemap in time order. A page is merged from the sitemaps
    whose next change is earliest, and from more of them only if these do not fill it.
    """
    query = ChangeQuery(max(since, after.at) if after else since, after, limit)
    starts = (await session.execute(query.select_starts(domain_id, kinds))).all()
    files = 2
    while True:
        until = starts[files].at if files < len(starts) else None
        merged = query.select_merged([start.file_id for start in starts[:files]], kinds, until)
        result = [UrlChange(*row) for row in await session.execute(merged)]
        if len(result) == limit or until is None:
            return result
        files *= FILE_BATCH_GROWTH


@dataclass(frozen=True)
class ChangeQuery:
    """The bounds of a page of the feed."""

    since: datetime
    after: ChangeCursor | None
    limit: int

    def select_starts(self, domain_id: UUID, kinds: Sequence[UrlChangeKind]) -> Select[Any]:
        """Select the domain's sitemaps with changes, and the time of the next change of each."""
        file = select(SitemapFile.id).where(SitemapFile.domain_id == domain_id).subquery()
        firsts = []
        for kind in kinds:
            first = (
                self._select_times(kind, file.c.id)
                .order_by(CHANGE_COLUMNS[kind])
                .limit(1)
                .lateral()
            )
            firsts.append(select(file.c.id.label("file_id"), first.c.at).join(first, true()))
        each = union_all(*firsts).subquery()
        at = func.min(each.c.at)
        return select(each.c.file_id, at.label("at")).group_by(each.c.file_id).order_by(at)

    def select_merged(
        self, files: Sequence[UUID], kinds: Sequence[UrlChangeKind], until: datetime | None
    ) -> Select[Any]:
        """Select the changes of these sitemaps, optionally before a time."""
        file = select(func.unnest(literal(files, ARRAY(Uuid))).label("id")).subquery()
        parts = [self._select_changes(kind, file, until) for kind in kinds]
        feed = union_all(*parts).subquery()
        return select(feed).order_by(feed.c.at, feed.c.id, feed.c.kind).limit(self.limit)

    def _select_changes(
        self, kind: UrlChangeKind, file: Any, until: datetime | None
    ) -> Select[Any]:
        noted = CHANGE_COLUMNS[kind]
        statement = self._select_times(kind, file.c.id).add_columns(
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

    def _select_times(self, kind: UrlChangeKind, sitemap_id: Any) -> Select[Any]:
        noted = CHANGE_COLUMNS[kind]
        statement = select(noted.label("at")).where(
            SitemapUrl.sitemap_id == sitemap_id, noted >= self.since
        )
        if self.after is not None:
            place = (self.after.at, self.after.id)
            statement = statement.where(tuple_(noted, SitemapUrl.id) > place)
        return statement
