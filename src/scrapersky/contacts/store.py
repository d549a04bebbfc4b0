"""Store a parsed page and its contacts with their evidence, and emit `contact.created`.

The domain's lead is locked first, which serialises all stores of a domain.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.erasure_filter import remove_erased
from scrapersky.contacts.page_parser import ParsedPage, UnreadablePage
from scrapersky.db.base import uuid7
from scrapersky.leads.build import lock_lead, refresh_leads
from scrapersky.models import (
    Contact,
    ContactEvidence,
    ContactScrapeStatus,
    Domain,
    Page,
    WebhookEvent,
    get_system_user_id,
)
from scrapersky.models.suppression import is_suppressed
from scrapersky.models.webhook_events import emit_events, has_subscribers
from scrapersky.models.webhook_payloads import build_contact_data
from scrapersky.pages.selection import classify_page
from scrapersky.scraper.contacts.emails import classify_email
from scrapersky.scraper.contacts.model import ContactChannel, FoundContact
from scrapersky.scraper.html.model import PageFacts

CREATED_EVENT = WebhookEvent.CONTACT_CREATED


async def emit_contacts_created(
    session: AsyncSession, tenant_id: UUID, contact_ids: Collection[UUID]
) -> None:
    """Emit `contact.created` for contacts that are not suppressed."""
    if not contact_ids or not await has_subscribers(session, tenant_id, CREATED_EVENT):
        return
    result = await session.execute(
        select(Contact, Domain.domain, Page.url)
        .join(Domain, Domain.id == Contact.domain_id)
        .outerjoin(Page, Page.id == Contact.page_id)
        .where(Contact.id.in_(contact_ids), ~is_suppressed())
        .order_by(Contact.id)
    )
    await emit_events(
        session,
        [
            (
                tenant_id,
                CREATED_EVENT,
                each.id,
                build_contact_data(each, domain=domain, page_url=page_url),
            )
            for each, domain, page_url in result
        ],
    )


MAX_CONTACTS_PER_PAGE = 500
"""A page with more is a directory. The contacts with the highest confidence are kept."""
MAX_SCHEMA_TYPES = 20


async def store_page(session: AsyncSession, page: Page, read: ParsedPage | UnreadablePage) -> None:
    """Store the result of reading a page, without values of erased people."""
    if isinstance(read, ParsedPage):
        read = replace(read, facts=replace(read.facts, links=()))  # not stored
    details: dict[str, Any] = {"read": read, "final_url": getattr(read, "final_url", None)}
    clean = await remove_erased(session, page.tenant_id, details)
    read, final_url = clean["read"], clean.get("final_url")
    await lock_lead(session, page)
    page.read_at, page.http_status = func.now(), read.status or None
    if isinstance(read, UnreadablePage):
        page.contact_scrape_status, page.contacts_found = ContactScrapeStatus.NOT_A_FIT, 0
        page.page_processing_error = (
            read.reason
        )  # set before the row settles: the lead's explanation reads it
    else:
        page.final_url = final_url
        _write_facts(page, read)
        contacts = await _store_contacts(session, page, read.contacts.contacts)
        page.contacts_found = contacts
        page.contact_scrape_status = (
            ContactScrapeStatus.FOUND if contacts else ContactScrapeStatus.NONE
        )
    await session.flush()
    await refresh_leads(session, [page.domain_id])


def _write_facts(page: Page, read: ParsedPage) -> None:
    facts = read.facts
    page.title, page.h1, page.description = facts.title, facts.h1, facts.description
    page.canonical, page.language = facts.canonical, facts.language
    page.robots_meta = ", ".join(facts.robots.directives) or None
    page.schema_types = list(facts.schema_types[:MAX_SCHEMA_TYPES])
    page.forms, page.has_contact_form = facts.form_count, facts.has_contact_form
    page.word_count = facts.word_count
    _reclassify(page, facts)


def _reclassify(page: Page, facts: PageFacts) -> None:
    """Classify the page by its title, which is now available."""
    kind = classify_page(page.url, title=facts.title, link_text=page.link_text)
    page.page_type, page.page_rule = kind.page_class.value, kind.rule
    page.page_confidence, page.priority_level = kind.confidence, kind.priority


async def _store_contacts(
    session: AsyncSession, page: Page, found_contacts: Sequence[FoundContact]
) -> int:
    """Upsert the page's contacts and evidence. Return how many contacts the page has."""
    surest = sorted(found_contacts, key=lambda each: (-each.confidence, each.kind, each.value))
    kept = surest[:MAX_CONTACTS_PER_PAGE]
    if not kept:
        return 0
    new = await session.scalars(
        insert(Contact)
        .values([_build_row(page, each, get_system_user_id(session)) for each in kept])
        .on_conflict_do_nothing(index_elements=[Contact.domain_id, Contact.kind, Contact.value])
        .returning(Contact.id)
    )
    new_ids = new.all()
    contacts = await _lock_contacts(session, page, kept)
    await _store_evidence(session, page, contacts, kept)
    await _update_sightings(session, [each.id for each in contacts.values()])
    for each in kept:
        _apply_sighting(contacts[each.kind, each.value], page, each)
    await emit_contacts_created(session, page.tenant_id, new_ids)
    return len(kept)


def _build_row(page: Page, contact: FoundContact, created_by: UUID) -> dict[str, object]:
    return {
        "id": uuid7(),
        "tenant_id": page.tenant_id,
        "created_by": created_by,
        "domain_id": page.domain_id,
        "page_id": page.id,
        "kind": contact.kind.value,
        "value": contact.value,
        "raw": contact.raw,
        "name": contact.name,
        "role": contact.role,
        "email_type": _get_email_type(contact),
        "is_role_address": contact.is_role_address,
        "same_site": bool(contact.same_site),
        "method": contact.method.value,
        "snippet": contact.snippet,
        "confidence": contact.confidence,
    }


def _get_email_type(contact: FoundContact) -> str | None:
    if contact.kind is not ContactChannel.EMAIL:
        return None
    return classify_email(
        contact.value, is_role_address=contact.is_role_address, same_site=bool(contact.same_site)
    ).value


async def _lock_contacts(
    session: AsyncSession, page: Page, contacts: Sequence[FoundContact]
) -> Mapping[tuple[str, str], Contact]:
    """Lock the contacts in ID order, as all bulk changes do."""
    keys = [(each.kind.value, each.value) for each in contacts]
    rows = await session.scalars(
        select(Contact)
        .where(Contact.domain_id == page.domain_id, tuple_(Contact.kind, Contact.value).in_(keys))
        .order_by(Contact.id)
        .with_for_update()
    )
    return {(each.kind, each.value): each for each in rows}


async def _store_evidence(
    session: AsyncSession,
    page: Page,
    contacts: Mapping[tuple[str, str], Contact],
    found_contacts: Sequence[FoundContact],
) -> None:
    statement = insert(ContactEvidence).values(
        [
            {
                "tenant_id": page.tenant_id,
                "contact_id": contacts[each.kind, each.value].id,
                "page_id": page.id,
                "method": each.method.value,
                "raw": each.raw,
                "snippet": each.snippet,
                "confidence": each.confidence,
            }
            for each in found_contacts
        ]
    )
    excluded = statement.excluded
    await session.execute(
        statement.on_conflict_do_update(
            index_elements=[
                ContactEvidence.contact_id,
                ContactEvidence.page_id,
                ContactEvidence.method,
            ],
            set_={
                "raw": excluded.raw,
                "snippet": excluded.snippet,
                "confidence": excluded.confidence,
                "last_seen_at": func.now(),
            },
        )
    )


async def _update_sightings(session: AsyncSession, ids: Sequence[UUID]) -> None:
    counted = select(func.count()).where(ContactEvidence.contact_id == Contact.id).scalar_subquery()
    await session.execute(
        update(Contact)
        .where(Contact.id.in_(ids))
        .values(sightings=counted, last_seen_at=func.now())
        .execution_options(synchronize_session=False)
    )


def _apply_sighting(contact: Contact, page: Page, sighting: FoundContact) -> None:
    """Apply the sighting if it has a higher confidence. Name and role edited by a user are kept."""
    if contact.edited_at is None:
        contact.name = contact.name or sighting.name
        contact.role = contact.role or sighting.role
    if contact.confidence >= sighting.confidence:
        return
    contact.confidence, contact.method = sighting.confidence, sighting.method.value
    contact.raw, contact.snippet, contact.page_id = sighting.raw, sighting.snippet, page.id
