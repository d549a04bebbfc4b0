"""What goes on once a business is known better: its website becomes a domain, its lead says so."""

from __future__ import annotations

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.harvest.leads import refresh_leads_of_businesses
from scrapersky.models.businesses import EXTRACTION_WORDS, BusinessCuration, LocalBusiness
from scrapersky.models.places import NOT_QUEUED, BusinessStatus
from scrapersky.models.stage_names import EXTRACTION_STAGE
from scrapersky.pipeline.wake import wake_after_commit

NOT_WANTED = (BusinessCuration.NOT_A_FIT, BusinessCuration.ARCHIVED)


def begin_extraction(session: AsyncSession, business: LocalBusiness, *, anew: bool) -> None:
    """By itself: not for what people sorted out, and not for what closed for good. What was done
    from this website is not done again, unless the website is another one (`anew`)."""
    is_due = anew or business.domain_extraction_status == NOT_QUEUED
    if not is_due or business.website_url is None or not is_wanted(business):
        return
    queue_extraction(session, business)


def is_wanted(business: LocalBusiness) -> bool:
    closed = business.business_status == BusinessStatus.CLOSED_PERMANENTLY
    return not closed and business.status not in NOT_WANTED


def queue_extraction(session: AsyncSession, business: LocalBusiness) -> None:
    """Due now. A worker that holds it for the former website has lost it."""
    business.domain_extraction_status = EXTRACTION_WORDS.queued
    business.domain_extraction_due_at = func.now()
    business.domain_extraction_attempts, business.domain_extraction_error = 0, None
    for name in ("lease_token", "lease_expires_at", "worker_id"):
        setattr(business, f"domain_extraction_{name}", None)
    wake_after_commit(session, EXTRACTION_STAGE)


async def refresh_lead(session: AsyncSession, business: LocalBusiness) -> None:
    await refresh_leads_of_businesses(session, [business.id])
