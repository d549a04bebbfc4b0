"""List a site's URLs as pages of JSON, or stream them as CSV or text."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Select, Uuid, func, literal, or_, select, true, tuple_
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from scrapersky.db.session import Database
from scrapersky.models import SitemapFile, SitemapUrl

STREAM_BATCH_SIZE = 5_000
FILE_BATCH_GROWTH = 4
"""Growth factor of the number of sitemaps read when the first ones do not fill a page."""
CSV_COLUMNS = ("url", "lastmod", "changefreq", "priority", "sitemap_id", "first_seen")


class ListFormat(StrEnum):
    JSON = "json"
    CSV = "csv"
    TXT = "txt"

    @property
    def media_type(self) -> str:
        return {"json": "application/json", "csv": "text/csv", "txt": "text/plain"}[self.value]


class UrlCursor(NamedTuple):
    """Position in a list of URLs."""

    sitemap_id: UUID
    url_digest: bytes


FIRST_CURSOR = UrlCursor(UUID(int=0), b"")


class StoredUrl(NamedTuple):
    url: str
    lastmod: datetime | None
    changefreq: str | None
    priority: float | None
    sitemap_id: UUID
    first_seen: datetime
    url_digest: bytes

    @property
    def place(self) -> UrlCursor:
        return UrlCursor(self.sitemap_id, self.url_digest)


async def list_file_urls(
    session: AsyncSession, sitemap_id: UUID, *, after: UrlCursor = FIRST_CURSOR, limit: int = 1000
) -> Sequence[StoredUrl]:
    """List a sitemap's URLs after a position."""
    result = await session.execute(_select_file_urls(SitemapUrl, sitemap_id, after, limit))
    return [StoredUrl(*row) for row in result]


async def list_domain_urls(
    session: AsyncSession, domain_id: UUID, *, after: UrlCursor = FIRST_CURSOR, limit: int = 1000
) -> Sequence[StoredUrl]:
    """List a domain's distinct URLs after a position, sitemap by sitemap.

    The sitemaps to read are chosen here, a few at first and then more: a planner that
    underestimates the domain would read the beginning of every sitemap for each page.
    """
    files = await _list_files(session, domain_id, after)
    urls: list[StoredUrl] = []
    at_once = 1
    while files and len(urls) < limit:
        some, files = files[:at_once], files[at_once:]
        more = await session.execute(_select_urls(domain_id, some, after, limit - len(urls)))
        urls += [StoredUrl(*row) for row in more]
        at_once *= FILE_BATCH_GROWTH
    return urls


async def _list_files(session: AsyncSession, domain_id: UUID, place: UrlCursor) -> Sequence[UUID]:
    """List the domain's sitemaps in the order they were found, starting at a position."""
    rows = await session.scalars(
        select(SitemapFile.id)
        .where(SitemapFile.domain_id == domain_id, SitemapFile.id >= place.sitemap_id)
        .order_by(SitemapFile.id)
    )
    return rows.all()


def _select_urls(
    domain_id: UUID, files: Sequence[UUID], after: UrlCursor, limit: int
) -> Select[Any]:
    file = select(func.unnest(literal(files, ARRAY(Uuid))).label("id")).subquery()
    listed = aliased(SitemapUrl)
    part = (
        _select_file_urls(listed, file.c.id, after, limit)
        .where(or_(~listed.may_repeat, ~_is_duplicate(domain_id, listed)))
        .lateral()
    )
    return (
        select(part)
        .select_from(file.join(part, true()))
        .order_by(part.c.sitemap_id, part.c.url_digest)
        .limit(limit)
    )


def _select_file_urls(listed: Any, sitemap_id: Any, after: UrlCursor, limit: int) -> Select[Any]:
    return (
        select(*(getattr(listed, name) for name in StoredUrl._fields))
        .where(
            listed.sitemap_id == sitemap_id,
            tuple_(listed.sitemap_id, listed.url_digest) > after,
            listed.gone_at.is_(None),
        )
        .order_by(listed.url_digest)
        .limit(limit)
    )


def _is_duplicate(domain_id: UUID, listed: Any) -> ColumnElement[bool]:
    """Return whether another sitemap of the domain owns the URL: the row with `may_repeat` false,
    else the one found first.
    """
    other, other_url = aliased(SitemapFile), aliased(SitemapUrl)
    return (
        select(other_url.url_digest)
        .join(other, other.id == other_url.sitemap_id)
        .where(
            other.domain_id == domain_id,
            other_url.url_digest == listed.url_digest,
            other_url.sitemap_id != listed.sitemap_id,
            other_url.gone_at.is_(None),
            or_(~other_url.may_repeat, other_url.sitemap_id < listed.sitemap_id),
        )
        .correlate(listed)
        .exists()
    )


async def stream_urls(
    database: Database, *, domain_id: UUID | None = None, sitemap_id: UUID | None = None
) -> AsyncIterator[Sequence[StoredUrl]]:
    """Stream the list in batches, each in its own session, so that a slow client holds no
    connection.
    """
    of_what, key = (list_file_urls, sitemap_id) if sitemap_id else (list_domain_urls, domain_id)
    assert key is not None
    after = FIRST_CURSOR
    while True:
        async with database.reading() as session:
            rows = await of_what(session, key, after=after, limit=STREAM_BATCH_SIZE)
        if not rows:
            return
        yield rows
        after = rows[-1].place


async def format_text(batches: AsyncIterator[Sequence[StoredUrl]]) -> AsyncIterator[str]:
    async for rows in batches:
        yield "".join(f"{row.url}\n" for row in rows)


async def format_csv(batches: AsyncIterator[Sequence[StoredUrl]]) -> AsyncIterator[str]:
    yield _csv_lines([CSV_COLUMNS])
    async for rows in batches:
        yield _csv_lines([_csv_row(row) for row in rows])


def _csv_row(row: StoredUrl) -> tuple[object, ...]:
    return (
        row.url,
        row.lastmod.isoformat() if row.lastmod else "",
        row.changefreq or "",
        "" if row.priority is None else row.priority,
        row.sitemap_id,
        row.first_seen.isoformat(),
    )


def _csv_lines(rows: Sequence[Sequence[object]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
