"""Build leads from contacts, pages, site metadata and provider facts, and explain empty ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import case, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.leads.provider_facts import ProviderFacts, load_business_facts, load_domain_facts
from scrapersky.leads.ranking import BestContacts, select_best_contacts
from scrapersky.models import (
    PAGE_STATUSES,
    BulkActionRows,
    Contact,
    ContactCuration,
    Domain,
    EmptyReason,
    Lead,
    LeadCuration,
    LocalBusiness,
    Page,
    WebsiteKind,
    get_system_user_id,
)
from scrapersky.models.domains import METADATA_STATUSES
from scrapersky.models.suppression import build_suppression_conditions
from scrapersky.pages.selection import get_promising_conditions
from scrapersky.scraper.contacts.emails import is_undeliverable
from scrapersky.scraper.site.model import SiteState

EMPTY_REASON_BY_STATE = {
    SiteState.DEAD: EmptyReason.DOES_NOT_ANSWER,
    SiteState.PARKED: EmptyReason.PARKED,
    SiteState.REDIRECTED: EmptyReason.REDIRECTED,
    SiteState.BLOCKED: EmptyReason.BLOCKED,
    SiteState.DISALLOWED: EmptyReason.ROBOTS,
    SiteState.UNDER_CONSTRUCTION: EmptyReason.NOTHING_PUBLISHED,
    SiteState.JAVASCRIPT_ONLY: EmptyReason.NEEDS_JAVASCRIPT,
    SiteState.EMPTY: EmptyReason.NOTHING_PUBLISHED,
}


@dataclass(frozen=True)
class SitePageCounts:
    """Counts of the promising pages of a site."""

    under_way: int = 0
    read: int = 0
    with_form: int = 0
    forbidden: int = 0
    by_robots: int = 0


def explain_empty_lead(domain: Domain, pages: SitePageCounts) -> tuple[EmptyReason, str]:
    if domain.status == METADATA_STATUSES.failed:
        return EmptyReason.DOES_NOT_ANSWER, domain.error or "The home page could not be read."
    if domain.site_state in EMPTY_REASON_BY_STATE:
        state = SiteState(domain.site_state)
        return EMPTY_REASON_BY_STATE[
            state
        ], domain.site_state_reason or f"The home page is {state}."
    if domain.metadata_read_at is None and not pages.read:
        return EmptyReason.NOT_READ_YET, "The home page has not been read yet."
    if pages.under_way:
        return EmptyReason.NOT_READ_YET, f"Pages still to be read: {pages.under_way}."
    return _explain_read_site(domain, pages)


def _explain_read_site(domain: Domain, pages: SitePageCounts) -> tuple[EmptyReason, str]:
    if domain.has_contact_form or pages.with_form:
        return (
            EmptyReason.ONLY_A_FORM,
            "The site has a contact form, but no e-mail address or phone number.",
        )
    if pages.by_robots and pages.by_robots >= pages.read:
        return EmptyReason.ROBOTS, "robots.txt disallows the relevant pages."
    if pages.forbidden and pages.forbidden >= pages.read:
        return EmptyReason.BLOCKED, "The site denies access to the relevant pages."
    read = max(pages.read, 1)
    looked = f"{read} page was" if read == 1 else f"{read} pages were"
    return EmptyReason.NOTHING_PUBLISHED, f"{looked} read; no e-mail address or phone number found."


def explain_siteless_lead(business: LocalBusiness) -> tuple[EmptyReason, str]:
    """Explain why a business without a site of its own has no contacts."""
    if business.profiles:
        return (
            EmptyReason.ONLY_SOCIAL,
            business.website_note or "The business only has social profiles.",
        )
    return EmptyReason.NO_WEBSITE, business.website_note or "No website is listed for the business."


SITE_SOURCE = "site"


@dataclass(frozen=True)
class LeadSources:
    """Everything that a lead is built from."""

    contacts: Sequence[Contact] = field(default_factory=list)
    """The best contacts, at most `MAX_CONTACTS_PER_LEAD`."""
    count: int = 0
    """Total number of contacts."""
    pages: SitePageCounts = field(default_factory=SitePageCounts)
    told: ProviderFacts | None = None
    """None when only the site itself reports the business."""


def write_lead(lead: Lead, domain: Domain, known: LeadSources) -> None:
    organisation: Mapping[str, Any] = domain.meta_json.get("organisation") or {}
    names = {
        "json_ld": organisation.get("name"),
        "place": known.told.business.business_name if known.told else None,
        "site_name": domain.meta_json.get("site_name"),
        "title": domain.title,
    }
    lead.name_from, lead.name = next(
        ((source, name) for source, name in names.items() if name), (None, None)
    )
    lead.category = organisation.get("type")
    lead.address = organisation.get("address_text")
    lead.website = domain.base_url or domain.domain
    choice = select_best_contacts(known.contacts, organisation, site=domain.domain)
    _write_contacts(lead, choice, known.count)
    _write_provider_facts(lead, known.told)
    lead.why_empty, lead.why_empty_detail = (
        (None, None) if known.contacts else explain_empty_lead(domain, known.pages)
    )


def write_siteless_lead(lead: Lead, facts: ProviderFacts) -> None:
    business = facts.business
    lead.name, lead.name_from = business.business_name, "place" if business.business_name else None
    lead.category = lead.address = None
    is_page = business.website_kind == WebsiteKind.SITE_BUILDER
    lead.website = business.website_url if is_page else None
    _write_contacts(lead, BestContacts(), 0)
    _write_provider_facts(lead, facts)
    lead.why_empty, lead.why_empty_detail = explain_siteless_lead(business)


def _write_contacts(lead: Lead, choice: BestContacts, count: int) -> None:
    lead.best_email, lead.best_email_why = choice.email, choice.email_why
    lead.other_emails, lead.phone = choice.other_emails, choice.phone
    lead.phone_from = SITE_SOURCE if choice.phone else None
    lead.other_phones, lead.profiles = choice.other_phones, choice.profiles
    lead.contacts = count
    lead.stale_since = None


def _write_provider_facts(lead: Lead, facts: ProviderFacts | None) -> None:
    """Fill gaps that the site leaves with provider facts, and add the providers' profiles."""
    business = facts.business if facts else None
    lead.local_business_id = business.id if business else None
    lead.businesses = facts.count if facts else 0
    lead.rating = business.rating if business else None
    lead.reviews_count = business.reviews_count if business else None
    if facts is None or business is None:
        return
    lead.category = lead.category or next(iter(business.categories or ()), None)
    lead.address = lead.address or business.address
    lead.profiles = list(dict.fromkeys((*lead.profiles, *(business.profiles or ()))))
    if not lead.phone and facts.phone:
        lead.phone, lead.phone_from = facts.phone, facts.get_source("phone")
    emails = [each for each in facts.emails if not is_undeliverable(each, on_test_site=True)]
    if not lead.best_email and emails:
        lead.best_email, *lead.other_emails = emails
        lead.best_email_why = f"Not on the website · reported by {facts.get_source('emails')}"


async def refresh_siteless_leads(
    session: AsyncSession, businesses: Sequence[LocalBusiness]
) -> None:
    """Write the leads of businesses without a domain. A business whose website is still unresolved
    gets no new lead; an existing one is refreshed.
    """
    if not businesses:
        return
    await _insert_siteless_leads(session, [each for each in businesses if _is_known_siteless(each)])
    leads = await _lock_siteless_leads(session, [each.id for each in businesses])
    facts = await load_business_facts(
        session, [each for each in businesses if each.id in leads], {}
    )
    for business_id, each in facts.items():
        write_siteless_lead(leads[business_id], each)
    await session.flush()


def _is_known_siteless(business: LocalBusiness) -> bool:
    return not business.website_url or business.website_kind is not None


async def _insert_siteless_leads(
    session: AsyncSession, businesses: Sequence[LocalBusiness]
) -> None:
    if not businesses:
        return
    statement = insert(Lead).values(
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
        statement.on_conflict_do_nothing(
            index_elements=[Lead.local_business_id], index_where=Lead.domain_id.is_(None)
        )
    )


async def _lock_siteless_leads(
    session: AsyncSession, business_ids: Sequence[UUID]
) -> Mapping[UUID, Lead]:
    rows = await session.scalars(
        select(Lead)
        .where(Lead.domain_id.is_(None), Lead.local_business_id.in_(business_ids))
        .order_by(Lead.local_business_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return {each.local_business_id: each for each in rows if each.local_business_id is not None}


async def replace_siteless_leads(session: AsyncSession, domains: Mapping[UUID, UUID]) -> None:
    """Delete the siteless leads of businesses that now have a domain.

    `domains` maps business to domain. The curation status moves to the site's lead, unless that one
    is already decided.
    """
    if not domains:
        return
    mine = await _lock_siteless_leads(session, list(domains))
    if not mine:
        return
    rows = await session.scalars(
        select(Lead).where(Lead.domain_id.in_({domains[each] for each in mine}))
    )
    of_site = {each.domain_id: each for each in rows}
    for business_id, lead in mine.items():
        _copy_curation(lead, of_site[domains[business_id]])
    await session.flush()
    await session.execute(delete(Lead).where(Lead.id.in_([each.id for each in mine.values()])))


def _copy_curation(old: Lead, new: Lead) -> None:
    if new.lead_curation_status == LeadCuration.NEW:
        new.lead_curation_status = old.lead_curation_status


LEAD_BATCH_SIZE = 500
MAX_CONTACTS_PER_LEAD = 500
"""Maximum number of contacts that are loaded to build a lead."""


async def lock_lead(session: AsyncSession, row: Page | Domain) -> None:
    """Lock the domain's lead until the transaction ends, creating it if needed. It serialises all
    stores for the domain.
    """
    domain_id = row.domain_id if isinstance(row, Page) else row.id
    statement = insert(Lead).values(
        id=uuid7(),
        tenant_id=row.tenant_id,
        created_by=get_system_user_id(session),
        domain_id=domain_id,
    )
    await session.execute(statement.on_conflict_do_nothing(index_elements=[Lead.domain_id]))
    await session.execute(select(Lead.id).where(Lead.domain_id == domain_id).with_for_update())


async def refresh_leads(session: AsyncSession, domain_ids: Collection[UUID]) -> None:
    """Rewrite the leads of these domains from their sources. Curation is kept."""
    ids = sorted(set(domain_ids))
    for start in range(0, len(ids), LEAD_BATCH_SIZE):
        await _refresh_batch(session, ids[start : start + LEAD_BATCH_SIZE])


async def refresh_business_leads(session: AsyncSession, business_ids: Collection[UUID]) -> None:
    """Rewrite the leads that these businesses belong to. A business whose website is still
    unresolved gets no lead, because it is not known yet which one it belongs to.
    """
    ids = sorted(set(business_ids))
    for start in range(0, len(ids), LEAD_BATCH_SIZE):
        rows = await session.scalars(
            select(LocalBusiness)
            .where(LocalBusiness.id.in_(ids[start : start + LEAD_BATCH_SIZE]))
            .order_by(LocalBusiness.id)
        )
        businesses = list(rows)
        with_site = {each.id: each.domain_id for each in businesses if each.domain_id is not None}
        await refresh_leads(session, with_site.values())
        await replace_siteless_leads(session, with_site)
        others = [each for each in businesses if each.domain_id is None]
        await refresh_siteless_leads(session, others)


async def refresh_curated_leads(session: AsyncSession, action_id: UUID) -> None:
    """Refresh the leads of curated contacts: immediately up to one batch, otherwise by marking them
    stale for the chore.
    """
    rows = select(func.unnest(BulkActionRows.row_ids)).where(BulkActionRows.action_id == action_id)
    concerned = select(Contact.domain_id).where(Contact.id.in_(rows)).distinct()
    few = list(await session.scalars(concerned.limit(LEAD_BATCH_SIZE + 1)))
    if len(few) <= LEAD_BATCH_SIZE:
        await refresh_leads(session, few)
        return
    await session.execute(
        update(Lead)
        .where(Lead.domain_id.in_(concerned))
        .values(stale_since=func.now())
        .execution_options(synchronize_session=False)
    )


async def _refresh_batch(session: AsyncSession, ids: Sequence[UUID]) -> None:
    domains = await session.scalars(
        select(Domain).where(Domain.id.in_(ids)).execution_options(populate_existing=True)
    )
    by_id = {each.id: each for each in domains}
    leads = await _lock_site_leads(session, list(by_id.values()))
    contacts, pages = await _load_contacts(session, ids), await _count_pages(session, ids)
    facts = await load_domain_facts(session, {each.id: each.domain for each in by_id.values()})
    for domain_id, lead in leads.items():
        best, count = contacts.get(domain_id, ([], 0))
        known = LeadSources(
            best, count, pages.get(domain_id, SitePageCounts()), facts.get(domain_id)
        )
        write_lead(lead, by_id[domain_id], known)
    await session.flush()


async def _lock_site_leads(session: AsyncSession, domains: Sequence[Domain]) -> Mapping[UUID, Lead]:
    if not domains:
        return {}
    statement = insert(Lead).values(
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
    await session.execute(statement.on_conflict_do_nothing(index_elements=[Lead.domain_id]))
    rows = await session.scalars(
        select(Lead)
        .where(Lead.domain_id.in_([each.id for each in domains]))
        .order_by(Lead.domain_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return {each.domain_id: each for each in rows if each.domain_id is not None}


async def _load_contacts(
    session: AsyncSession, ids: Sequence[UUID]
) -> Mapping[UUID, tuple[list[Contact], int]]:
    """Load the best contacts and the total per domain, without suppressed and skipped ones. A
    directory site may have thousands.
    """
    site = select(Domain.domain).where(Domain.id == Contact.domain_id).correlate(Contact)
    suppressed = build_suppression_conditions(Contact, site.scalar_subquery())
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
    result = await session.execute(
        select(Contact, ranked.c.count)
        .join(ranked, ranked.c.id == Contact.id)
        .where(ranked.c.place <= MAX_CONTACTS_PER_LEAD)
        .execution_options(populate_existing=True)
    )
    grouped: dict[UUID, tuple[list[Contact], int]] = {}
    for contact, count in result:
        grouped.setdefault(contact.domain_id, ([], count))[0].append(contact)
    return grouped


async def _count_pages(session: AsyncSession, ids: Sequence[UUID]) -> Mapping[UUID, SitePageCounts]:
    """Count promising pages by state. A page with `read_at` counts as read even before its row is
    settled.
    """
    status, reason = Page.page_processing_status, Page.page_processing_error
    under_way = status.in_((PAGE_STATUSES.queued, PAGE_STATUSES.processing)) & Page.read_at.is_(
        None
    )
    result = await session.execute(
        select(
            Page.domain_id,
            func.count().filter(under_way),
            func.count().filter(Page.read_at.is_not(None)),
            func.count().filter(Page.has_contact_form.is_(True)),
            func.count().filter(Page.http_status.in_((401, 403))),
            func.count().filter(case((reason.startswith("robots.txt"), True), else_=False)),
        )
        .where(Page.domain_id.in_(ids), *get_promising_conditions())
        .group_by(Page.domain_id)
    )
    return {domain_id: SitePageCounts(*counts) for domain_id, *counts in result}
