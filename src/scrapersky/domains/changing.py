"""Look at a domain again now, whatever its rhythm says; delete it with all that is below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import NotFound
from scrapersky.jobs.service import is_active
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
from scrapersky.models.domains import METADATA_WORDS, NOT_ASKED, SUBMISSION_WORDS
from scrapersky.models.jobs import CANCELLED
from scrapersky.models.stage_names import METADATA_STAGE, SUBMISSION_STAGE
from scrapersky.pipeline.bulk_acts import patiently
from scrapersky.pipeline.queue import queue_columns
from scrapersky.pipeline.wake import wake_after_commit

ROWS_AT_ONCE = 100_000
"""Deleted by one request at most: a second or two. A domain may have a hundred times as many."""


@dataclass(frozen=True)
class Refreshed:
    """What begins now; what is under way already goes on as it is."""

    domain_id: UUID
    metadata_queued: bool
    sitemaps_queued: bool
    active_job_id: UUID | None


@dataclass(frozen=True)
class Deleted:
    domain_id: UUID
    deleted_rows: int
    """URLs, contacts and pages."""
    cancelled_jobs: int
    finished: bool
    """Whether the domain itself is gone; otherwise there is more to delete."""


async def domain_id_of(session: AsyncSession, actor: Actor, name: str) -> UUID:
    found = await session.scalar(
        select(Domain.id).where(Domain.tenant_id == actor.tenant_id, Domain.domain == name)
    )
    if found is None:
        raise NotFound(f"There is no domain {name}.")
    return found


async def refresh_domain(session: AsyncSession, actor: Actor, domain_id: UUID) -> Refreshed:
    """Its home page is read and its sitemaps are looked for, as if it had just been handed in."""
    domain = await session.scalar(
        select(Domain)
        .where(Domain.id == domain_id, Domain.tenant_id == actor.tenant_id)
        .with_for_update(key_share=True)
    )
    if domain is None:
        raise NotFound(f"There is no domain {domain_id}.")
    active = await _active_scan(session, domain_id)
    metadata = _begin(domain, "status", METADATA_WORDS)
    sitemaps = active is None and _begin(domain, "sitemap_analysis_status", SUBMISSION_WORDS)
    domain.next_scan_at, domain.next_scan_why = func.now(), "Somebody asked for it."
    wake_after_commit(session, METADATA_STAGE, SUBMISSION_STAGE)
    record(session, actor, "domain.refresh", domain_id, metadata=metadata, sitemaps=sitemaps)
    return Refreshed(domain_id, metadata, sitemaps, active)


async def _active_scan(session: AsyncSession, domain_id: UUID) -> UUID | None:
    found: UUID | None = await session.scalar(
        select(Job.id).where(
            Job.domain_id == domain_id, Job.job_type == JobType.SITEMAP, is_active()
        )
    )
    return found


def _begin(domain: Domain, status: str, words: Any) -> bool:
    """A row that is being worked is left to its worker; one that waits need not wait longer."""
    queue = queue_columns(Domain, status)
    if queue.of(domain).status == words.processing:
        return False
    values = {"status": words.queued, "due_at": func.now(), "attempts": 0, "error": None}
    for name, value in values.items():
        setattr(domain, getattr(queue, name).key, value)
    return True


async def delete_domain(
    session: AsyncSession, actor: Actor, domain_id: UUID, *, at_most: int = ROWS_AT_ONCE
) -> Deleted:
    """From the bottom up. One that has too many rows for one transaction loses some of them and is
    put aside; whoever asks again goes on."""
    deleted = await patiently(session, lambda: _delete(session, actor, domain_id, at_most))
    facts = {"rows": deleted.deleted_rows, "finished": deleted.finished}
    record(session, actor, "domain.delete", domain_id, **facts)
    return deleted


async def _delete(session: AsyncSession, actor: Actor, domain_id: UUID, at_most: int) -> Deleted:
    # Jobs before the domain, as scans that end lock them.
    cancelled = await _cancel_jobs(session, domain_id)
    await _put_aside(session, actor, domain_id)
    rows = 0
    for statement in _below(domain_id):
        rows += await _count(session, statement(at_most - rows))
        if rows >= at_most:
            return Deleted(domain_id, rows, cancelled, finished=False)
    await session.execute(_quietly(delete(Domain).where(Domain.id == domain_id)))
    return Deleted(domain_id, rows, cancelled, finished=True)


async def _cancel_jobs(session: AsyncSession, domain_id: UUID) -> int:
    return await _count(
        session,
        update(Job)
        .where(Job.domain_id == domain_id, is_active())
        .values(
            status=CANCELLED,
            lease_token=None,
            lease_expires_at=None,
            worker_id=None,
            finished_at=func.now(),
            error="Its domain was deleted.",
        ),
    )


async def _put_aside(session: AsyncSession, actor: Actor, domain_id: UUID) -> None:
    """Nobody works it or looks at it again: a worker that holds it now has lost it."""
    values: dict[Any, Any] = {Domain.sitemap_curation_status: DomainCuration.ARCHIVED}
    for status, word in (("status", NOT_ASKED), ("sitemap_analysis_status", "pending")):
        queue = queue_columns(Domain, status)
        values[queue.status] = word
        values |= {queue.lease_token: None, queue.lease_expires_at: None, queue.worker_id: None}
    found = await _count(
        session,
        update(Domain)
        .where(Domain.id == domain_id, Domain.tenant_id == actor.tenant_id)
        .values(values),
    )
    if not found:
        raise NotFound(f"There is no domain {domain_id}.")


def _below(domain_id: UUID) -> Iterator[Any]:
    """The URLs first: nothing can be imported from those that are gone. Contacts before the pages
    they point at. What is left goes with the domain itself."""
    files = select(SitemapFile.id).where(SitemapFile.domain_id == domain_id)
    url_key = (SitemapUrl.sitemap_id, SitemapUrl.url_digest)
    urls = select(*url_key).where(SitemapUrl.sitemap_id.in_(files))
    yield lambda limit: delete(SitemapUrl).where(tuple_(*url_key).in_(urls.limit(limit)))
    contacts = select(Contact.id).where(Contact.domain_id == domain_id)
    yield lambda limit: delete(Contact).where(Contact.id.in_(contacts.limit(limit)))
    pages = select(Page.id).where(Page.domain_id == domain_id)
    yield lambda limit: delete(Page).where(Page.id.in_(pages.limit(limit)))


async def _count(session: AsyncSession, statement: Any) -> int:
    done = await session.execute(_quietly(statement))
    return int(done.rowcount)  # type: ignore[attr-defined]


def _quietly(statement: Any) -> Any:
    return statement.execution_options(synchronize_session=False)
