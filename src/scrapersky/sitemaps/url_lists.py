"""A site's URLs as a page of JSON, or all of them streamed as CSV or plain text."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Sequence
from enum import StrEnum
from uuid import UUID

from scrapersky.db.session import Database
from scrapersky.sitemaps import service
from scrapersky.sitemaps.service import StoredUrl

ROWS_AT_ONCE = 5_000
CSV_COLUMNS = ("url", "lastmod", "changefreq", "priority", "sitemap_id", "first_seen")


class ListFormat(StrEnum):
    JSON = "json"
    CSV = "csv"
    TXT = "txt"

    @property
    def media_type(self) -> str:
        return {"json": "application/json", "csv": "text/csv", "txt": "text/plain"}[self.value]


async def all_urls(
    database: Database, *, domain_id: UUID | None = None, sitemap_id: UUID | None = None
) -> AsyncIterator[Sequence[StoredUrl]]:
    """Handful by handful, each in a session of its own: a slow reader holds no connection."""
    after = 0
    while True:
        async with database.reading() as session:
            rows = await service.urls_of(
                session,
                domain_id=domain_id,
                sitemap_id=sitemap_id,
                after=after,
                limit=ROWS_AT_ONCE,
            )
        if not rows:
            return
        yield rows
        after = rows[-1].id


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
