"""The newest domains and how far each has come, from its home page to its contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy import ScalarSelect, and_, func, or_, select, true
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import load_only

from scrapersky.dashboard.wording import url_total
from scrapersky.db.direct import number_written_out
from scrapersky.models import PAGE_WORDS, Domain, Job, Lead, Page, SitemapFile
from scrapersky.models.domains import METADATA_WORDS, NOT_ASKED, SUBMISSION_WORDS
from scrapersky.models.pages import LAST_WORTH_A_LOOK
from scrapersky.models.sitemaps import IMPORT_WORDS
from scrapersky.scraper.site_metadata.model import SiteState

SHOWN = 5
PAGES_LOOKED_AT = 200
"""Of the few kinds that may be worth reading; a site can have millions of others."""
WAITING, WORKING, DONE, FAILED, NONE = "waiting", "working", "done", "failed", "none"
STATE_OF_SITE: dict[str, str] = {
    SiteState.OK: DONE,
    SiteState.REDIRECTED: DONE,
    SiteState.DEAD: FAILED,
    SiteState.BLOCKED: FAILED,
}
"""What a home page that was asked for counts as; of the other states, nothing was gained."""
COLUMNS = (
    Domain.domain,
    Domain.status,
    Domain.sitemap_analysis_status,
    Domain.site_state,
    Domain.total_sitemaps,
    Domain.sitemap_urls,
)


@dataclass(frozen=True)
class Step:
    title: str
    state: str
    says: str


@dataclass(frozen=True)
class Progress:
    """One domain on its way."""

    id: UUID
    domain: str
    steps: Sequence[Step]

    @property
    def is_complete(self) -> bool:
        return all(each.state not in (WAITING, WORKING) for each in self.steps)


async def newest_domains(session: AsyncSession, tenant_id: UUID) -> list[Progress]:
    """Of one tenant, also for those who see the figures of all: their pages are this tenant's."""
    newest = (
        select(Domain)
        .options(load_only(*COLUMNS))
        .where(Domain.tenant_id == tenant_id)
        .order_by(Domain.created_at.desc(), Domain.id.desc())
        .limit(SHOWN)
    )
    pages = _pages()
    found = await session.execute(
        newest.add_columns(
            Job.status,
            Lead.best_email,
            func.coalesce(Lead.contacts, 0),
            Lead.why_empty,
            pages.c.read,
            pages.c.waiting,
            _importing(),
        )
        .outerjoin(Job, Job.id == Domain.last_sitemap_job_id)
        .outerjoin(Lead, Lead.domain_id == Domain.id)
        .join(pages, true())
    )
    return [_progress(*row) for row in found]


def _pages() -> Any:
    """How many of a site's likely pages were read and how many wait, by their own small index."""
    likely = (
        select(Page.read_at, Page.page_processing_status.label("status"))
        .where(
            Page.domain_id == Domain.id,
            Page.priority_level <= number_written_out(LAST_WORTH_A_LOOK),
            Page.page_type.is_not(None),
        )
        .order_by(Page.priority_level)
        .limit(PAGES_LOOKED_AT)
        .correlate(Domain)
        .subquery()
    )
    waits = likely.c.status.in_([PAGE_WORDS.queued, PAGE_WORDS.processing])
    return select(
        func.count().filter(likely.c.read_at.is_not(None)).label("read"),
        func.count().filter(waits).label("waiting"),
    ).lateral("likely_pages")


def _importing() -> ScalarSelect[bool]:
    under_way = or_(
        SitemapFile.sitemap_import_status == IMPORT_WORDS.queued,
        SitemapFile.sitemap_import_status == IMPORT_WORDS.processing,
    )
    some = select(SitemapFile.id).where(and_(SitemapFile.domain_id == Domain.id, under_way))
    return select(some.correlate(Domain).exists()).scalar_subquery()


def _progress(
    domain: Domain,
    job_status: str | None,
    email: str | None,
    contacts: int,
    why_empty: str | None,
    read: int,
    waiting: int,
    importing: bool,
) -> Progress:
    home, sitemaps = _home(domain), _sitemaps(domain, job_status)
    pages = _read_pages(read, waiting, importing=importing)
    ended = all(each.state not in (WAITING, WORKING) for each in (home, sitemaps, pages))
    lead = _contacts(email, contacts, why_empty, ended=ended)
    steps: tuple[Step, ...] = (home, sitemaps, pages, lead)
    if domain.site_state == SiteState.DEAD:  # what is known from before is no success of now
        steps = tuple(replace(each, state=NONE) if each.state == DONE else each for each in steps)
    return Progress(domain.id, domain.domain, steps)


def _home(domain: Domain) -> Step:
    words = METADATA_WORDS
    answered = STATE_OF_SITE.get(SiteState(domain.site_state or SiteState.OK), NONE)
    state, says = {
        NOT_ASKED: (NONE, "not asked for"),
        words.queued: (WAITING, "waits"),
        words.processing: (WORKING, "being read"),
        words.failed: (FAILED, "could not be read"),
    }.get(domain.status, (answered, _in_words(domain.site_state) or "read"))
    return Step("Home page", state, says)


def _sitemaps(domain: Domain, job_status: str | None) -> Step:
    status = domain.sitemap_analysis_status
    if domain.status in (METADATA_WORDS.queued, METADATA_WORDS.processing):
        return Step("Sitemaps", WAITING, "wait")
    if status in (SUBMISSION_WORDS.queued, SUBMISSION_WORDS.processing) or job_status == "pending":
        return Step("Sitemaps", WAITING, "wait")
    if job_status == "processing":
        return Step("Sitemaps", WORKING, "looked for")
    if status == SUBMISSION_WORDS.failed or job_status == "failed":
        return Step("Sitemaps", FAILED, "scan failed")
    if job_status is None:
        return Step("Sitemaps", NONE, "not looked for")
    if not domain.total_sitemaps:
        return Step("Sitemaps", NONE, "none found")
    urls = url_total(domain.sitemap_urls)
    return Step("Sitemaps", DONE, f"{domain.total_sitemaps:,} with {urls} URLs")


def _read_pages(read: int, waiting: int, *, importing: bool) -> Step:
    if importing:
        return Step("Pages", WORKING, "being taken in")
    if waiting:
        return Step("Pages", WORKING, f"{read:,} of {read + waiting:,} read")
    return Step("Pages", DONE if read else NONE, f"{read:,} read")


def _contacts(email: str | None, contacts: int, why_empty: str | None, *, ended: bool) -> Step:
    if contacts:
        says = email or ("1 found" if contacts == 1 else f"{contacts:,} found")
        return Step("Contacts", DONE, says)
    if not ended:
        return Step("Contacts", WAITING, "none yet")
    return Step("Contacts", NONE, f"none: {_in_words(why_empty)}" if why_empty else "none")


def _in_words(word: str | None) -> str:
    return str(word or "").replace("_", " ")
