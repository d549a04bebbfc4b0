"""Leads of two businesses that became one: what people decided about them is kept."""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import Lead, LeadCuration
from scrapersky.models.businesses import LocalBusiness


async def join_leads(session: AsyncSession, keep: LocalBusiness, give_up: LocalBusiness) -> None:
    """A site's lead stays the site's; of two leads without a site one is left."""
    await session.execute(
        update(Lead)
        .where(Lead.local_business_id == give_up.id, Lead.domain_id.is_not(None))
        .values(local_business_id=keep.id)
        .execution_options(synchronize_session=False)
    )
    other = await _own_lead(session, give_up)
    if other is None:
        return
    mine = await _lead_of_site(session, keep) or await _own_lead(session, keep)
    if mine is None:
        other.local_business_id = keep.id
    else:
        if mine.lead_curation_status == LeadCuration.NEW:
            mine.lead_curation_status = other.lead_curation_status
        await session.delete(other)
    await session.flush()


async def _own_lead(session: AsyncSession, business: LocalBusiness) -> Lead | None:
    wanted = select(Lead).where(Lead.local_business_id == business.id, Lead.domain_id.is_(None))
    found: Lead | None = await session.scalar(wanted.with_for_update())
    return found


async def _lead_of_site(session: AsyncSession, business: LocalBusiness) -> Lead | None:
    if business.domain_id is None:
        return None
    wanted = select(Lead).where(Lead.domain_id == business.domain_id)
    found: Lead | None = await session.scalar(wanted.with_for_update())
    return found
