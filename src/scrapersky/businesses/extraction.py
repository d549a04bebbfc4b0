"""Find a business's domain by the website it names, and say so where that is no site of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.extraction_storing import store_website
from scrapersky.errors import RetryLater
from scrapersky.harvest.leads import refresh_leads_of_businesses
from scrapersky.models import EXTRACTION_WORDS, LocalBusiness
from scrapersky.models.stage_names import EXTRACTION_STAGE, METADATA_STAGE
from scrapersky.pipeline.stage import Stage, Tools
from scrapersky.scraper.addresses import AddressRules
from scrapersky.scraper.failures import HostClosed
from scrapersky.scraper.websites import Website, WebsiteKind, follow, read_website
from scrapersky.settings import Pace

CHANGED = "Its website was changed while it was looked at; it is looked at again."


@dataclass(frozen=True)
class Extracted:
    """What a website field turned out to be."""

    text: str | None
    """As it stood there."""
    website: Website
    scan_interval: timedelta
    """Of a site that is new to us."""


@dataclass(frozen=True)
class Done:
    """Everything is stored; what is left is the row's own end."""


def read(business: LocalBusiness) -> str | None:
    return business.website_url


async def work(text: str | None, tools: Tools) -> AsyncIterator[Extracted | Done]:
    """What was found is stored by itself: businesses that are completed together could otherwise
    lock the site that they share crosswise."""
    rules = AddressRules.from_settings(tools.settings)
    website = read_website(text, rules=rules)
    if website.ask is not None:
        website = await _followed(website, tools, rules)
    yield Extracted(text, website, tools.settings.rescan_interval)
    yield Done()


async def _followed(website: Website, tools: Tools, rules: AddressRules) -> Website:
    try:
        return await follow(website, tools.fetch, rules=rules)
    except HostClosed as error:
        if not error.asked:
            raise
        raise RetryLater(str(error), after=timedelta(seconds=max(error.seconds_left, 1))) from error


async def store(session: AsyncSession, business: LocalBusiness, found: Extracted | Done) -> None:
    if isinstance(found, Done):
        return
    if business.website_url != found.text:
        raise RetryLater(CHANGED, after=timedelta())
    await store_website(session, business, found.website, scan_interval=found.scan_interval)


async def note_failure(session: AsyncSession, business: LocalBusiness, sentence: str) -> None:
    """A domain that it had before stays its domain."""
    business.website_kind, business.website_note = WebsiteKind.UNUSABLE.value, sentence
    await session.flush()
    await refresh_leads_of_businesses(session, [business.id])


STAGE = Stage(
    name=EXTRACTION_STAGE,
    does="Find a business's domain by its website, or say why that is no site of its own.",
    workflow="WF3",
    model=LocalBusiness,
    status="domain_extraction_status",
    words=EXTRACTION_WORDS,
    prefix="DOMAIN_EXTRACTION_SCHEDULER",
    pace=Pace(batch_size=25, max_instances=3, concurrency=8, timeout_seconds=60),
    feeds=(METADATA_STAGE,),
    read=read,
    work=work,
    store=store,
    gave_up=note_failure,
)
