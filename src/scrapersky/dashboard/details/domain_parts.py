"""What is asked of the database for a domain's page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Select, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import PAGE_WORDS, Contact, Domain, Job, Page, SitemapFile
from scrapersky.models.pages import LAST_WORTH_A_LOOK
from scrapersky.models.sitemaps import IMPORT_WORDS

T = TypeVar("T")

PAGES_COUNTED = 50_000
"""Of a site with more, the counts are of so many."""
PAGES_SHOWN = 12
CONTACTS_SHOWN = 12
JOBS_SHOWN = 30
RETRIED_AT_ONCE = 200


@dataclass(frozen=True)
class Kind:
    """Pages of one kind."""

    page_type: str | None
    pages: int
    read: int
    contacts: int


@dataclass(frozen=True)
class PageCounts:
    kinds: tuple[Kind, ...]
    statuses: Counter[str]
    total: int

    @property
    def is_whole(self) -> bool:
        return self.total < PAGES_COUNTED


async def page_counts(session: AsyncSession, domain_id: UUID) -> PageCounts:
    some = (
        select(Page.page_type, Page.page_processing_status, Page.contacts_found)
        .where(Page.domain_id == domain_id)
        .limit(PAGES_COUNTED)
        .subquery()
    )
    kind, status, found = some.c
    counted = await session.execute(
        select(kind, status, func.count(), func.coalesce(func.sum(found), 0)).group_by(kind, status)
    )
    rows = [(word, state, int(pages), int(seen)) for word, state, pages, seen in counted]
    statuses: Counter[str] = Counter()
    for _, state, pages, _ in rows:
        statuses[state] += pages
    return PageCounts(_kinds(rows), statuses, statuses.total())


def _kinds(rows: Sequence[tuple[str | None, str, int, int]]) -> tuple[Kind, ...]:
    kinds = {word: Kind(word, 0, 0, 0) for word, *_ in rows}
    for word, state, pages, seen in rows:
        kind, read = kinds[word], pages if state == PAGE_WORDS.done else 0
        kinds[word] = Kind(word, kind.pages + pages, kind.read + read, kind.contacts + seen)
    return tuple(sorted(kinds.values(), key=lambda each: (-each.contacts, -each.read, -each.pages)))


async def first_pages(session: AsyncSession, domain_id: UUID) -> Sequence[Page]:
    """Those of the kinds that are read for contacts; where there are none, the newest."""
    mine = select(Page).where(Page.domain_id == domain_id).limit(PAGES_SHOWN)
    worth = mine.where(Page.priority_level <= LAST_WORTH_A_LOOK, Page.page_type.is_not(None))
    found = (await session.scalars(worth.order_by(Page.priority_level))).all()
    return found or (await session.scalars(mine.order_by(Page.created_at.desc()))).all()


async def failed_pages(session: AsyncSession, domain_id: UUID) -> Sequence[UUID]:
    found = await session.scalars(
        select(Page.id)
        .where(Page.domain_id == domain_id, Page.page_processing_status == PAGE_WORDS.failed)
        .limit(RETRIED_AT_ONCE)
    )
    return found.all()


def rows_under_way(domain_id: UUID) -> Select[bool]:
    """Whether sitemaps are still to be imported, or pages of the kinds worth reading to be read:
    two looks at small parts of indexes."""
    pages = select(Page.id).where(
        Page.domain_id == domain_id,
        Page.priority_level <= LAST_WORTH_A_LOOK,
        Page.page_type.is_not(None),
        Page.page_processing_status.in_([PAGE_WORDS.queued, PAGE_WORDS.processing]),
    )
    files = select(SitemapFile.id).where(
        SitemapFile.domain_id == domain_id,
        SitemapFile.sitemap_import_status.in_([IMPORT_WORDS.queued, IMPORT_WORDS.processing]),
    )
    return select(or_(pages.exists(), files.exists()))


async def first_contacts(session: AsyncSession, domain_id: UUID) -> tuple[Sequence[Contact], int]:
    """The surest ones, and how many there are."""
    return await _counted(
        session,
        select(Contact, func.count().over())
        .where(Contact.domain_id == domain_id)
        .order_by(Contact.kind, Contact.confidence.desc(), Contact.value)
        .limit(CONTACTS_SHOWN),
    )


async def last_jobs(session: AsyncSession, domain_id: UUID) -> tuple[Sequence[Job], int]:
    """The newest ones, and how many there are."""
    return await _counted(
        session,
        select(Job, func.count().over())
        .where(Job.domain_id == domain_id)
        .order_by(Job.created_at.desc(), Job.id.desc())
        .limit(JOBS_SHOWN),
    )


async def _counted(session: AsyncSession, wanted: Select[T, int]) -> tuple[Sequence[T], int]:
    rows = (await session.execute(wanted)).all()
    return [each for each, _ in rows], rows[0][1] if rows else 0


def stamps(domain: Domain, job: Job | None) -> tuple[Any, ...]:
    """They differ whenever something about the site was stored."""
    last = (job.id, job.status, job.progress, job.finished_at) if job else ()
    return (domain.updated_at, domain.status, domain.sitemap_analysis_status, *last)
