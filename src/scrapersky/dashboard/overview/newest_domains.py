"""The newest domains and their progress from home page to contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy import ScalarSelect, and_, func, or_, select, true
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import load_only

from scrapersky.dashboard.formats import url_total
from scrapersky.db.statements import inline_integer
from scrapersky.models import PAGE_STATUSES, Domain, Job, Lead, Page, SitemapFile
from scrapersky.models.domains import METADATA_NOT_QUEUED, METADATA_STATUSES, SUBMISSION_STATUSES
from scrapersky.models.pages import MAX_CONTACT_PRIORITY_LEVEL
from scrapersky.models.sitemaps import IMPORT_STATUSES
from scrapersky.scraper.site.model import SiteState

MAX_DOMAINS = 5
MAX_PAGES_COUNTED = 200
"""Limit on pages of the few kinds worth reading; a site can have millions of others."""
WAITING, WORKING, DONE, FAILED, NONE = "waiting", "working", "done", "failed", "none"
SITE_STEP_STATES: dict[str, str] = {
    SiteState.OK: DONE,
    SiteState.REDIRECTED: DONE,
    SiteState.DEAD: FAILED,
    SiteState.BLOCKED: FAILED,
}
"""Step state for a home page that was read; states not listed count as no result."""
DOMAIN_COLUMNS = (
    Domain.domain,
    Domain.status,
    Domain.sitemap_analysis_status,
    Domain.site_state,
    Domain.total_sitemaps,
    Domain.sitemap_urls,
)


@dataclass(frozen=True)
class NewestDomainStep:
    title: str
    state: str
    says: str


@dataclass(frozen=True)
class NewestDomain:
    """One domain and its progress."""

    id: UUID
    domain: str
    steps: Sequence[NewestDomainStep]

    @property
    def is_complete(self) -> bool:
        return all(each.state not in (WAITING, WORKING) for each in self.steps)


async def list_newest_domains(session: AsyncSession, tenant_id: UUID) -> list[NewestDomain]:
    """Return the newest domains of one tenant, for operators as well: the linked pages belong to
    their own tenant.
    """
    newest = (
        select(Domain)
        .options(load_only(*DOMAIN_COLUMNS))
        .where(Domain.tenant_id == tenant_id)
        .order_by(Domain.created_at.desc(), Domain.id.desc())
        .limit(MAX_DOMAINS)
    )
    pages = _build_page_counts()
    result = await session.execute(
        newest.add_columns(
            Job.status,
            Lead.best_email,
            func.coalesce(Lead.contacts, 0),
            Lead.why_empty,
            pages.c.read,
            pages.c.waiting,
            _build_importing(),
        )
        .outerjoin(Job, Job.id == Domain.last_sitemap_job_id)
        .outerjoin(Lead, Lead.domain_id == Domain.id)
        .join(pages, true())
    )
    return [_build_newest_domain(*row) for row in result]


def _build_page_counts() -> Any:
    """Count read and waiting pages of the kinds worth reading, using their partial index."""
    likely = (
        select(Page.read_at, Page.page_processing_status.label("status"))
        .where(
            Page.domain_id == Domain.id,
            Page.priority_level <= inline_integer(MAX_CONTACT_PRIORITY_LEVEL),
            Page.page_type.is_not(None),
        )
        .order_by(Page.priority_level)
        .limit(MAX_PAGES_COUNTED)
        .correlate(Domain)
        .subquery()
    )
    waits = likely.c.status.in_([PAGE_STATUSES.queued, PAGE_STATUSES.processing])
    return select(
        func.count().filter(likely.c.read_at.is_not(None)).label("read"),
        func.count().filter(waits).label("waiting"),
    ).lateral("likely_pages")


def _build_importing() -> ScalarSelect[bool]:
    under_way = or_(
        SitemapFile.sitemap_import_status == IMPORT_STATUSES.queued,
        SitemapFile.sitemap_import_status == IMPORT_STATUSES.processing,
    )
    some = select(SitemapFile.id).where(and_(SitemapFile.domain_id == Domain.id, under_way))
    return select(some.correlate(Domain).exists()).scalar_subquery()


def _build_newest_domain(
    domain: Domain,
    job_status: str | None,
    email: str | None,
    contacts: int,
    why_empty: str | None,
    read: int,
    waiting: int,
    importing: bool,
) -> NewestDomain:
    home, sitemaps = _build_home_step(domain), _build_sitemaps_step(domain, job_status)
    pages = _build_pages_step(read, waiting, importing=importing)
    ended = all(each.state not in (WAITING, WORKING) for each in (home, sitemaps, pages))
    lead = _build_contacts_step(email, contacts, why_empty, ended=ended)
    steps: tuple[NewestDomainStep, ...] = (home, sitemaps, pages, lead)
    if domain.site_state == SiteState.DEAD:  # results of earlier scans do not count as success
        steps = tuple(replace(each, state=NONE) if each.state == DONE else each for each in steps)
    return NewestDomain(domain.id, domain.domain, steps)


def _build_home_step(domain: Domain) -> NewestDomainStep:
    words = METADATA_STATUSES
    answered = SITE_STEP_STATES.get(SiteState(domain.site_state or SiteState.OK), NONE)
    state, says = {
        METADATA_NOT_QUEUED: (NONE, "not queued"),
        words.queued: (WAITING, "queued"),
        words.processing: (WORKING, "reading"),
        words.failed: (FAILED, "failed"),
    }.get(domain.status, (answered, _humanize(domain.site_state) or "read"))
    return NewestDomainStep("Home page", state, says)


def _build_sitemaps_step(domain: Domain, job_status: str | None) -> NewestDomainStep:
    status = domain.sitemap_analysis_status
    if domain.status in (METADATA_STATUSES.queued, METADATA_STATUSES.processing):
        return NewestDomainStep("Sitemaps", WAITING, "queued")
    if (
        status in (SUBMISSION_STATUSES.queued, SUBMISSION_STATUSES.processing)
        or job_status == "pending"
    ):
        return NewestDomainStep("Sitemaps", WAITING, "queued")
    if job_status == "processing":
        return NewestDomainStep("Sitemaps", WORKING, "scanning")
    if status == SUBMISSION_STATUSES.failed or job_status == "failed":
        return NewestDomainStep("Sitemaps", FAILED, "scan failed")
    if job_status is None:
        return NewestDomainStep("Sitemaps", NONE, "not scanned")
    if not domain.total_sitemaps:
        return NewestDomainStep("Sitemaps", NONE, "none found")
    urls = url_total(domain.sitemap_urls)
    return NewestDomainStep("Sitemaps", DONE, f"{domain.total_sitemaps:,} ({urls} URLs)")


def _build_pages_step(read: int, waiting: int, *, importing: bool) -> NewestDomainStep:
    if importing:
        return NewestDomainStep("Pages", WORKING, "importing")
    if waiting:
        return NewestDomainStep("Pages", WORKING, f"{read:,} of {read + waiting:,} read")
    return NewestDomainStep("Pages", DONE if read else NONE, f"{read:,} read")


def _build_contacts_step(
    email: str | None, contacts: int, why_empty: str | None, *, ended: bool
) -> NewestDomainStep:
    if contacts:
        says = email or ("1 found" if contacts == 1 else f"{contacts:,} found")
        return NewestDomainStep("Contacts", DONE, says)
    if not ended:
        return NewestDomainStep("Contacts", WAITING, "none yet")
    return NewestDomainStep(
        "Contacts", NONE, f"none: {_humanize(why_empty)}" if why_empty else "none"
    )


def _humanize(word: str | None) -> str:
    return str(word or "").replace("_", " ")
