"""What each site came to, as it is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.demo.site import Ending, TownSite
from scrapersky.models import JOB_WORDS, Contact, Domain, Job, Lead, Page, SitemapFile
from scrapersky.models.domains import METADATA_WORDS
from scrapersky.pipeline.closing import is_open
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.scraper.contact_finder import Kind, Method
from scrapersky.sitemaps import service


@dataclass(frozen=True)
class Result:
    """Everything stored about one site."""

    site: TownSite
    domain: Domain
    lead: Lead | None = None
    contacts: Sequence[Contact] = ()
    pages: Mapping[UUID, str] = field(default_factory=dict)
    """Addresses of the pages that contacts stand on."""
    job: Job | None = None
    """Its scan; nothing where there was nothing to look for."""
    files: Sequence[SitemapFile] = ()
    urls: int = 0
    """Stored, each once."""
    letter: DeadLetter | None = None

    @property
    def ending(self) -> Ending | None:
        """None while it has not ended, or when it ended as nothing should."""
        if self.domain.status not in (METADATA_WORDS.done, METADATA_WORDS.failed):
            return None
        if self.letter is not None and self._was_given_up():
            return Ending.FAILED
        if self.job is not None and self.job.status == JOB_WORDS.done:
            return Ending(self.data["outcome"])
        if self.job is None and self.domain.status == METADATA_WORDS.done:
            return Ending.NOT_ASKED
        return None

    def _was_given_up(self) -> bool:
        job_failed = self.job is not None and self.job.status == JOB_WORDS.failed
        return job_failed or self.domain.status == METADATA_WORDS.failed

    @property
    def status(self) -> str:
        """Of its scan, once its home page was read."""
        is_read = self.domain.status == METADATA_WORDS.done
        return self.job.status if self.job and is_read else self.domain.status

    @property
    def data(self) -> dict[str, Any]:
        return (self.job.result_data if self.job else None) or {}

    @property
    def found(self) -> dict[tuple[Kind, str], Contact]:
        return {(Kind(each.kind), each.value): each for each in self.contacts}

    def best(self, kind: Kind) -> Contact | None:
        """The one that the lead names."""
        lead = self.lead
        if lead is None:
            return None
        profile = lead.profiles[0] if lead.profiles else None
        named = {Kind.EMAIL: lead.best_email, Kind.PHONE: lead.phone, Kind.SOCIAL: profile}
        return self.found.get((kind, named[kind] or ""))


def method_of(contact: Contact) -> Method:
    return Method(contact.method)


async def read_results(database: Database, sites: Sequence[TownSite]) -> list[Result]:
    async with database.reading() as session:
        return [await _result(session, site) for site in sites]


async def _result(session: AsyncSession, site: TownSite) -> Result:
    domain = (await session.scalars(select(Domain).where(Domain.domain == site.name))).one()
    job = await session.get(Job, domain.last_sitemap_job_id) if domain.last_sitemap_job_id else None
    contacts = await session.scalars(select(Contact).where(Contact.domain_id == domain.id))
    rows = (domain.id, job.id) if job else (domain.id,)
    return Result(
        site=site,
        domain=domain,
        lead=await session.scalar(select(Lead).where(Lead.domain_id == domain.id)),
        contacts=contacts.all(),
        pages=await _pages(session, domain.id),
        job=job,
        files=await service.files_of_job(session, job) if job else (),
        urls=await service.count_urls(session, domain.id),
        letter=await session.scalar(
            select(DeadLetter).where(DeadLetter.row_id.in_(rows), is_open())
        ),
    )


async def _pages(session: AsyncSession, domain_id: UUID) -> dict[UUID, str]:
    found = await session.execute(
        select(Page.id, Page.url)
        .join(Contact, Contact.page_id == Page.id)
        .where(Page.domain_id == domain_id)
    )
    return dict(found.all())
