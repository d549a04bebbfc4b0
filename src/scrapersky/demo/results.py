"""Load the stored results of the demo and compare them with what the town publishes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.demo.display import pluralize
from scrapersky.demo.search import PLACES_WITHOUT_SITE, SearchOutcome
from scrapersky.demo.sites.builder import SitemapOutcome, TownSite
from scrapersky.models import JOB_STATUSES, Contact, CostEntry, Domain, Job, Lead, Page, SitemapFile
from scrapersky.models.domains import METADATA_STATUSES
from scrapersky.pipeline.bulk import is_letter_open
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.scraper.contacts.model import ContactChannel, ExtractionMethod
from scrapersky.sitemaps import service
from scrapersky.testing import Bill


@dataclass(frozen=True)
class SiteResult:
    """Everything stored about one site."""

    site: TownSite
    domain: Domain
    lead: Lead | None = None
    contacts: Sequence[Contact] = ()
    pages: Mapping[UUID, str] = field(default_factory=dict)
    """URLs of the pages with contacts, by page id."""
    job: Job | None = None
    """Sitemap scan, or None if no scan was queued."""
    files: Sequence[SitemapFile] = ()
    urls: int = 0
    """Number of distinct URLs stored."""
    letter: DeadLetter | None = None

    @property
    def ending(self) -> SitemapOutcome | None:
        """Outcome of the sitemap scan, or None if it is unfinished or in an unexpected state."""
        if self.domain.status not in (METADATA_STATUSES.done, METADATA_STATUSES.failed):
            return None
        if self.letter is not None and self._was_given_up():
            return SitemapOutcome.FAILED
        if self.job is not None and self.job.status == JOB_STATUSES.done:
            return SitemapOutcome(self.data["outcome"])
        if self.job is None and self.domain.status == METADATA_STATUSES.done:
            return SitemapOutcome.NOT_ASKED
        return None

    def _was_given_up(self) -> bool:
        job_failed = self.job is not None and self.job.status == JOB_STATUSES.failed
        return job_failed or self.domain.status == METADATA_STATUSES.failed

    @property
    def status(self) -> str:
        """Status of the scan, or of the home page until that has been read."""
        is_read = self.domain.status == METADATA_STATUSES.done
        return self.job.status if self.job and is_read else self.domain.status

    @property
    def data(self) -> dict[str, Any]:
        return (self.job.result_data if self.job else None) or {}

    @property
    def found(self) -> dict[tuple[ContactChannel, str], Contact]:
        return {(ContactChannel(each.kind), each.value): each for each in self.contacts}

    def best(self, kind: ContactChannel) -> Contact | None:
        """Return the contact of this kind that the lead ranks first."""
        lead = self.lead
        if lead is None:
            return None
        profile = lead.profiles[0] if lead.profiles else None
        named = {
            ContactChannel.EMAIL: lead.best_email,
            ContactChannel.PHONE: lead.phone,
            ContactChannel.SOCIAL: profile,
        }
        return self.found.get((kind, named[kind] or ""))


def get_method(contact: Contact) -> ExtractionMethod:
    return ExtractionMethod(contact.method)


async def load_results(database: Database, sites: Sequence[TownSite]) -> list[SiteResult]:
    async with database.reading() as session:
        return [await _load_result(session, site) for site in sites]


async def _load_result(session: AsyncSession, site: TownSite) -> SiteResult:
    domain = (await session.scalars(select(Domain).where(Domain.domain == site.name))).one()
    job = await session.get(Job, domain.last_sitemap_job_id) if domain.last_sitemap_job_id else None
    contacts = await session.scalars(select(Contact).where(Contact.domain_id == domain.id))
    rows = (domain.id, job.id) if job else (domain.id,)
    return SiteResult(
        site=site,
        domain=domain,
        lead=await session.scalar(select(Lead).where(Lead.domain_id == domain.id)),
        contacts=contacts.all(),
        pages=await _load_page_urls(session, domain.id),
        job=job,
        files=await service.list_job_files(session, job) if job else (),
        urls=await service.count_urls(session, domain.id),
        letter=await session.scalar(
            select(DeadLetter).where(DeadLetter.row_id.in_(rows), is_letter_open())
        ),
    )


async def _load_page_urls(session: AsyncSession, domain_id: UUID) -> dict[UUID, str]:
    result = await session.execute(
        select(Page.id, Page.url)
        .join(Contact, Contact.page_id == Page.id)
        .where(Page.domain_id == domain_id)
    )
    return dict(result.all())


MAX_LEADS = 12
"""Leads shown in the report. The table itself has all of them."""


@dataclass(frozen=True)
class SearchFindings:
    """Stored results of the search, and the provider's bill."""

    begun: SearchOutcome
    leads: Sequence[Lead]
    spent_usd: Decimal
    entries: int
    """Number of requests in the cost ledger."""
    billed: int
    billed_usd: Decimal
    """`billed` and `billed_usd` are counted by the provider."""

    @property
    def without_site(self) -> Mapping[str, str | None]:
        """Why each lead without a site has no contacts, by name."""
        return {each.name or "": each.why_empty for each in self.leads if each.domain_id is None}


@dataclass(frozen=True)
class DemoOutcome:
    sites: Sequence[SiteResult]
    found: SearchFindings


async def load_findings(database: Database, search: SearchOutcome, bill: Bill) -> SearchFindings:
    async with database.reading() as session:
        leads = await session.scalars(select(Lead).order_by(Lead.contacts.desc(), Lead.name))
        spent, entries = (
            await session.execute(
                select(func.coalesce(func.sum(CostEntry.usd), 0), func.count(CostEntry.id))
            )
        ).one()
        return SearchFindings(search, leads.all(), spent, entries, bill.paid, bill.usd)


def list_search_differences(findings: SearchFindings, sites: int) -> Iterator[str]:
    """Yield a sentence for each result of the search that differs from the expected one."""
    search, extra = findings.begun, len(PLACES_WITHOUT_SITE) + 1
    if (search.places, search.businesses) != (sites + extra, sites + extra):
        yield (
            f"The search found {search.places} places and created {search.businesses} businesses; "
            f"expected {sites + extra} of each. {search.error or ''}"
        )
    for place, why in PLACES_WITHOUT_SITE:
        came = findings.without_site.get(place.name or "", "not there")
        if came != why.value:
            yield f"Lead {place.name} is {came or 'not empty'}; expected: {why.value}."
    if (findings.entries, findings.spent_usd) != (findings.billed, findings.billed_usd):
        yield (
            f"The ledger has {findings.entries} requests for {findings.spent_usd} USD; the "
            "provider "
            f"billed {findings.billed} for {findings.billed_usd} USD."
        )


def list_site_differences(result: SiteResult) -> Iterator[str]:
    yield from _compare_sitemaps(result)
    yield from _compare_contacts(result)
    yield from _compare_empty_reason(result)


def _compare_sitemaps(result: SiteResult) -> Iterator[str]:
    expected = result.site.expected
    if (result.ending, result.urls) != (expected.ending, expected.urls):
        came = _describe_outcome(result.ending or result.status, result.urls)
        expected_text = _describe_outcome(expected.ending, expected.urls)
        yield f"{result.site.name} is {came}; expected: {expected_text}."


def _describe_outcome(ending: str, urls: int) -> str:
    return f"{ending} with {pluralize(urls, 'URL')}"


def _compare_contacts(result: SiteResult) -> Iterator[str]:
    name, truth, stored = result.site.name, result.site.expected.contacts, result.found
    for key, published in truth.items():
        contact = stored.get(key)
        if contact is None:
            yield f"{name} publishes {published.value} ({published.method}), but it was not found."
        elif contact.method != published.method:
            how = f"by {contact.method}, not {published.method}"
            yield f"{name}: {published.value} was found {how}."
    for key in stored.keys() - truth.keys():
        yield f"{name} does not publish {key[1]}, but it was stored ({stored[key].method})."


def _compare_empty_reason(result: SiteResult) -> Iterator[str]:
    expected = result.site.expected.why
    came = result.lead.why_empty if result.lead else "without a lead"
    if came != expected:
        yield f"{result.site.name} is {came or 'not empty'}; expected: {expected or 'not empty'}."
