"""Get, add, edit and delete contacts, with their evidence and lineage."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from scrapersky.contacts.erasure_filter import load_erased, remove_erased
from scrapersky.contacts.schemas import (
    ContactDetail,
    ContactLineage,
    ContactOut,
    ContactStep,
    EvidenceOut,
    FileStep,
    LineageOut,
    PageStep,
)
from scrapersky.contacts.store import emit_contacts_created
from scrapersky.contacts.suppression import SuppressionRequest, suppress
from scrapersky.contacts.values import is_at_site, parse_contact_value
from scrapersky.db.base import uuid7
from scrapersky.errors import Conflict, InvalidInput, NotFound
from scrapersky.leads.build import lock_lead, refresh_leads
from scrapersky.leads.lineage import API_PREFIX, load_lineage
from scrapersky.lists.filters import parse_domain
from scrapersky.models import (
    Actor,
    Contact,
    ContactEvidence,
    ContactKind,
    Domain,
    Page,
    SitemapFile,
    SuppressionKind,
    record,
)
from scrapersky.models.suppression import is_suppressed
from scrapersky.scraper.contacts.emails import classify_email, is_role_address

MAX_EVIDENCE = 200


async def get_contact(session: AsyncSession, actor: Actor, contact_id: UUID) -> Contact:
    contact = await session.scalar(
        select(Contact).where(Contact.id == contact_id, Contact.tenant_id == actor.tenant_id)
    )
    if contact is None:
        raise NotFound(f"There is no contact {contact_id}.")
    return contact


async def build_contacts_out(
    session: AsyncSession, contacts: Sequence[Contact]
) -> list[ContactOut]:
    """Build the output of many contacts in three statements."""
    sites = await _load_texts(
        session, Domain.id, Domain.domain, {each.domain_id for each in contacts}
    )
    pages = await _load_texts(session, Page.id, Page.url, {each.page_id for each in contacts})
    ids = [each.id for each in contacts]
    suppressed = set(
        await session.scalars(select(Contact.id).where(Contact.id.in_(ids), is_suppressed(Contact)))
    )
    return [
        ContactOut.model_validate(
            {
                **_get_columns(each),
                "domain": sites[each.domain_id],
                "page_url": pages.get(each.page_id),
                "suppressed": each.id in suppressed,
            }
        )
        for each in contacts
    ]


def _get_columns(contact: Contact) -> dict[str, Any]:
    return {column.key: getattr(contact, column.key) for column in Contact.__table__.columns}


async def _load_texts(
    session: AsyncSession,
    key: InstrumentedAttribute[UUID],
    text: InstrumentedAttribute[str],
    values: Collection[UUID | None],
) -> dict[UUID | None, str]:
    ids = [each for each in values if each is not None]
    result = await session.execute(select(key, text).where(key.in_(ids)))
    return dict(result.all())


async def get_detail(session: AsyncSession, contact: Contact) -> ContactDetail:
    [out] = await build_contacts_out(session, [contact])
    return ContactDetail(
        **out.model_dump(),
        evidence=await _load_evidence(session, contact),
        lineage=await _load_lineage_out(session, out),
    )


async def _load_evidence(session: AsyncSession, contact: Contact) -> list[EvidenceOut]:
    result = await session.execute(
        select(ContactEvidence, Page.url)
        .join(Page, Page.id == ContactEvidence.page_id)
        .where(ContactEvidence.contact_id == contact.id)
        .order_by(ContactEvidence.confidence.desc(), ContactEvidence.id)
        .limit(MAX_EVIDENCE)
    )
    return [
        EvidenceOut(
            page_id=each.page_id,
            page_url=url,
            method=each.method,
            raw=each.raw,
            snippet=each.snippet,
            confidence=each.confidence,
            first_seen_at=each.first_seen_at,
            last_seen_at=each.last_seen_at,
        )
        for each, url in result
    ]


async def _load_lineage_out(session: AsyncSession, contact: ContactOut) -> LineageOut:
    result = await session.execute(
        select(SitemapFile.id, SitemapFile.url)
        .join(Page, Page.sitemap_file_id == SitemapFile.id)
        .where(Page.id == contact.page_id)
    )
    file_id, file_url = result.one_or_none() or (None, None)
    origin = await load_lineage(session, domain_id=contact.domain_id)
    business = next(iter(origin.businesses), None)
    search = next(iter(origin.searches), None)
    place_id = search.places[0] if search else next((each.id for each in origin.places), None)
    return LineageOut(
        page_id=contact.page_id,
        page_url=contact.page_url,
        sitemap_file_id=file_id,
        sitemap_url=file_url,
        domain_id=contact.domain_id,
        domain=contact.domain,
        business_id=business.id if business else None,
        business_name=business.name if business else None,
        place_id=place_id,
        search_id=search.id if search else None,
        search=search.subject if search else None,
    )


async def get_lineage(session: AsyncSession, contact: Contact) -> ContactLineage:
    """Load every step of a contact's lineage in five statements."""
    pages, files = await _load_page_steps(session, contact)
    origin = await load_lineage(session, domain_id=contact.domain_id)
    link = f"{API_PREFIX}/contacts/{contact.id}"
    return ContactLineage(
        contact=ContactStep(id=contact.id, link=link, kind=contact.kind, value=contact.value),
        pages=pages,
        sitemap_files=files,
        **dict(origin),
    )


async def _load_page_steps(
    session: AsyncSession, contact: Contact
) -> tuple[list[PageStep], list[FileStep]]:
    result = await session.execute(
        select(ContactEvidence.method, Page, SitemapFile)
        .join(Page, Page.id == ContactEvidence.page_id)
        .outerjoin(SitemapFile, SitemapFile.id == Page.sitemap_file_id)
        .where(ContactEvidence.contact_id == contact.id)
        .order_by(ContactEvidence.confidence.desc(), ContactEvidence.id)
        .limit(MAX_EVIDENCE)
    )
    pages: dict[UUID, PageStep] = {}
    files: dict[UUID, FileStep] = {}
    for method, page, file in result:
        pages.setdefault(page.id, _build_page_step(page)).methods.append(method)
        if file is not None:
            files.setdefault(file.id, _build_file_step(file))
    return list(pages.values()), list(files.values())


def _build_page_step(page: Page) -> PageStep:
    return PageStep(
        id=page.id,
        link=f"{API_PREFIX}/pages/{page.id}",
        url=page.url,
        page_type=page.page_type,
        sitemap_file_id=page.sitemap_file_id,
        methods=[],
    )


def _build_file_step(file: SitemapFile) -> FileStep:
    link = f"{API_PREFIX}/sitemap-files/{file.id}"
    return FileStep(id=file.id, link=link, url=file.url, discovery_method=file.discovery_method)


# Edits take the lock of the domain's lead before they lock contacts, as stores of pages do.

MANUAL_METHOD = "manual"
EDITED_FIELDS = frozenset({"name", "role", "email_type", "value"})
"""Once a user changes one of these fields, pages no longer fill in name and role."""


@dataclass(frozen=True)
class NewContact:
    """A contact entered by a user; `site` is a domain name or ID."""

    site: str
    kind: ContactKind
    value: str
    name: str | None = None
    role: str | None = None
    note: str | None = None


async def add(session: AsyncSession, actor: Actor, new: NewContact) -> Contact:
    """Add a contact entered by a user, with full confidence. Raise `Conflict` for a duplicate."""
    domain = await _find_domain(session, actor, new.site)
    facts = _build_facts(new.kind, new.value, domain)
    await _refuse_if_erased(session, actor, facts["value"])
    new = await remove_erased(session, actor.tenant_id, new)
    await lock_lead(session, domain)
    await _refuse_duplicate(session, domain, new.kind, facts["value"])
    contact = Contact(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        created_by=actor.user_id,
        domain_id=domain.id,
        kind=new.kind.value,
        raw=new.value,
        name=new.name,
        role=new.role,
        note=new.note,
        method=MANUAL_METHOD,
        confidence=1.0,
        sightings=0,
        edited_at=func.now() if new.name or new.role else None,
        **facts,
    )
    session.add(contact)
    details = {"kind": contact.kind, "value": contact.value, "domain": domain.domain}
    record(session, actor, "contact.add", contact.id, **details)
    stored = await _save(session, contact)
    await emit_contacts_created(session, actor.tenant_id, [contact.id])
    return stored


async def edit(
    session: AsyncSession,
    actor: Actor,
    contact_id: UUID,
    changes: Mapping[str, Any],
    *,
    seen_at: datetime | None = None,
) -> Contact:
    """Change a contact. The last change wins, unless `seen_at` is given and does not match
    `updated_at`.
    """
    erased = await load_erased(session, actor.tenant_id)
    changes = {  # an erased value is refused below, not redacted
        name: field_value if name == "value" else erased.redact(field_value)
        for name, field_value in changes.items()
    }
    contact, domain = await _lock_contact(session, actor, contact_id)
    _refuse_if_changed(contact, seen_at)
    new_values = await _resolve_changes(session, actor, contact, domain, dict(changes))
    different = {
        name: [getattr(contact, name), value]
        for name, value in new_values.items()
        if getattr(contact, name) != value
    }
    if not different:
        return contact
    for name, (_, value) in different.items():
        setattr(contact, name, value)
    if EDITED_FIELDS & set(different):
        contact.edited_at = func.now()
    record(session, actor, "contact.edit", contact.id, changes=different)
    return await _save(session, contact)


async def delete(
    session: AsyncSession, actor: Actor, contact_id: UUID, *, suppress_value: bool = False
) -> None:
    """Delete a contact and its evidence.

    Without `suppress_value`, a page that still contains its value adds it again.
    """
    contact, domain = await _lock_contact(session, actor, contact_id)
    if suppress_value and contact.kind == ContactKind.SOCIAL:
        raise InvalidInput(
            "A profile cannot be suppressed. Suppress the domain of its site instead."
        )
    details = {"kind": contact.kind, "value": contact.value, "domain": domain.domain}
    await session.delete(contact)
    await session.flush()
    if suppress_value:
        kind = SuppressionKind(contact.kind)
        await suppress(
            session, actor, [SuppressionRequest(contact.value, kind, "Contact deleted.")]
        )
    record(session, actor, "contact.delete", contact_id, **details, suppressed=suppress_value)
    await refresh_leads(session, [domain.id])


async def _lock_contact(
    session: AsyncSession, actor: Actor, contact_id: UUID
) -> tuple[Contact, Domain]:
    unlocked = await get_contact(session, actor, contact_id)
    domain = await session.get_one(Domain, unlocked.domain_id)
    await lock_lead(session, domain)
    locked = select(Contact).where(Contact.id == contact_id).with_for_update()
    contact = await session.scalar(locked.execution_options(populate_existing=True))
    if contact is None:
        raise NotFound(f"Contact {contact_id} was deleted.")
    return contact, domain


async def _find_domain(session: AsyncSession, actor: Actor, site: str) -> Domain:
    name = parse_domain(site)
    named = Domain.id == name if isinstance(name, UUID) else Domain.domain == name
    domain = await session.scalar(select(Domain).where(named, Domain.tenant_id == actor.tenant_id))
    if domain is None:
        raise NotFound(f"There is no domain {name}. Import it first.")
    return domain


def _build_facts(kind: ContactKind, text: str, domain: Domain) -> dict[str, Any]:
    """Return the normalised value and the columns derived from it."""
    value = parse_contact_value(kind, text, site=domain.domain)
    if kind is not ContactKind.EMAIL:
        return {"value": value}
    desk, own = is_role_address(value), is_at_site(value, domain.domain)
    whose = classify_email(value, is_role_address=desk, same_site=own)
    return {
        "value": value,
        "is_role_address": desk,
        "same_site": own,
        "email_type": whose.value,
    }


async def _resolve_changes(
    session: AsyncSession, actor: Actor, contact: Contact, domain: Domain, changes: dict[str, Any]
) -> dict[str, Any]:
    """Add the columns derived from a corrected value. Explicitly given fields take precedence."""
    if "email_type" in changes and contact.kind != ContactKind.EMAIL:
        raise InvalidInput(f"Only an e-mail address has an email_type; this is a {contact.kind}.")
    if "value" not in changes:
        return changes
    facts = _build_facts(ContactKind(contact.kind), changes.pop("value"), domain)
    if facts["value"] == contact.value:
        return changes
    await _refuse_if_erased(session, actor, facts["value"])
    await _refuse_duplicate(session, domain, ContactKind(contact.kind), facts["value"])
    return {**facts, **changes}


async def _refuse_duplicate(
    session: AsyncSession, domain: Domain, kind: ContactKind, value: str
) -> None:
    duplicate = await session.scalar(
        select(Contact.id).where(
            Contact.domain_id == domain.id, Contact.kind == kind, Contact.value == value
        )
    )
    if duplicate is not None:
        raise Conflict(f"{value} already exists for {domain.domain} as contact {duplicate}.")


async def _refuse_if_erased(session: AsyncSession, actor: Actor, value: str) -> None:
    if (await load_erased(session, actor.tenant_id)).find(value) is not None:
        raise Conflict(
            "This person was erased. To store them again, an admin must remove the "
            "suppression first."
        )


def _refuse_if_changed(contact: Contact, seen_at: datetime | None) -> None:
    if seen_at is None:
        return
    seen_time = seen_at if seen_at.tzinfo else seen_at.replace(tzinfo=UTC)
    if contact.updated_at != seen_time:
        raise Conflict(
            f"The contact was changed at {contact.updated_at.isoformat()}. Reload it and retry."
        )


async def _save(session: AsyncSession, contact: Contact) -> Contact:
    await session.flush()
    await refresh_leads(session, [contact.domain_id])
    await session.refresh(contact)
    return contact
