"""A domain with as many URLs as wanted, and the work that must not get slower with their number."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from benchmarks.sitemaps_documents import page
from benchmarks.storing_plans import Watched, watching
from scrapersky.auth.service import get_system_actor
from scrapersky.db.base import uuid7
from scrapersky.db.copy import copy_insert, copy_upsert, mark_missing, refresh_statistics
from scrapersky.db.session import Database
from scrapersky.lists.cursor import fetch_newest_first
from scrapersky.models import Actor, Domain, Job, JobType, Page, SitemapFile, SitemapUrl
from scrapersky.scraper.http.urls import url_digest
from scrapersky.scraper.sitemaps.parse import UrlEntry
from scrapersky.settings import SettingsSource, load_settings
from scrapersky.sitemaps import imports
from scrapersky.sitemaps.changes import ChangeCursor, list_changes
from scrapersky.sitemaps.outcome import count_urls
from scrapersky.sitemaps.scan_buffer import build_rows
from scrapersky.sitemaps.storage import URL_COLUMNS
from scrapersky.sitemaps.url_lists import UrlCursor, list_domain_urls

PAGE = 1_000
HOUR = timedelta(hours=1)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
WORK_ROWS = 5_000
"""What one handful of a scan stores."""
FILES_IMPORTED = 2
REPEATING = 100
"""One URL in so many is not known to be listed by one sitemap only."""

Act = Callable[[AsyncSession], Awaitable[object]]


@dataclass(frozen=True)
class Site:
    """A domain whose sitemaps list so many URLs each."""

    actor: Actor
    domain_id: UUID
    files: tuple[UUID, ...]
    urls_each: int

    @property
    def middle(self) -> UUID:
        return self.files[len(self.files) // 2]

    @property
    def first_of_middle(self) -> int:
        return len(self.files) // 2 * self.urls_each


async def made(database: Database, name: str, *, files: int, urls_each: int) -> Site:
    """Store a domain and the sitemap files it has, without URLs yet."""
    settings = load_settings(SettingsSource(environ={}, env_file=None))
    async with database.transaction() as session:
        actor = await get_system_actor(session, settings)
        owned: dict[str, Any] = {"tenant_id": actor.tenant_id, "created_by": actor.user_id}
        domain = Domain(id=uuid7(), domain=name, total_sitemaps=files, **owned)
        session.add(domain)
        await session.flush()
        stored = [_file(domain.id, number, urls_each, owned) for number in range(files)]
        session.add_all(stored)
    return Site(actor, domain.id, tuple(file.id for file in stored), urls_each)


def _file(domain_id: UUID, number: int, url_count: int, owned: Mapping[str, Any]) -> SitemapFile:
    url = f"http://many.example/{number}.xml"
    return SitemapFile(
        id=uuid7(),
        domain_id=domain_id,
        url=url,
        url_digest=url_digest(url),
        sitemap_type="standard",
        discovery_method="sitemap_index",
        status="ok",
        url_count=url_count,
        last_processed_at=func.now(),
        **owned,
    )


async def loaded(database: Database, site: Site) -> AsyncIterator[int]:
    """Store its URLs as a first scan does; tells how many there are so far."""
    for number, file_id in enumerate(site.files):
        for first in range(0, site.urls_each, WORK_ROWS):
            count = min(WORK_ROWS, site.urls_each - first)
            async with database.transaction() as session:
                now = (await session.scalars(select(func.now()))).one()
                rows = records(file_id, number * site.urls_each + first, count, now)
                await copy_insert(session, SitemapUrl, URL_COLUMNS, rows)
        yield (number + 1) * site.urls_each


async def with_pages(database: Database, site: Site) -> None:
    """Import its first sitemaps, as the stage does."""
    for file_id in site.files[:FILES_IMPORTED]:
        for chunk in imports.build_ranges(site.urls_each):
            async with database.transaction() as session:
                file = await session.get_one(SitemapFile, file_id)
                await imports.store(session, file, chunk)


async def with_statistics(database: Database) -> None:
    async with database.transaction() as session:
        for model in (SitemapUrl, Page):
            await refresh_statistics(session, model)


def records(file_id: UUID, first: int, count: int, now: datetime) -> list[tuple[Any, ...]]:
    entries = [UrlEntry(page(n), now - timedelta(days=1)) for n in range(first, first + count)]
    file = (file_id, now)
    return [
        (*row[:-1], number % REPEATING == 0, *file)
        for number, row in enumerate(build_rows(entries, None))
    ]


async def watched(database: Database, act: Act) -> Watched:
    """Do it in a transaction that is rolled back, and tell what it looked at."""
    async with database.reading() as session:
        async with watching(session) as seen:
            await act(session)
        await session.rollback()
    return seen


def works(site: Site) -> dict[str, Act]:
    """What a worker or a client does with one domain, by what it is called in the report."""
    return {
        "URLs, first page": partial(list_domain_urls, domain_id=site.domain_id, limit=PAGE),
        "URLs, a page in the middle": partial(
            list_domain_urls,
            domain_id=site.domain_id,
            after=UrlCursor(site.middle, b"\x80"),
            limit=PAGE,
        ),
        "changes, all since the first": partial(
            list_changes, domain_id=site.domain_id, since=LONG_AGO, limit=PAGE
        ),
        "changes, going on in the middle": partial(_later_changes, site=site),
        "changes, none since": partial(
            list_changes, domain_id=site.domain_id, since=datetime.now(UTC) + HOUR, limit=PAGE
        ),
        "marking what is missing in one child": partial(_mark, site=site),
        "storing a handful of one child again": partial(_store_again, site=site),
        "counting what to import of one child": partial(
            imports.prepare, sitemap=imports.StoredSitemap(site.middle)
        ),
        "importing a chunk of one child": partial(_import_chunk, site=site),
        "the domain's URL count, when nothing changed": partial(
            count_urls,
            job=Job(id=uuid7(), job_type=JobType.SITEMAP, domain_id=site.domain_id),
            listed=len(site.files) * site.urls_each,
            is_changed=False,
        ),
        "pages, newest first": partial(_newest_pages, site=site),
    }


async def _later_changes(session: AsyncSession, site: Site) -> object:
    place = await _place_of(session, site.middle)
    return await list_changes(session, site.domain_id, since=LONG_AGO, after=place, limit=PAGE)


async def _mark(session: AsyncSession, site: Site) -> object:
    first = site.first_of_middle
    digests = [(url_digest(page(n)),) for n in range(first, first + site.urls_each - 5)]
    return await mark_missing(
        session, SitemapUrl, parent="sitemap_id", parent_id=site.middle, digests=digests
    )


async def _store_again(session: AsyncSession, site: Site) -> object:
    count = min(WORK_ROWS, site.urls_each)
    return await copy_upsert(
        session,
        SitemapUrl,
        URL_COLUMNS,
        records(site.middle, site.first_of_middle, count, datetime.now(UTC)),
        key=("sitemap_id", "url_digest"),
        changing=("lastmod",),
    )


async def _import_chunk(session: AsyncSession, site: Site) -> object:
    file = await session.get_one(SitemapFile, site.middle)
    chunk = imports.build_ranges(max(site.urls_each, 2 * imports.URLS_PER_CHUNK))[0]
    await imports.store(session, file, chunk)
    return chunk


async def _newest_pages(session: AsyncSession, site: Site) -> object:
    of_domain = select(Page).where(
        Page.tenant_id == site.actor.tenant_id, Page.domain_id == site.domain_id
    )
    return await fetch_newest_first(
        session, of_domain, at=Page.created_at, key=Page.id, cursor=None, limit=PAGE
    )


async def _place_of(session: AsyncSession, file_id: UUID) -> ChangeCursor:
    """Somewhere inside that sitemap's changes."""
    found = await session.execute(
        select(SitemapUrl.first_seen, SitemapUrl.id)
        .where(SitemapUrl.sitemap_id == file_id)
        .order_by(SitemapUrl.url_digest)
        .limit(1)
    )
    at, row_id = found.one()
    return ChangeCursor(at, row_id)
