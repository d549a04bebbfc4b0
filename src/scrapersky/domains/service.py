"""Import, refresh and delete domains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, cast, delete, func, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import NotFound
from scrapersky.jobs.service import is_active
from scrapersky.lists.imports import Importer, ImportSubject, StoredEntry
from scrapersky.lists.imports.rows import ImportContext
from scrapersky.lists.imports.sites import SiteParser, store_sites
from scrapersky.models import (
    Actor,
    Contact,
    Domain,
    DomainCuration,
    Job,
    JobType,
    Page,
    SitemapFile,
    SitemapUrl,
    record,
)
from scrapersky.models.domains import METADATA_NOT_QUEUED, METADATA_STATUSES, SUBMISSION_STATUSES
from scrapersky.models.jobs import CANCELLED
from scrapersky.models.stage_names import METADATA_STAGE, SUBMISSION_STAGE
from scrapersky.pipeline.bulk import retry_on_conflict
from scrapersky.pipeline.queue import queue_columns
from scrapersky.pipeline.wake import wake_after_commit

MAX_ROWS_PER_REQUEST = 100_000
"""Rows deleted by one request, which takes a second or two. A domain may have a hundred times as
many.
"""


@dataclass(frozen=True)
class DomainRefresh:
    """What a refresh queued. Work that was already running is not affected."""

    domain_id: UUID
    metadata_queued: bool
    sitemaps_queued: bool
    active_job_id: UUID | None


@dataclass(frozen=True)
class DomainDeletion:
    domain_id: UUID
    deleted_rows: int
    """URLs, contacts and pages deleted by this call."""
    cancelled_jobs: int
    finished: bool
    """Whether the domain itself is deleted; if not, call again."""


async def get_domain_id(session: AsyncSession, actor: Actor, name: str) -> UUID:
    domain_id = await session.scalar(
        select(Domain.id).where(Domain.tenant_id == actor.tenant_id, Domain.domain == name)
    )
    if domain_id is None:
        raise NotFound(f"There is no domain {name}.")
    return domain_id


async def refresh_domain(session: AsyncSession, actor: Actor, domain_id: UUID) -> DomainRefresh:
    """Queue the home page and the sitemap scan of a domain, as for a newly imported one."""
    domain = await session.scalar(
        select(Domain)
        .where(Domain.id == domain_id, Domain.tenant_id == actor.tenant_id)
        .with_for_update(key_share=True)
    )
    if domain is None:
        raise NotFound(f"There is no domain {domain_id}.")
    active = await _find_active_scan(session, domain_id)
    metadata = _queue_stage(domain, "status", METADATA_STATUSES)
    sitemaps = active is None and _queue_stage(
        domain, "sitemap_analysis_status", SUBMISSION_STATUSES
    )
    domain.next_scan_at, domain.next_scan_why = func.now(), "Requested by a user."
    wake_after_commit(session, METADATA_STAGE, SUBMISSION_STAGE)
    record(session, actor, "domain.refresh", domain_id, metadata=metadata, sitemaps=sitemaps)
    return DomainRefresh(domain_id, metadata, sitemaps, active)


async def _find_active_scan(session: AsyncSession, domain_id: UUID) -> UUID | None:
    active_scan: UUID | None = await session.scalar(
        select(Job.id).where(
            Job.domain_id == domain_id, Job.job_type == JobType.SITEMAP, is_active()
        )
    )
    return active_scan


def _queue_stage(domain: Domain, status: str, words: Any) -> bool:
    """Queue the row, due now, and return whether it was queued. A row that is being processed is
    skipped.
    """
    queue = queue_columns(Domain, status)
    if queue.of(domain).status == words.processing:
        return False
    values = {"status": words.queued, "due_at": func.now(), "attempts": 0, "error": None}
    for name, value in values.items():
        setattr(domain, getattr(queue, name).key, value)
    return True


async def delete_domain(
    session: AsyncSession, actor: Actor, domain_id: UUID, *, at_most: int = MAX_ROWS_PER_REQUEST
) -> DomainDeletion:
    """Delete a domain from the bottom up, at most `at_most` rows per call.

    A domain with more rows is archived and loses some of them. Call again to continue.
    """
    deleted = await retry_on_conflict(
        session, lambda: _delete_rows(session, actor, domain_id, at_most)
    )
    facts = {"rows": deleted.deleted_rows, "finished": deleted.finished}
    record(session, actor, "domain.delete", domain_id, **facts)
    return deleted


async def _delete_rows(
    session: AsyncSession, actor: Actor, domain_id: UUID, at_most: int
) -> DomainDeletion:
    # Lock jobs before the domain, in the same order as scans that settle.
    cancelled = await _cancel_jobs(session, domain_id)
    await _archive(session, actor, domain_id)
    rows = 0
    for statement in _build_deletes(domain_id):
        rows += await _execute_and_count(session, statement(at_most - rows))
        if rows >= at_most:
            return DomainDeletion(domain_id, rows, cancelled, finished=False)
    await session.execute(_skip_synchronization(delete(Domain).where(Domain.id == domain_id)))
    return DomainDeletion(domain_id, rows, cancelled, finished=True)


async def _cancel_jobs(session: AsyncSession, domain_id: UUID) -> int:
    return await _execute_and_count(
        session,
        update(Job)
        .where(Job.domain_id == domain_id, is_active())
        .values(
            status=CANCELLED,
            lease_token=None,
            lease_expires_at=None,
            worker_id=None,
            finished_at=func.now(),
            error="The domain was deleted.",
        ),
    )


async def _archive(session: AsyncSession, actor: Actor, domain_id: UUID) -> None:
    """Take the domain out of every queue and clear its leases, so that a worker holding it is
    fenced off.
    """
    values: dict[Any, Any] = {Domain.sitemap_curation_status: DomainCuration.ARCHIVED}
    for status, word in (("status", METADATA_NOT_QUEUED), ("sitemap_analysis_status", "pending")):
        queue = queue_columns(Domain, status)
        values[queue.status] = word
        values |= {queue.lease_token: None, queue.lease_expires_at: None, queue.worker_id: None}
    count = await _execute_and_count(
        session,
        update(Domain)
        .where(Domain.id == domain_id, Domain.tenant_id == actor.tenant_id)
        .values(values),
    )
    if not count:
        raise NotFound(f"There is no domain {domain_id}.")


def _build_deletes(domain_id: UUID) -> Iterator[Any]:
    """Yield the deletes in order: URLs first, so that no import can recreate pages from them, then
    contacts, then the pages they reference. Deleting the domain cascades to the rest.
    """
    files = select(SitemapFile.id).where(SitemapFile.domain_id == domain_id)
    url_key = (SitemapUrl.sitemap_id, SitemapUrl.url_digest)
    urls = select(*url_key).where(SitemapUrl.sitemap_id.in_(files))
    yield lambda limit: delete(SitemapUrl).where(tuple_(*url_key).in_(urls.limit(limit)))
    contacts = select(Contact.id).where(Contact.domain_id == domain_id)
    yield lambda limit: delete(Contact).where(Contact.id.in_(contacts.limit(limit)))
    pages = select(Page.id).where(Page.domain_id == domain_id)
    yield lambda limit: delete(Page).where(Page.id.in_(pages.limit(limit)))


async def _execute_and_count(session: AsyncSession, statement: Any) -> int:
    done = await session.execute(_skip_synchronization(statement))
    return int(done.rowcount)  # type: ignore[attr-defined]


def _skip_synchronization(statement: Any) -> Any:
    return statement.execution_options(synchronize_session=False)


DOMAIN_IMPORT_KIND = ImportSubject(
    "domain",
    (
        "domain", "domains", "domain name", "website", "websites", "website url", "webseite",
        "internetadresse", "internetseite", "homepage", "web", "web address", "webadresse",
        "web site", "site web", "sitio web", "página web", "sito web", "sito", "webbplats",
        "hemsida", "strona www", "company website", "company domain", "root domain", "host",
        "hostname", "www", "site", "site url", "url", "urls", "link", "links", "internet", "сайт",
        "网站", "网址", "ホームページ",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DomainEntry:
    key: str
    """The normalised domain name."""


def parse_domain_entry(text: str, reader: SiteParser) -> DomainEntry:
    return DomainEntry(reader.parse(text).key)


async def store_domain_entries(
    import_context: ImportContext, entries: Sequence[DomainEntry]
) -> dict[str, StoredEntry]:
    """Insert new domains and queue existing ones that were stored without being queued."""
    status = METADATA_STATUSES.queued if import_context.queue else METADATA_NOT_QUEUED
    names = [each.key for each in entries]
    stored = await store_sites(
        import_context.session, import_context.actor, import_context.settings, names, status=status
    )
    there = [domain_id for domain_id, is_new in stored.values() if not is_new]
    queued = await _queue_unread(import_context, there) if import_context.queue and there else set()
    if import_context.queue:
        wake_after_commit(import_context.session, METADATA_STAGE)
    return {
        name: StoredEntry(
            domain_id, is_new, queued=import_context.queue and (is_new or domain_id in queued)
        )
        for name, (domain_id, is_new) in stored.items()
    }


async def _queue_unread(import_context: ImportContext, ids: Sequence[UUID]) -> set[UUID]:
    queued = await import_context.session.scalars(
        update(Domain)
        .where(Domain.id == func.any(cast(ids, ARRAY(Uuid))), Domain.status == METADATA_NOT_QUEUED)
        .values(status=METADATA_STATUSES.queued, due_at=func.now(), attempts=0, error=None)
        .returning(Domain.id)
        .execution_options(synchronize_session=False)
    )
    return set(queued)


DOMAIN_IMPORT = Importer(
    DOMAIN_IMPORT_KIND, parse_domain_entry, store_domain_entries, "domain.hand_in"
)
