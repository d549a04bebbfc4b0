"""What people do to contacts: add, correct, delete.

Everything of one domain is stored one after the other, with what pages yield: its lead is locked
before its contacts are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.looking import contact_of
from scrapersky.contacts.suppressions import Wanted, suppress
from scrapersky.contacts.values import contact_value, is_at_site
from scrapersky.db.base import uuid7
from scrapersky.errors import Conflict, InvalidInput, NotFound
from scrapersky.harvest.erasure_filter import load_erased, remove_erased
from scrapersky.harvest.leads import hold_lead, refresh_leads
from scrapersky.harvest.telling import tell_of_contacts
from scrapersky.http.lists.filters import read_domain
from scrapersky.models import Actor, Contact, ContactKind, Domain, SuppressionKind, record
from scrapersky.scraper.contact_finder.emails import is_role_address
from scrapersky.scraper.email_types import email_type

MANUAL = "manual"
SAID_BY_PEOPLE = frozenset({"name", "role", "email_type", "value"})
"""Once a person changed one of these, pages do not fill in name and role any more."""


@dataclass(frozen=True)
class NewContact:
    """What a person knows; of which site, by its name or its id."""

    site: str
    kind: ContactKind
    value: str
    name: str | None = None
    role: str | None = None
    note: str | None = None


async def add(session: AsyncSession, actor: Actor, new: NewContact) -> Contact:
    """One that a person found; it counts as sure."""
    domain = await _domain(session, actor, new.site)
    facts = _facts(new.kind, new.value, domain)
    await _refuse_if_erased(session, actor, facts["value"])
    new = await remove_erased(session, actor.tenant_id, new)
    await hold_lead(session, domain)
    await _refuse_twin(session, domain, new.kind, facts["value"])
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
        method=MANUAL,
        confidence=1.0,
        sightings=0,
        edited_at=func.now() if new.name or new.role else None,
        **facts,
    )
    session.add(contact)
    said = {"kind": contact.kind, "value": contact.value, "domain": domain.domain}
    record(session, actor, "contact.add", contact.id, **said)
    stored = await _stored(session, contact)
    await tell_of_contacts(session, actor.tenant_id, [contact.id])
    return stored


async def edit(
    session: AsyncSession,
    actor: Actor,
    contact_id: UUID,
    changes: Mapping[str, Any],
    *,
    seen_at: datetime | None = None,
) -> Contact:
    """Of two who change it at once the last wins, unless it says by `seen_at` what it saw."""
    erased = await load_erased(session, actor.tenant_id)
    changes = {  # a value of somebody who was erased is refused below
        name: said if name == "value" else erased.remove_from(said)
        for name, said in changes.items()
    }
    contact, domain = await _held(session, actor, contact_id)
    _refuse_if_changed(contact, seen_at)
    wanted = await _wanted(session, actor, contact, domain, dict(changes))
    different = {
        name: [getattr(contact, name), value]
        for name, value in wanted.items()
        if getattr(contact, name) != value
    }
    if not different:
        return contact
    for name, (_, value) in different.items():
        setattr(contact, name, value)
    if SAID_BY_PEOPLE & set(different):
        contact.edited_at = func.now()
    record(session, actor, "contact.edit", contact.id, changes=different)
    return await _stored(session, contact)


async def delete(
    session: AsyncSession, actor: Actor, contact_id: UUID, *, hush: bool = False
) -> None:
    """With its evidence. A page that still has it brings it back when it is read again."""
    contact, domain = await _held(session, actor, contact_id)
    if hush and contact.kind == ContactKind.SOCIAL:
        raise InvalidInput("A profile cannot be suppressed; suppress the domain of its site.")
    said = {"kind": contact.kind, "value": contact.value, "domain": domain.domain}
    await session.delete(contact)
    await session.flush()
    if hush:
        kind = SuppressionKind(contact.kind)
        await suppress(session, actor, [Wanted(contact.value, kind, "Its contact was deleted.")])
    record(session, actor, "contact.delete", contact_id, **said, suppressed=hush)
    await refresh_leads(session, [domain.id])


async def _held(session: AsyncSession, actor: Actor, contact_id: UUID) -> tuple[Contact, Domain]:
    found = await contact_of(session, actor, contact_id)
    domain = await session.get_one(Domain, found.domain_id)
    await hold_lead(session, domain)
    locked = select(Contact).where(Contact.id == contact_id).with_for_update()
    contact = await session.scalar(locked.execution_options(populate_existing=True))
    if contact is None:
        raise NotFound(f"There is no contact {contact_id} any more.")
    return contact, domain


async def _domain(session: AsyncSession, actor: Actor, site: str) -> Domain:
    wanted = read_domain(site)
    named = Domain.id == wanted if isinstance(wanted, UUID) else Domain.domain == wanted
    found = await session.scalar(select(Domain).where(named, Domain.tenant_id == actor.tenant_id))
    if found is None:
        raise NotFound(f"There is no site {wanted}; hand it in first.")
    return found


def _facts(kind: ContactKind, text: str, domain: Domain) -> dict[str, Any]:
    """Its one spelling, and what that tells."""
    value = contact_value(kind, text, site=domain.domain)
    if kind is not ContactKind.EMAIL:
        return {"value": value}
    desk, own = is_role_address(value), is_at_site(value, domain.domain)
    whose = email_type(value, is_role_address=desk, same_site=own)
    return {
        "value": value,
        "is_role_address": desk,
        "same_site": own,
        "email_type": whose.value,
    }


async def _wanted(
    session: AsyncSession, actor: Actor, contact: Contact, domain: Domain, changes: dict[str, Any]
) -> dict[str, Any]:
    """A corrected value brings its own facts, but what was said beside it counts."""
    if "email_type" in changes and contact.kind != ContactKind.EMAIL:
        raise InvalidInput(f"Only an e-mail address has an email_type; this is a {contact.kind}.")
    if "value" not in changes:
        return changes
    facts = _facts(ContactKind(contact.kind), changes.pop("value"), domain)
    if facts["value"] == contact.value:
        return changes
    await _refuse_if_erased(session, actor, facts["value"])
    await _refuse_twin(session, domain, ContactKind(contact.kind), facts["value"])
    return {**facts, **changes}


async def _refuse_twin(
    session: AsyncSession, domain: Domain, kind: ContactKind, value: str
) -> None:
    twin = await session.scalar(
        select(Contact.id).where(
            Contact.domain_id == domain.id, Contact.kind == kind, Contact.value == value
        )
    )
    if twin is not None:
        raise Conflict(f"{value} is known of {domain.domain} already, as contact {twin}.")


async def _refuse_if_erased(session: AsyncSession, actor: Actor, value: str) -> None:
    if (await load_erased(session, actor.tenant_id)).find(value) is not None:
        raise Conflict(
            "Whoever this belongs to was erased. If they agree to be kept again, an admin has to "
            "remove the suppression first."
        )


def _refuse_if_changed(contact: Contact, seen_at: datetime | None) -> None:
    if seen_at is None:
        return
    seen = seen_at if seen_at.tzinfo else seen_at.replace(tzinfo=UTC)
    if contact.updated_at != seen:
        raise Conflict(
            f"The contact was changed meanwhile, at {contact.updated_at.isoformat()}; look again."
        )


async def _stored(session: AsyncSession, contact: Contact) -> Contact:
    await session.flush()
    await refresh_leads(session, [contact.domain_id])
    await session.refresh(contact)
    return contact
