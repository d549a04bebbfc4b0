"""A site's URLs as a page of JSON, or all of them streamed as CSV or plain text."""

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
from scrapersky.errors import InvalidInput
from scrapersky.models import SitemapFile, SitemapUrl

ROWS_AT_ONCE = 5_000
FILES_MORE = 4
"""So many times more sitemaps are looked at when those before did not fill a page."""
CSV_COLUMNS = ("url", "lastmod", "changefreq", "priority", "sitemap_id", "first_seen")


class ListFormat(StrEnum):
    JSON = "json"
    CSV = "csv"
    TXT = "txt"

    @property
    def media_type(self) -> str:
        return {"json": "application/json", "csv": "text/csv", "txt": "text/plain"}[self.value]


class UrlPlace(NamedTuple):
    """Where in a list of URLs a page ended."""

    sitemap_id: UUID
    url_digest: bytes

    def encode(self) -> str:
        return f"{self.sitemap_id.hex}{self.url_digest.hex()}"

    @classmethod
    def decode(cls, cursor: str) -> UrlPlace:
        try:
            both = bytes.fromhex(cursor)
            return cls(UUID(bytes=both[:16]), both[16:])
        except ValueError:
            raise InvalidInput("The cursor is not one of ours; start without one.") from None


START = UrlPlace(UUID(int=0), b"")


class StoredUrl(NamedTuple):
    url: str
    lastmod: datetime | None
    changefreq: str | None
    priority: float | None
    sitemap_id: UUID
    first_seen: datetime
    url_digest: bytes

    @property
    def place(self) -> UrlPlace:
        return UrlPlace(self.sitemap_id, self.url_digest)


async def urls_of_file(
    session: AsyncSession, sitemap_id: UUID, *, after: UrlPlace = START, limit: int = 1000
) -> Sequence[StoredUrl]:
    """The next URLs a sitemap lists after a place."""
    found = await session.execute(_listed(SitemapUrl, sitemap_id, after, limit))
    return [StoredUrl(*row) for row in found]


async def urls_of_domain(
    session: AsyncSession, domain_id: UUID, *, after: UrlPlace = START, limit: int = 1000
) -> Sequence[StoredUrl]:
    """The next URLs of a domain after a place, sitemap by sitemap; each URL once.

    Which sitemaps to read is decided here, one and then some more: a planner that takes a domain
    for small would read the beginning of all of them for every page.
    """
    files = await _files_from(session, domain_id, after)
    found: list[StoredUrl] = []
    at_once = 1
    while files and len(found) < limit:
        some, files = files[:at_once], files[at_once:]
        more = await session.execute(_of_files(domain_id, some, after, limit - len(found)))
        found += [StoredUrl(*row) for row in more]
        at_once *= FILES_MORE
    return found


async def _files_from(session: AsyncSession, domain_id: UUID, place: UrlPlace) -> Sequence[UUID]:
    """The domain's sitemaps in the order they were found, from the one at that place on."""
    found = await session.scalars(
        select(SitemapFile.id)
        .where(SitemapFile.domain_id == domain_id, SitemapFile.id >= place.sitemap_id)
        .order_by(SitemapFile.id)
    )
    return found.all()


def _of_files(domain_id: UUID, files: Sequence[UUID], after: UrlPlace, limit: int) -> Select[Any]:
    file = select(func.unnest(literal(files, ARRAY(Uuid))).label("id")).subquery()
    listed = aliased(SitemapUrl)
    part = (
        _listed(listed, file.c.id, after, limit)
        .where(or_(~listed.may_repeat, ~_is_listed_before(domain_id, listed)))
        .lateral()
    )
    return (
        select(part)
        .select_from(file.join(part, true()))
        .order_by(part.c.sitemap_id, part.c.url_digest)
        .limit(limit)
    )


def _listed(listed: Any, sitemap_id: Any, after: UrlPlace, limit: int) -> Select[Any]:
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


def _is_listed_before(domain_id: UUID, listed: Any) -> ColumnElement[bool]:
    """Another sitemap of the domain lists the same URL and stands for it: the one that says it
    does not repeat; of others the one found first."""
    other, twin = aliased(SitemapFile), aliased(SitemapUrl)
    return (
        select(twin.url_digest)
        .join(other, other.id == twin.sitemap_id)
        .where(
            other.domain_id == domain_id,
            twin.url_digest == listed.url_digest,
            twin.sitemap_id != listed.sitemap_id,
            twin.gone_at.is_(None),
            or_(~twin.may_repeat, twin.sitemap_id < listed.sitemap_id),
        )
        .correlate(listed)
        .exists()
    )


async def all_urls(
    database: Database, *, domain_id: UUID | None = None, sitemap_id: UUID | None = None
) -> AsyncIterator[Sequence[StoredUrl]]:
    """Handful by handful, each in a session of its own: a slow reader holds no connection."""
    of_what, key = (urls_of_file, sitemap_id) if sitemap_id else (urls_of_domain, domain_id)
    assert key is not None
    after = START
    while True:
        async with database.reading() as session:
            rows = await of_what(session, key, after=after, limit=ROWS_AT_ONCE)
        if not rows:
            return
        yield rows
        after = rows[-1].place


async def as_text(handfuls: AsyncIterator[Sequence[StoredUrl]]) -> AsyncIterator[str]:
    async for rows in handfuls:
        yield "".join(f"{row.url}\n" for row in rows)


async def as_csv(handfuls: AsyncIterator[Sequence[StoredUrl]]) -> AsyncIterator[str]:
    yield _csv_lines([CSV_COLUMNS])
    async for rows in handfuls:
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
