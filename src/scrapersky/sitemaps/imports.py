"""Stage: turn the URLs of a stored sitemap into pages, without fetching anything."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    DateTime,
    LargeBinary,
    Select,
    Text,
    Uuid,
    and_,
    cast,
    func,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.copy import refresh_statistics
from scrapersky.db.statements import unnest_rows
from scrapersky.errors import Rejected, Skipped
from scrapersky.models import (
    Actor,
    Page,
    SitemapFile,
    SitemapUrl,
    get_system_user_id,
    record,
)
from scrapersky.models.sitemaps import IMPORT_STATUSES, FileStatus
from scrapersky.models.stage_names import IMPORT_STAGE, PAGE_STAGE
from scrapersky.pages.classification import CLASSIFICATION_COLUMNS, ColumnValues, classify_urls
from scrapersky.pages.selection import queue_best_pages
from scrapersky.pipeline.queue import queue_columns
from scrapersky.pipeline.stage import Stage, Tools
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.settings import Pace
from scrapersky.sitemaps.service import get_sitemap_file

URLS_PER_CHUNK = 10_000
"""URLs per transaction. Stored chunks survive the death of a worker."""
ANALYZE_THRESHOLD_URLS = 50_000
"""After this many URLs the planner's statistics are refreshed."""
DIGEST_UPPER_BOUND = b"\xff" * 17
"""Longer than a digest, so that it sorts after the last one."""


@dataclass(frozen=True)
class StoredSitemap:
    """The file to import and its number of stored URLs."""

    id: UUID
    urls: int = 0


@dataclass(frozen=True)
class DigestRange:
    """A half-open range of URL digests of one file."""

    first: bytes
    end: bytes
    auto_queue: bool = True


@dataclass(frozen=True)
class PagesStored:
    """Step after the last chunk: all pages are stored, so that the best can be selected."""

    pages_per_site: int


@dataclass(frozen=True)
class ImportFinished:
    """Last step; `urls` is the number of URLs imported."""

    urls: int


ImportStep = DigestRange | PagesStored | ImportFinished


def read(file: SitemapFile) -> StoredSitemap:
    _reject_unread(file)
    _skip_without_pages(file)
    return StoredSitemap(file.id)


def _reject_unread(file: SitemapFile) -> None:
    """Reject a file without stored URLs. An imported sitemap is read by a scan first, which then
    queues this import.
    """
    if file.last_processed_at is None:
        raise Rejected("The sitemap has not been read yet. Scan its domain, then import it again.")


def _skip_without_pages(file: SitemapFile) -> None:
    if file.sitemap_type == "index":
        raise Skipped("This is a sitemap index. Its sitemaps are imported separately.")
    if file.status in (FileStatus.REFUSED, FileStatus.ERROR):
        why = f": {file.reason}" if file.reason else "."
        raise Skipped(f"The last fetch of the sitemap failed ({file.status}){why}")


async def prepare(session: AsyncSession, sitemap: StoredSitemap) -> StoredSitemap:
    counted = select(func.count()).where(SitemapUrl.sitemap_id == sitemap.id)
    return replace(sitemap, urls=await session.scalar(counted) or 0)


async def work(sitemap: StoredSitemap, tools: Tools) -> AsyncIterator[ImportStep]:
    """Yield the steps. All work happens chunk by chunk in `store`.

    The last step stores no pages: it is settled together with other rows, and could deadlock on
    pages that they share.
    """
    settings = tools.settings
    for chunk in build_ranges(sitemap.urls):
        yield replace(chunk, auto_queue=settings.auto_queue_pages)
    if settings.auto_queue_pages:
        yield PagesStored(settings.pages_per_site)
    yield ImportFinished(sitemap.urls)


def build_ranges(urls: int) -> list[DigestRange]:
    """Split the digest range into equal parts, which are about equally full because digests are
    uniform.

    The parts cover the whole range: a wrong count makes chunks larger, but loses nothing.
    """
    count = -(-urls // URLS_PER_CHUNK)
    bounds = [(part * 2**128 // count).to_bytes(16, "big") for part in range(count)]
    return [DigestRange(first, end) for first, end in pairwise([*bounds, DIGEST_UPPER_BOUND])]


async def store(session: AsyncSession, file: SitemapFile, result: ImportStep) -> None:
    match result:
        case DigestRange():
            urls = (await session.execute(_select_urls(file, result))).all()
            kinds = await classify_urls([each.url for each in urls], auto_queue=result.auto_queue)
            if urls:
                await session.execute(_build_upsert(file, urls, kinds, get_system_user_id(session)))
        case PagesStored():
            await queue_best_pages(session, file.domain_id, limit=result.pages_per_site)
        case ImportFinished() if result.urls >= ANALYZE_THRESHOLD_URLS:
            await refresh_statistics(session, Page)


def _build_upsert(
    file: SitemapFile, urls: Sequence[Any], kinds: Mapping[str, ColumnValues], created_by: UUID
) -> Any:
    """Build the upsert: insert new pages and update what differs. Curation is kept.

    When several sitemaps list a page, the one with the latest lastmod owns it; otherwise they would
    overwrite each other forever.
    """
    input_rows = unnest_rows(
        url=(Text, [each.url for each in urls]),
        url_digest=(LargeBinary, [each.url_digest for each in urls]),
        lastmod=(DateTime(timezone=True), [each.lastmod for each in urls]),
        **{name: (kind, kinds[name]) for name, kind in CLASSIFICATION_COLUMNS.items()},
    )
    values = {
        "id": _build_uuid7(),
        "tenant_id": literal(file.tenant_id, Uuid),
        "created_by": literal(created_by, Uuid),
        "domain_id": literal(file.domain_id, Uuid),
        "sitemap_file_id": literal(file.id, Uuid),
        **{each.name: each for each in input_rows.c},
    }
    statement = insert(Page).from_select(list(values), select(*values.values()))
    excluded = statement.excluded
    same_file = Page.sitemap_file_id == excluded.sitemap_file_id
    return statement.on_conflict_do_update(
        index_elements=[Page.domain_id, Page.url_digest],
        set_={
            "lastmod": excluded.lastmod,
            "sitemap_file_id": excluded.sitemap_file_id,
            "updated_at": func.now(),
        },
        where=or_(
            Page.sitemap_file_id.is_(None),
            and_(same_file, Page.lastmod.is_distinct_from(excluded.lastmod)),
            Page.lastmod < excluded.lastmod,
            and_(Page.lastmod.is_(None), excluded.lastmod.is_not(None)),
        ),
    )


def _select_urls(file: SitemapFile, chunk: DigestRange) -> Select[str, bytes, datetime | None]:
    """Select the URLs in digest order, so that concurrent stores cannot deadlock."""
    return (
        select(SitemapUrl.url, SitemapUrl.url_digest, SitemapUrl.lastmod)
        .where(
            SitemapUrl.sitemap_id == file.id,
            SitemapUrl.url_digest >= chunk.first,
            SitemapUrl.url_digest < chunk.end,
            SitemapUrl.gone_at.is_(None),
        )
        .order_by(SitemapUrl.url_digest)
    )


def _build_uuid7() -> ColumnElement[UUID]:
    """Return an SQL expression for a UUIDv7 per row that works on any server version.

    Time and version come from one generated here, the rest from `gen_random_uuid()`: version 4 has
    the same variant bits.
    """
    value = func.overlay(func.uuid_send(func.gen_random_uuid()), uuid7().bytes[:7], 1, 7)
    return cast(func.encode(value, "hex"), Uuid)


async def request_import(
    session: AsyncSession, actor: Actor, file_id: UUID
) -> tuple[SitemapFile, bool]:
    """Queue a file's import unless it is active, and return whether it already was."""
    file = await get_sitemap_file(session, actor, file_id)
    record(session, actor, "sitemap_file.import", file.id)
    if file.sitemap_import_status in (IMPORT_STATUSES.queued, IMPORT_STATUSES.processing):
        return file, False
    await queue_import(session, [file.id])
    await session.refresh(file)
    return file, True


async def queue_import(session: AsyncSession, file_ids: Sequence[UUID]) -> int:
    """Queue the import of these files and return how many.

    A running import restarts and loses its claim, because it may have passed URLs that have changed
    since.
    """
    queue = queue_columns(SitemapFile, "sitemap_import_status")
    queued = await session.scalars(
        update(SitemapFile)
        .where(SitemapFile.id.in_(file_ids))
        .values(
            {
                queue.status: IMPORT_STATUSES.queued,
                queue.due_at: func.now(),
                queue.attempts: 0,
                queue.lease_token: None,
                queue.lease_expires_at: None,
                queue.worker_id: None,
                queue.error: None,
            }
        )
        .returning(SitemapFile.id)
        .execution_options(synchronize_session=False)
    )
    count = len(queued.all())
    if count:
        wake_after_commit(session, IMPORT_STAGE)
    return count


STAGE = Stage(
    name=IMPORT_STAGE,
    does="Turn the URLs of stored sitemaps into pages, without fetching anything.",
    workflow="WF5/WF6",
    model=SitemapFile,
    status="sitemap_import_status",
    words=IMPORT_STATUSES,
    prefix="SITEMAP_IMPORT_SCHEDULER",
    pace=Pace(batch_size=20, max_instances=1, concurrency=2, timeout_seconds=600),
    feeds=(PAGE_STAGE,),
    read=read,
    prepare=prepare,
    work=work,
    store=store,
)
