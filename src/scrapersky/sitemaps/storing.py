"""Write what a scan finds: sitemap files one by one, their URLs in bulk. Twice stores once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import case, func, null, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.bulk import copy_upsert, mark_missing
from scrapersky.models import Domain, Job, SitemapFile, SitemapUrl
from scrapersky.models.sitemaps import FileStatus
from scrapersky.scraper.events import (
    BaseFound,
    SitemapDone,
    SitemapFound,
    SitemapStatus,
    SitemapUnchanged,
    Unchanged,
    UrlsFound,
)
from scrapersky.scraper.sitemap_parser.model import Entry
from scrapersky.scraper.urls import url_digest
from scrapersky.sitemaps.pacing import Changes

TRUSTED_FROM = 2
"""So often an index's lastmod must have been right before its word is taken."""
LIED = -3
MAX_ROBOTS_KEPT = 64 * 1024
BAD = (SitemapStatus.REFUSED, SitemapStatus.ERROR)
URL_COLUMNS = (
    "sitemap_id",
    "url",
    "url_digest",
    "lastmod",
    "changefreq",
    "priority",
    "extras",
    "first_seen",
)


async def store_robots(session: AsyncSession, job: Job, found: BaseFound) -> None:
    """Kept with its validators, so that the next scan can ask whether it has changed."""
    state = None
    if found.robots is not None and len(found.robots[0]) <= MAX_ROBOTS_KEPT:
        text, etag, last_modified = found.robots
        text = text.replace("\x00", "")
        state = {"body": text, "etag": etag, "last_modified": last_modified}
    await session.execute(
        update(Domain)
        .where(Domain.id == job.domain_id)
        .values(robots_state=state if state is not None else null())
    )


async def store_found(session: AsyncSession, job: Job, found: SitemapFound) -> None:
    """A sitemap seen before keeps its row, its id and whatever people decided about it."""
    facts: dict[str, Any] = {
        "final_url": found.final_url,
        "parent_url": found.parent_url,
        "sitemap_type": found.sitemap_type,
        "discovery_method": found.discovery_method,
        "depth": found.depth,
        "status": FileStatus.READING,
        "reason": None,
        "is_gzipped": found.is_gzipped,
        "http_status": found.http_status,
        "response_time_ms": found.response_time_ms,
        "etag": found.etag,
        "last_modified": found.last_modified,
        "generator": found.generator,
        "job_id": job.id,
    }
    await session.execute(
        insert(SitemapFile)
        .values(
            id=uuid7(),
            tenant_id=job.tenant_id,
            created_by=job.created_by,
            domain_id=job.domain_id,
            url=found.url,
            url_digest=url_digest(found.url),
            **facts,
        )
        .on_conflict_do_update(
            index_elements=[SitemapFile.domain_id, SitemapFile.url_digest],
            set_={**facts, "updated_at": func.now()},
        )
    )


async def store_urls(session: AsyncSession, job: Job, found: UrlsFound) -> Changes:
    """New URLs are added, changed ones changed, the rest not written at all."""
    sitemap_id = await file_id(session, job, found.sitemap_url)
    written = await copy_upsert(
        session,
        SitemapUrl,
        URL_COLUMNS,
        _records(sitemap_id, found.entries),
        key=("sitemap_id", "url_digest"),
        changing=("lastmod", "changefreq", "priority", "extras"),
    )
    return Changes(added=written.added, changed=written.changed)


def _records(sitemap_id: UUID, entries: tuple[Entry, ...]) -> Iterator[tuple[Any, ...]]:
    now = datetime.now(UTC)
    for entry in entries:
        yield (
            sitemap_id,
            entry.loc,
            url_digest(entry.loc),
            entry.lastmod,
            entry.changefreq,
            entry.priority,
            _extras(entry),
            now,
        )


def _extras(entry: Entry) -> str | None:
    """What the extensions say, as JSON, or nothing for the many that have none."""
    said = {
        "images": entry.images,
        "videos": entry.videos,
        "news": entry.news,
        "alternates": entry.alternates,
        "mobile": entry.mobile,
    }
    given = {name: value for name, value in said.items() if value}
    return json.dumps(given, default=str) if given else None


async def mark_gone(session: AsyncSession, job: Job, url: str, seen: bytes) -> Changes:
    """After a complete read: what the sitemap listed before and does not list now is gone."""
    digests = ((seen[start : start + 16],) for start in range(0, len(seen), 16))
    gone = await mark_missing(
        session,
        SitemapUrl,
        parent="sitemap_id",
        parent_id=await file_id(session, job, url),
        digests=digests,
    )
    return Changes(gone=gone)


async def store_done(session: AsyncSession, job: Job, done: SitemapDone) -> None:
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
        "changed_at": _changed_at(done),
        "error_streak": SitemapFile.error_streak + 1 if done.status in BAD else 0,
        "gone_at": None,
        "index_lastmod": done.index_lastmod,
        "lastmod_kept": _lastmod_kept(done),
    }
    if done.sitemap_type is not None:
        facts["sitemap_type"] = done.sitemap_type
    await session.execute(
        update(SitemapFile)
        .where(
            SitemapFile.domain_id == job.domain_id, SitemapFile.url_digest == url_digest(done.url)
        )
        .values(facts)
    )


async def store_unchanged(session: AsyncSession, job: Job, event: SitemapUnchanged) -> None:
    """We looked, and it is what it was; if we asked the sitemap itself, its index was right."""
    kept: Any = SitemapFile.lastmod_kept
    if event.how is not Unchanged.INDEX_LASTMOD and event.index_lastmod is not None:
        is_same = SitemapFile.index_lastmod == event.index_lastmod
        kept = case((is_same, SitemapFile.lastmod_kept + 1), else_=SitemapFile.lastmod_kept)
    await session.execute(
        update(SitemapFile)
        .where(
            SitemapFile.domain_id == job.domain_id, SitemapFile.url_digest == url_digest(event.url)
        )
        .values(
            job_id=job.id,
            last_processed_at=func.now(),
            error_streak=0,
            gone_at=None,
            index_lastmod=event.index_lastmod,
            lastmod_kept=kept,
        )
    )


def _lastmod_kept(done: SitemapDone) -> Any:
    """An index that gives the old lastmod to new content has lied, and must earn trust again."""
    if done.index_lastmod is None or done.content_hash is None:
        return 0
    same_word = SitemapFile.index_lastmod == done.index_lastmod
    new_content = SitemapFile.content_hash.is_distinct_from(done.content_hash)
    return case(
        (SitemapFile.index_lastmod.is_(None), 0),
        (same_word & new_content, LIED),
        (same_word | new_content, SitemapFile.lastmod_kept + 1),
        else_=SitemapFile.lastmod_kept,
    )


def _changed_at(done: SitemapDone) -> Any:
    """A content hash that differs is a change; one that could not be had tells nothing."""
    differs = SitemapFile.content_hash.is_distinct_from(done.content_hash)
    known = done.content_hash is not None
    return (
        case((differs, func.now()), else_=SitemapFile.changed_at)
        if known
        else (SitemapFile.changed_at)
    )


async def file_id(session: AsyncSession, job: Job, url: str) -> UUID:
    found = await session.execute(
        select(SitemapFile.id).where(
            SitemapFile.domain_id == job.domain_id, SitemapFile.url_digest == url_digest(url)
        )
    )
    return found.scalar_one()
