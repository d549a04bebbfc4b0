"""Stage: resolve a business's website field to a domain, or record why it has none.

Lock order: the business, its domain, their lead.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import func, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.erasure_filter import remove_erased
from scrapersky.db.base import uuid7
from scrapersky.errors import RetryLater
from scrapersky.leads.build import refresh_business_leads, refresh_leads
from scrapersky.models import EXTRACTION_STATUSES, Domain, LocalBusiness, get_system_user_id
from scrapersky.models.businesses import BusinessCuration
from scrapersky.models.domains import METADATA_NOT_QUEUED, METADATA_STATUSES, UNSCHEDULED_CURATIONS
from scrapersky.models.places import NOT_QUEUED, BusinessStatus
from scrapersky.models.stage_names import EXTRACTION_STAGE, METADATA_STAGE
from scrapersky.pipeline.stage import Stage, Tools
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.scraper.http.addresses import AddressRules
from scrapersky.scraper.http.fetch_errors import HostClosed
from scrapersky.scraper.site.website import (
    Website,
    WebsiteType,
    classify_website,
    follow_short_link,
)
from scrapersky.settings import Pace

MAX_PROFILES = 50


async def store_website(
    session: AsyncSession, business: LocalBusiness, website: Website, *, scan_interval: timedelta
) -> None:
    """Store the website's type, profiles and domain. Idempotent."""
    website = await remove_erased(session, business.tenant_id, website)
    before = business.domain_id
    business.website_kind, business.website_note = website.kind.value, website.reason
    _add_profiles_and_email(business, website)
    if website.site_key is not None:
        business.site_key = website.site_key
        business.domain_id = await _link_domain(session, business, website.site_key, scan_interval)
    await session.flush()
    if before is not None and before != business.domain_id:
        await refresh_leads(session, [before])
    await refresh_business_leads(session, [business.id])


def _add_profiles_and_email(business: LocalBusiness, website: Website) -> None:
    """Add profiles and the e-mail address that were given in the website field."""
    profiles = dict.fromkeys((*business.profiles, *website.profiles))
    business.profiles = list(profiles)[:MAX_PROFILES]
    email = website.email
    if email is not None and email not in business.emails:
        business.emails = [*business.emails, email]


async def _link_domain(
    session: AsyncSession, business: LocalBusiness, name: str, scan_interval: timedelta
) -> UUID:
    """Upsert the domain and return its ID.

    A new domain is queued. An existing one that was never queued is queued now, unless it was
    curated out. The first business that led to a domain stays linked to it.
    """
    statement = insert(Domain).values(
        id=uuid7(),
        tenant_id=business.tenant_id,
        created_by=get_system_user_id(session),
        domain=name,
        scan_interval=scan_interval,
        status=METADATA_STATUSES.queued,
        local_business_id=business.id,
    )
    first = func.coalesce(Domain.local_business_id, statement.excluded.local_business_id)
    linked = await session.execute(
        statement.on_conflict_do_update(
            index_elements=[Domain.tenant_id, Domain.domain], set_={"local_business_id": first}
        ).returning(Domain.id, Domain.status)
    )
    domain_id, status = linked.one()
    if status == METADATA_NOT_QUEUED:
        await _queue_metadata(session, domain_id)
    wake_after_commit(session, METADATA_STAGE)
    target_id: UUID = domain_id
    return target_id


async def _queue_metadata(session: AsyncSession, domain_id: UUID) -> None:
    await session.execute(
        update(Domain)
        .where(Domain.id == domain_id, Domain.sitemap_curation_status.not_in(UNSCHEDULED_CURATIONS))
        .values(status=METADATA_STATUSES.queued, due_at=func.now(), attempts=0, error=None)
        .execution_options(synchronize_session=False)
    )


WEBSITE_CHANGED = "The website changed during extraction. Retrying."


@dataclass(frozen=True)
class ExtractedWebsite:
    """The classified website field."""

    text: str | None
    """The field's value when it was read."""
    website: Website
    scan_interval: timedelta
    """Scan interval for a domain that is created."""


def read(business: LocalBusiness) -> str | None:
    return business.website_url


async def work(text: str | None, tools: Tools) -> ExtractedWebsite:
    """Classify the website. A short link is followed."""
    rules = AddressRules.from_settings(tools.settings)
    website = classify_website(text, rules=rules)
    if website.ask is not None:
        website = await _follow_redirects(website, tools, rules)
    return ExtractedWebsite(text, website, tools.settings.rescan_interval)


async def _follow_redirects(website: Website, tools: Tools, rules: AddressRules) -> Website:
    try:
        return await follow_short_link(website, tools.fetch, rules=rules)
    except HostClosed as error:
        if not error.requested_by_host:
            raise
        raise RetryLater(str(error), after=timedelta(seconds=max(error.seconds_left, 1))) from error


async def store(session: AsyncSession, business: LocalBusiness, result: ExtractedWebsite) -> None:
    if business.website_url != result.text:
        raise RetryLater(WEBSITE_CHANGED, after=timedelta())
    await store_website(session, business, result.website, scan_interval=result.scan_interval)


async def store_failure(session: AsyncSession, business: LocalBusiness, sentence: str) -> None:
    """Mark the website as unusable. The business keeps a domain that it had before."""
    business.website_kind, business.website_note = WebsiteType.UNUSABLE.value, sentence
    await session.flush()
    await refresh_business_leads(session, [business.id])


STAGE = Stage(
    name=EXTRACTION_STAGE,
    does="Find a business's domain from its website field, or record why it has none.",
    workflow="WF3",
    model=LocalBusiness,
    status="domain_extraction_status",
    words=EXTRACTION_STATUSES,
    prefix="DOMAIN_EXTRACTION_SCHEDULER",
    pace=Pace(batch_size=25, max_instances=3, concurrency=8, timeout_seconds=60),
    feeds=(METADATA_STAGE,),
    read=read,
    work=work,
    store=store,
    stores_separately=True,
    gave_up=store_failure,
)


EXCLUDED_STATUSES = (BusinessCuration.NOT_A_FIT, BusinessCuration.ARCHIVED)


def queue_extraction_if_due(
    session: AsyncSession, business: LocalBusiness, *, is_changed: bool
) -> None:
    """Queue the extraction, unless the business is curated out, closed permanently or already
    extracted. `is_changed` means that the website has changed since.
    """
    is_due = is_changed or business.domain_extraction_status == NOT_QUEUED
    if not is_due or business.website_url is None or not is_extractable(business):
        return
    queue_extraction(session, business)


def is_extractable(business: LocalBusiness) -> bool:
    closed = business.business_status == BusinessStatus.CLOSED_PERMANENTLY
    return not closed and business.status not in EXCLUDED_STATUSES


def queue_extraction(session: AsyncSession, business: LocalBusiness) -> None:
    """Queue the extraction, due now. Clearing the lease fences off a worker that still holds the
    row for the former website.
    """
    business.domain_extraction_status = EXTRACTION_STATUSES.queued
    business.domain_extraction_due_at = func.now()
    business.domain_extraction_attempts, business.domain_extraction_error = 0, None
    for name in ("lease_token", "lease_expires_at", "worker_id"):
        setattr(business, f"domain_extraction_{name}", None)
    wake_after_commit(session, EXTRACTION_STAGE)


async def refresh_lead(session: AsyncSession, business: LocalBusiness) -> None:
    await refresh_business_leads(session, [business.id])
