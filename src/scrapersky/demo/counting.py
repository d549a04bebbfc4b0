"""All that a look at the sites needs, in one statement: what it sees belongs together."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, Subquery, func, select

from scrapersky.models import PAGE_WORDS, Contact, Domain, Job, Lead, Page, SitemapFile, SitemapUrl
from scrapersky.models.sitemaps import IMPORT_WORDS


def rows_of_all() -> Select[*tuple[Any, ...]]:
    """A row for each domain, in the order of `SiteRow`."""
    files, urls, pages, contacts = _files(), _urls(), _pages(), _contacts()
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


def _files() -> Subquery:
    importing = SitemapFile.sitemap_import_status.in_(
        (IMPORT_WORDS.queued, IMPORT_WORDS.processing)
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


def _urls() -> Subquery:
    return (
        select(SitemapFile.domain_id, func.count().label("all"))
        .join(SitemapUrl, SitemapUrl.sitemap_id == SitemapFile.id)
        .group_by(SitemapFile.domain_id)
        .subquery("urls")
    )


def _pages() -> Subquery:
    waiting = Page.page_processing_status.in_((PAGE_WORDS.queued, PAGE_WORDS.processing))
    return (
        select(
            Page.domain_id,
            func.count(Page.read_at).label("read"),
            func.count().filter(waiting).label("waiting"),
        )
        .group_by(Page.domain_id)
        .subquery("read_pages")
    )


def _contacts() -> Subquery:
    return (
        select(Contact.domain_id, func.count().label("all"))
        .group_by(Contact.domain_id)
        .subquery("found")
    )
