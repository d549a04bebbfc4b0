"""Watch the progress of every site in the database until all are done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Select, Subquery, func, select

from scrapersky.db.session import Database
from scrapersky.models import (
    JOB_STATUSES,
    PAGE_STATUSES,
    Contact,
    Domain,
    EmptyReason,
    Job,
    Lead,
    Page,
    SitemapFile,
    SitemapUrl,
)
from scrapersky.models.domains import METADATA_STATUSES, SUBMISSION_STATUSES
from scrapersky.models.sitemaps import IMPORT_STATUSES


def build_progress_query() -> Select[*tuple[Any, ...]]:
    """Select one row per domain, with columns in the order of the `SiteRow` fields."""
    files, urls, pages, contacts = _count_files(), _count_urls(), _count_pages(), _count_contacts()
    counts = (files.c.all, files.c.importing, urls.c.all, pages.c.read, pages.c.waiting)
    return (
        select(
            Domain.domain,
            Domain.status,
            Domain.attempts,
            Domain.sitemap_analysis_status,
            Job.status,
            Job.attempts,
            Lead.why_empty,
            Lead.id.is_not(None),
            *(func.coalesce(each, 0) for each in (*counts, contacts.c.all)),
        )
        .outerjoin(Job, Job.id == Domain.last_sitemap_job_id)
        .outerjoin(Lead, Lead.domain_id == Domain.id)
        .outerjoin(files, files.c.domain_id == Domain.id)
        .outerjoin(urls, urls.c.domain_id == Domain.id)
        .outerjoin(pages, pages.c.domain_id == Domain.id)
        .outerjoin(contacts, contacts.c.domain_id == Domain.id)
        .order_by(Domain.domain)
    )


def _count_files() -> Subquery:
    importing = SitemapFile.sitemap_import_status.in_(
        (IMPORT_STATUSES.queued, IMPORT_STATUSES.processing)
    )
    return (
        select(
            SitemapFile.domain_id,
            func.count().label("all"),
            func.count().filter(importing).label("importing"),
        )
        .group_by(SitemapFile.domain_id)
        .subquery("files")
    )


def _count_urls() -> Subquery:
    return (
        select(SitemapFile.domain_id, func.count().label("all"))
        .join(SitemapUrl, SitemapUrl.sitemap_id == SitemapFile.id)
        .group_by(SitemapFile.domain_id)
        .subquery("urls")
    )


def _count_pages() -> Subquery:
    waiting = Page.page_processing_status.in_((PAGE_STATUSES.queued, PAGE_STATUSES.processing))
    return (
        select(
            Page.domain_id,
            func.count(Page.read_at).label("read"),
            func.count().filter(waiting).label("waiting"),
        )
        .group_by(Page.domain_id)
        .subquery("read_pages")
    )


def _count_contacts() -> Subquery:
    return (
        select(Contact.domain_id, func.count().label("all"))
        .group_by(Contact.domain_id)
        .subquery("found")
    )


POLL_SECONDS = 0.25
MAX_WAIT_SECONDS = 180.0
"""Time limit for the whole demo. After it, the report lists the sites that did not finish."""


class SiteStep(StrEnum):
    """Stage a site has reached, in pipeline order."""

    HOME_PAGE = "home page"
    SITEMAPS = "sitemaps"
    IMPORT = "import"
    PAGES = "pages"
    LEAD = "lead"
    DONE = "done"


@dataclass(frozen=True)
class SiteProgress:
    """Progress of one site at one point in time."""

    name: str
    step: SiteStep
    waits_for_retry: bool = False
    given_up: bool = False
    attempts: int = 1
    """Attempts of the stage that needed the most."""
    sitemaps: int = 0
    urls: int = 0
    pages: int = 0
    """Pages read so far."""
    contacts: int = 0

    @property
    def has_ended(self) -> bool:
        return self.step is SiteStep.DONE


@dataclass(frozen=True)
class SiteRow:
    """Progress columns of one site, as selected by `build_progress_query`."""

    name: str
    home_page: str
    home_page_attempts: int
    submission: str
    job: str | None
    job_attempts: int | None
    why_empty: str | None
    has_lead: bool
    sitemaps: int
    importing: int
    urls: int
    pages: int
    pages_waiting: int
    contacts: int

    def build_progress(self) -> SiteProgress:
        return SiteProgress(
            self.name,
            self._step(),
            waits_for_retry=self._waits_for_retry(),
            given_up=METADATA_STATUSES.failed == self.home_page or JOB_STATUSES.failed == self.job,
            attempts=max(self.home_page_attempts, self.job_attempts or 0),
            sitemaps=self.sitemaps,
            urls=self.urls,
            pages=self.pages,
            contacts=self.contacts,
        )

    def _step(self) -> SiteStep:
        """Return the first step with work in progress.

        Steps cannot be skipped by accident: each step is queued before the previous one finishes.
        """
        under_way = {
            SiteStep.HOME_PAGE: self.home_page
            in (METADATA_STATUSES.queued, METADATA_STATUSES.processing),
            SiteStep.SITEMAPS: self.submission
            in (SUBMISSION_STATUSES.queued, SUBMISSION_STATUSES.processing)
            or self.job in (JOB_STATUSES.queued, JOB_STATUSES.processing),
            SiteStep.IMPORT: self.importing > 0,
            SiteStep.PAGES: self.pages_waiting > 0,
            SiteStep.LEAD: not self.has_lead or self.why_empty == EmptyReason.NOT_READ_YET,
        }
        return next((step for step, holds in under_way.items() if holds), SiteStep.DONE)

    def _waits_for_retry(self) -> bool:
        home_page = self.home_page == METADATA_STATUSES.queued and self.home_page_attempts > 0
        return home_page or (self.job == JOB_STATUSES.queued and bool(self.job_attempts))


async def watch_progress(
    database: Database, show: Callable[[Sequence[SiteProgress]], None]
) -> None:
    """Poll and show the progress until every site is done or `MAX_WAIT_SECONDS` have passed."""
    with suppress(TimeoutError):
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            while True:
                progress = await load_progress(database)
                show(progress)
                if all(each.has_ended for each in progress):
                    return
                await asyncio.sleep(POLL_SECONDS)


async def load_progress(database: Database) -> list[SiteProgress]:
    async with database.reading() as session:
        return [
            SiteRow(*row).build_progress() for row in await session.execute(build_progress_query())
        ]
