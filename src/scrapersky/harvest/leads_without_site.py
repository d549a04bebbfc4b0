"""Leads of businesses that have no site of their own, until they have one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.harvest.leads_told import told_of
from scrapersky.harvest.leads_writing import write_lead_without_site
from scrapersky.models import Lead, LeadCuration, LocalBusiness, get_system_user_id


async def refresh_leads_without_site(
    session: AsyncSession, businesses: Sequence[LocalBusiness]
) -> None:
    """One whose website was not looked at yet has none, unless it had one before."""
    if not businesses:
        return
    await _add_missing(session, [each for each in businesses if _is_known_to_have_none(each)])
    leads = await _leads_of(session, [each.id for each in businesses])
    told = await told_of(session, [each for each in businesses if each.id in leads], {})
    for business_id, each in told.items():
        write_lead_without_site(leads[business_id], each)
    await session.flush()


def _is_known_to_have_none(business: LocalBusiness) -> bool:
    return not business.website_url or business.website_kind is not None


async def _add_missing(session: AsyncSession, businesses: Sequence[LocalBusiness]) -> None:
    if not businesses:
        return
    adding = insert(Lead).values(
        [
            {
                "id": uuid7(),
                "tenant_id": each.tenant_id,
                "created_by": get_system_user_id(session),
                "local_business_id": each.id,
            }
            for each in sorted(businesses, key=lambda each: each.id)
        ]
    )
    await session.execute(
        adding.on_conflict_do_nothing(
            index_elements=[Lead.local_business_id], index_where=Lead.domain_id.is_(None)
        )
    )


async def _leads_of(session: AsyncSession, business_ids: Sequence[UUID]) -> Mapping[UUID, Lead]:
    found = await session.scalars(
        select(Lead)
        .where(Lead.domain_id.is_(None), Lead.local_business_id.in_(business_ids))
        .order_by(Lead.local_business_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return {each.local_business_id: each for each in found if each.local_business_id is not None}


async def replace_by_site(session: AsyncSession, domains: Mapping[UUID, UUID]) -> None:
    """These businesses (each with its domain) have a site now, and are in its lead: what people
    decided about their own leads is carried over to one that nobody has decided about."""
    if not domains:
        return
    mine = await _leads_of(session, list(domains))
    if not mine:
        return
    found = await session.scalars(
        select(Lead).where(Lead.domain_id.in_({domains[each] for each in mine}))
    )
    of_site = {each.domain_id: each for each in found}
    for business_id, lead in mine.items():
        _carry_over(lead, of_site[domains[business_id]])
    await session.flush()
    await session.execute(delete(Lead).where(Lead.id.in_([each.id for each in mine.values()])))


def _carry_over(old: Lead, new: Lead) -> None:
    if new.lead_curation_status == LeadCuration.NEW:
        new.lead_curation_status = old.lead_curation_status
