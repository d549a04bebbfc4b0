"""Leads: what is known of each business, made anew from its contacts, pages and site."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from sqlalchemy import case, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.harvest.emptiness import PagesOfSite
from scrapersky.harvest.leads_told import told_of_domains
from scrapersky.harvest.leads_without_site import refresh_leads_without_site, replace_by_site
from scrapersky.harvest.leads_writing import Known, write_lead
from scrapersky.harvest.picking import is_worth_a_look
from scrapersky.harvest.suppressing import ways_to_be_suppressed
from scrapersky.models import (
    PAGE_WORDS,
    BulkActionRows,
    Contact,
    ContactCuration,
    Domain,
    Lead,
    LocalBusiness,
    Page,
    get_system_user_id,
)

AT_ONCE = 500
MOST_OF_A_LEAD = 500
"""Contacts that a lead is made from."""


async def hold_lead(session: AsyncSession, row: Page | Domain) -> None:
    """Until the transaction ends nobody else stores anything for this domain."""
    domain_id = row.domain_id if isinstance(row, Page) else row.id
    adding = insert(Lead).values(
        id=uuid7(),
        tenant_id=row.tenant_id,
        created_by=get_system_user_id(session),
        domain_id=domain_id,
    )
    await session.execute(adding.on_conflict_do_nothing(index_elements=[Lead.domain_id]))
    await session.execute(select(Lead.id).where(Lead.domain_id == domain_id).with_for_update())


async def refresh_leads(session: AsyncSession, domain_ids: Collection[UUID]) -> None:
    """Make the leads of these domains say what is known now; what people decided stays."""
    ids = sorted(set(domain_ids))
    for start in range(0, len(ids), AT_ONCE):
        await _refresh(session, ids[start : start + AT_ONCE])


async def refresh_leads_of_businesses(
    session: AsyncSession, business_ids: Collection[UUID]
) -> None:
    """Make the leads that these businesses are in say what is known now. One whose website nobody
    has looked at yet gets none: where it belongs is found out first."""
    ids = sorted(set(business_ids))
    for start in range(0, len(ids), AT_ONCE):
        found = await session.scalars(
            select(LocalBusiness)
            .where(LocalBusiness.id.in_(ids[start : start + AT_ONCE]))
            .order_by(LocalBusiness.id)
        )
        businesses = list(found)
        with_site = {each.id: each.domain_id for each in businesses if each.domain_id is not None}
        await refresh_leads(session, with_site.values())
        await replace_by_site(session, with_site)
        others = [each for each in businesses if each.domain_id is None]
        await refresh_leads_without_site(session, others)


async def leads_after_decision(session: AsyncSession, action_id: UUID) -> None:
    """Somebody decided about many contacts: a few leads are made anew at once, many later."""
    rows = select(func.unnest(BulkActionRows.row_ids)).where(BulkActionRows.action_id == action_id)
    concerned = select(Contact.domain_id).where(Contact.id.in_(rows)).distinct()
    few = list(await session.scalars(concerned.limit(AT_ONCE + 1)))
    if len(few) <= AT_ONCE:
        await refresh_leads(session, few)
        return
    await session.execute(
        update(Lead)
        .where(Lead.domain_id.in_(concerned))
        .values(stale_since=func.now())
        .execution_options(synchronize_session=False)
    )


async def _refresh(session: AsyncSession, ids: Sequence[UUID]) -> None:
    domains = await session.scalars(
        select(Domain).where(Domain.id.in_(ids)).execution_options(populate_existing=True)
    )
    by_id = {each.id: each for each in domains}
    leads = await _leads(session, list(by_id.values()))
    contacts, pages = await _contacts(session, ids), await _pages(session, ids)
    told = await told_of_domains(session, {each.id: each.domain for each in by_id.values()})
    for domain_id, lead in leads.items():
        best, count = contacts.get(domain_id, ([], 0))
        known = Known(best, count, pages.get(domain_id, PagesOfSite()), told.get(domain_id))
        write_lead(lead, by_id[domain_id], known)
    await session.flush()


async def _leads(session: AsyncSession, domains: Sequence[Domain]) -> Mapping[UUID, Lead]:
    if not domains:
        return {}
    adding = insert(Lead).values(
        [
            {
                "id": uuid7(),
                "tenant_id": each.tenant_id,
                "created_by": get_system_user_id(session),
                "domain_id": each.id,
            }
            for each in sorted(domains, key=lambda each: each.id)
        ]
    )
    await session.execute(adding.on_conflict_do_nothing(index_elements=[Lead.domain_id]))
    found = await session.scalars(
        select(Lead)
        .where(Lead.domain_id.in_([each.id for each in domains]))
        .order_by(Lead.domain_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return {each.domain_id: each for each in found if each.domain_id is not None}


async def _contacts(
    session: AsyncSession, ids: Sequence[UUID]
) -> Mapping[UUID, tuple[list[Contact], int]]:
    """But for those that nobody is to write to, and those that people sorted out; of a directory
    with thousands of them the best, and how many there are."""
    site = select(Domain.domain).where(Domain.id == Contact.domain_id).correlate(Contact)
    suppressed = ways_to_be_suppressed(Contact, site.scalar_subquery())
    best_first = (
        (Contact.contact_curation_status == ContactCuration.SELECTED).desc(),
        Contact.same_site.desc(),
        Contact.is_role_address.desc(),
        Contact.sightings.desc(),
        Contact.confidence.desc(),
        Contact.id,
    )
    ranked = (
        select(
            Contact.id,
            func.row_number()
            .over(partition_by=Contact.domain_id, order_by=best_first)
            .label("place"),
            func.count().over(partition_by=Contact.domain_id).label("count"),
        )
        .where(
            Contact.domain_id.in_(ids),
            Contact.contact_curation_status != ContactCuration.SKIPPED,
            *(~each for each in suppressed),
        )
        .subquery("ranked")
    )
    found = await session.execute(
        select(Contact, ranked.c.count)
        .join(ranked, ranked.c.id == Contact.id)
        .where(ranked.c.place <= MOST_OF_A_LEAD)
        .execution_options(populate_existing=True)
    )
    grouped: dict[UUID, tuple[list[Contact], int]] = {}
    for contact, count in found:
        grouped.setdefault(contact.domain_id, ([], count))[0].append(contact)
    return grouped


async def _pages(session: AsyncSession, ids: Sequence[UUID]) -> Mapping[UUID, PagesOfSite]:
    """A page that was read counts as read although its row is settled a moment later."""
    status, reason = Page.page_processing_status, Page.page_processing_error
    under_way = status.in_((PAGE_WORDS.queued, PAGE_WORDS.processing)) & Page.read_at.is_(None)
    found = await session.execute(
        select(
            Page.domain_id,
            func.count().filter(under_way),
            func.count().filter(Page.read_at.is_not(None)),
            func.count().filter(Page.has_contact_form.is_(True)),
            func.count().filter(Page.http_status.in_((401, 403))),
            func.count().filter(case((reason.startswith("robots.txt"), True), else_=False)),
        )
        .where(Page.domain_id.in_(ids), *is_worth_a_look())
        .group_by(Page.domain_id)
    )
    return {domain_id: PagesOfSite(*counts) for domain_id, *counts in found}
