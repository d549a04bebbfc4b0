"""Store what a scan finds: sitemap files one by one, URLs in bulk. Idempotent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Boolean,
    ColumnElement,
    DateTime,
    LargeBinary,
    and_,
    case,
    func,
    literal,
    null,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.erasure_filter import load_erased, remove_erased
from scrapersky.db.base import uuid7
from scrapersky.db.copy import copy_insert, copy_upsert, mark_missing
from scrapersky.models import Domain, Job, SitemapFile, SitemapUrl, get_system_user_id
from scrapersky.models.sitemaps import FileStatus
from scrapersky.scraper.http.urls import url_digest
from scrapersky.scraper.sitemaps.events import (
    BaseFound,
    SitemapDone,
    SitemapFound,
    SitemapStatus,
    SitemapUnchanged,
    UnchangedReason,
)
from scrapersky.sitemaps.rescans import ScanChanges
from scrapersky.sitemaps.scan_buffer import DIGEST_BYTES, EXTRAS_INDEX, ROW_COLUMNS, UrlRow, UrlRows

LASTMOD_TRUST_THRESHOLD = 2
"""How often an index's lastmod must have been right before it is trusted."""
LASTMOD_MISMATCH_PENALTY = -3
MAX_ROBOTS_CHARACTERS = 64 * 1024
FAILED_STATUSES = (SitemapStatus.REFUSED, SitemapStatus.ERROR)
URL_COLUMNS = (*ROW_COLUMNS, "sitemap_id", "first_seen")


async def store_robots(session: AsyncSession, job: Job, event: BaseFound) -> None:
    """Store robots.txt with its validators, for a conditional request in the next scan."""
    state = None
    if event.robots is not None and len(event.robots[0]) <= MAX_ROBOTS_CHARACTERS:
        text, etag, last_modified = event.robots
        text = await remove_erased(session, job.tenant_id, text.replace("\x00", ""))
        state = {"body": text, "etag": etag, "last_modified": last_modified}
    await session.execute(
        update(Domain)
        .where(Domain.id == job.domain_id)
        .values(robots_state=state if state is not None else null())
    )


async def store_file_found(session: AsyncSession, job: Job, event: SitemapFound) -> None:
    """Upsert the sitemap file. An existing one keeps its ID and curation."""
    facts: dict[str, Any] = {
        "final_url": event.final_url,
        "parent_url": event.parent_url,
        "sitemap_type": event.sitemap_type,
        "discovery_method": event.discovery_method,
        "depth": event.depth,
        "status": FileStatus.READING,
        "reason": None,
        "is_gzipped": event.is_gzipped,
        "http_status": event.http_status,
        "response_time_ms": event.response_time_ms,
        "etag": event.etag,
        "last_modified": event.last_modified,
        "generator": event.generator,
        "job_id": job.id,
    }
    await session.execute(
        insert(SitemapFile)
        .values(
            id=uuid7(),
            tenant_id=job.tenant_id,
            created_by=get_system_user_id(session),
            domain_id=job.domain_id,
            url=event.url,
            url_digest=url_digest(event.url),
            **facts,
        )
        .on_conflict_do_update(
            index_elements=[SitemapFile.domain_id, SitemapFile.url_digest],
            set_={**facts, "updated_at": func.now()},
        )
    )


async def store_urls(session: AsyncSession, job: Job, url_rows: UrlRows) -> ScanChanges:
    """Insert new URLs and update changed ones. Unchanged rows are not written."""
    rows = await _remove_erased_people(session, job, url_rows.rows)
    sitemap_id, now = await _get_file_and_now(session, job, url_rows.sitemap_url)
    file = (sitemap_id, now)
    records = [row + file for row in rows]
    if not url_rows.is_known:
        added = await copy_insert(session, SitemapUrl, URL_COLUMNS, records)
        if added is not None:
            return ScanChanges(added=added)
    written = await copy_upsert(
        session,
        SitemapUrl,
        URL_COLUMNS,
        records,
        key=("sitemap_id", "url_digest"),
        changing=("lastmod", "changefreq", "priority", "extras"),
    )
    return ScanChanges(added=written.added, changed=written.changed)


async def _remove_erased_people(
    session: AsyncSession, job: Job, rows: Sequence[UrlRow]
) -> Sequence[UrlRow]:
    """Redact erased people in captions and titles. URLs are kept."""
    values = {
        place: row[EXTRAS_INDEX] for place, row in enumerate(rows) if row[EXTRAS_INDEX] is not None
    }
    erased = await load_erased(session, job.tenant_id) if values else None
    if not erased:
        return rows
    clean = await asyncio.to_thread(
        erased.redact, {str(place): json.loads(extras) for place, extras in values.items()}
    )
    return [
        (*row[:EXTRAS_INDEX], json.dumps(clean[str(place)]), *row[EXTRAS_INDEX + 1 :])
        if place in values
        else row
        for place, row in enumerate(rows)
    ]


async def _get_file_and_now(session: AsyncSession, job: Job, url: str) -> tuple[UUID, datetime]:
    result = await session.execute(select(SitemapFile.id, func.now()).where(_match_file(job, url)))
    sitemap_id, now = result.one()
    return sitemap_id, now


async def mark_gone(session: AsyncSession, job: Job, url: str, present: bytes) -> ScanChanges:
    """Mark URLs that a complete read did not list as gone."""
    starts = range(0, len(present), DIGEST_BYTES)
    digests = ((present[start : start + DIGEST_BYTES],) for start in starts)
    gone = await mark_missing(
        session,
        SitemapUrl,
        parent="sitemap_id",
        parent_id=await get_file_id(session, job, url),
        digests=digests,
    )
    return ScanChanges(gone=gone)


async def store_file_result(session: AsyncSession, job: Job, done: SitemapDone) -> None:
    facts: dict[str, Any] = {
        "status": done.status,
        "reason": done.reason,
        "url_count": done.url_count,
        "size_bytes": done.size_bytes,
        "content_hash": done.content_hash,
        "has_lastmod": done.has_lastmod,
        "has_priority": done.has_priority,
        "has_changefreq": done.has_changefreq,
        "dropped": dict(done.dropped),
        "last_processed_at": func.now(),
        "last_asked_at": func.now(),
        "changed_at": _build_change_time(done),
        "error_streak": SitemapFile.error_streak + 1 if done.status in FAILED_STATUSES else 0,
        "gone_at": None,
        "index_lastmod": done.index_lastmod,
        "lastmod_kept": _build_lastmod_trust(done),
    }
    if done.sitemap_type is not None:
        facts["sitemap_type"] = done.sitemap_type
    stored = await session.execute(
        update(SitemapFile)
        .where(_match_file(job, done.url))
        .values(facts)
        .returning(SitemapFile.lastmod_kept, SitemapFile.parent_url)
        .execution_options(synchronize_session=False)
    )
    for lastmod_kept, index_url in stored:
        if lastmod_kept == LASTMOD_MISMATCH_PENALTY:
            await _reset_lastmod_trust(session, job, index_url)


async def _reset_lastmod_trust(session: AsyncSession, job: Job, index_url: str | None) -> None:
    """Reset the trust in all children of an index that was wrong about one of them."""
    await session.execute(
        update(SitemapFile)
        .where(
            SitemapFile.domain_id == job.domain_id,
            SitemapFile.parent_url == index_url,
            SitemapFile.lastmod_kept > 0,
        )
        .values(lastmod_kept=0)
        .execution_options(synchronize_session=False)
    )


async def store_unchanged(
    session: AsyncSession, job: Job, events: Sequence[SitemapUnchanged]
) -> None:
    """Record unchanged sitemaps in one statement, so that an unchanged large site costs little.

    If the sitemap itself was requested, its index's lastmod was right and gains trust.
    """
    rows = _build_unchanged_rows(events)
    was_right = and_(rows.c.was_asked, SitemapFile.index_lastmod == rows.c.index_lastmod)
    await session.execute(
        update(SitemapFile)
        .where(SitemapFile.domain_id == job.domain_id, SitemapFile.url_digest == rows.c.url_digest)
        .values(
            job_id=job.id,
            last_processed_at=func.now(),
            last_asked_at=case((rows.c.was_asked, func.now()), else_=SitemapFile.last_asked_at),
            error_streak=0,
            gone_at=None,
            index_lastmod=rows.c.index_lastmod,
            lastmod_kept=SitemapFile.lastmod_kept + case((was_right, 1), else_=0),
        )
        .execution_options(synchronize_session=False)
    )


def _build_unchanged_rows(events: Sequence[SitemapUnchanged]) -> Any:
    columns: dict[str, tuple[Any, list[Any]]] = {
        "url_digest": (LargeBinary, [url_digest(each.url) for each in events]),
        "index_lastmod": (DateTime(timezone=True), [each.index_lastmod for each in events]),
        "was_asked": (Boolean, [each.how is not UnchangedReason.INDEX_LASTMOD for each in events]),
    }
    listed = [
        func.unnest(literal(values, ARRAY(kind))).label(name)
        for name, (kind, values) in columns.items()
    ]
    return select(*listed).subquery("said")


def _build_lastmod_trust(done: SitemapDone) -> Any:
    """Compute the trust in the index's lastmod. The same lastmod for new content is penalised."""
    if done.index_lastmod is None or done.content_hash is None:
        return 0
    same_word = SitemapFile.index_lastmod == done.index_lastmod
    new_content = SitemapFile.content_hash.is_distinct_from(done.content_hash)
    return case(
        (SitemapFile.index_lastmod.is_(None), 0),
        (same_word & new_content, LASTMOD_MISMATCH_PENALTY),
        (same_word | new_content, SitemapFile.lastmod_kept + 1),
        else_=SitemapFile.lastmod_kept,
    )


def _build_change_time(done: SitemapDone) -> Any:
    """Return the change time: now if the content hash differs. Unknown counts as unchanged."""
    differs = SitemapFile.content_hash.is_distinct_from(done.content_hash)
    known = done.content_hash is not None
    return (
        case((differs, func.now()), else_=SitemapFile.changed_at)
        if known
        else (SitemapFile.changed_at)
    )


async def get_file_id(session: AsyncSession, job: Job, url: str) -> UUID:
    result = await session.execute(select(SitemapFile.id).where(_match_file(job, url)))
    return result.scalar_one()


def _match_file(job: Job, url: str) -> ColumnElement[bool]:
    return and_(SitemapFile.domain_id == job.domain_id, SitemapFile.url_digest == url_digest(url))
