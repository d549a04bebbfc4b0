"""Store what a business's website turned out to be: its domain, its profiles, or why there is none.

Locks are taken in one order: the business, its domain, their lead.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy import func, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.harvest.erasure_filter import remove_erased
from scrapersky.harvest.leads import refresh_leads, refresh_leads_of_businesses
from scrapersky.models import Domain, LocalBusiness, get_system_user_id
from scrapersky.models.domains import METADATA_WORDS, NEVER_DUE, NOT_ASKED
from scrapersky.models.stage_names import METADATA_STAGE
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.scraper.websites import Website

MOST_PROFILES = 50


async def store_website(
    session: AsyncSession, business: LocalBusiness, website: Website, *, scan_interval: timedelta
) -> None:
    """May happen twice: what is linked is linked, and what is known is not added again."""
    website = await remove_erased(session, business.tenant_id, website)
    before = business.domain_id
    business.website_kind, business.website_note = website.kind.value, website.reason
    _keep_ways_to_reach(business, website)
    if website.site_key is not None:
        business.site_key = website.site_key
        business.domain_id = await _link_domain(session, business, website.site_key, scan_interval)
    await session.flush()
    if before is not None and before != business.domain_id:
        await refresh_leads(session, [before])
    await refresh_leads_of_businesses(session, [business.id])


def _keep_ways_to_reach(business: LocalBusiness, website: Website) -> None:
    """Profiles and addresses that stood in the field are the business's, if no site of its own."""
    profiles = dict.fromkeys((*business.profiles, *website.profiles))
    business.profiles = list(profiles)[:MOST_PROFILES]
    email = website.email
    if email is not None and email not in business.emails:
        business.emails = [*business.emails, email]


async def _link_domain(
    session: AsyncSession, business: LocalBusiness, name: str, scan_interval: timedelta
) -> UUID:
    """One that is new waits to be read; one that was only stored is asked for now, unless people
    put it aside. Whichever business came first stays the one that led to it."""
    adding = insert(Domain).values(
        id=uuid7(),
        tenant_id=business.tenant_id,
        created_by=get_system_user_id(session),
        domain=name,
        scan_interval=scan_interval,
        status=METADATA_WORDS.queued,
        local_business_id=business.id,
    )
    first = func.coalesce(Domain.local_business_id, adding.excluded.local_business_id)
    linked = await session.execute(
        adding.on_conflict_do_update(
            index_elements=[Domain.tenant_id, Domain.domain], set_={"local_business_id": first}
        ).returning(Domain.id, Domain.status)
    )
    domain_id, status = linked.one()
    if status == NOT_ASKED:
        await _ask_for(session, domain_id)
    wake_after_commit(session, METADATA_STAGE)
    found: UUID = domain_id
    return found


async def _ask_for(session: AsyncSession, domain_id: UUID) -> None:
    await session.execute(
        update(Domain)
        .where(Domain.id == domain_id, Domain.sitemap_curation_status.not_in(NEVER_DUE))
        .values(status=METADATA_WORDS.queued, due_at=func.now(), attempts=0, error=None)
        .execution_options(synchronize_session=False)
    )
