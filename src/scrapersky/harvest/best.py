"""Choose among a site's contacts the one to write to and the one to call, and say why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scrapersky.models import Contact, ContactCuration, ContactKind
from scrapersky.scraper.contact_finder.emails import is_undeliverable

FOR_SOMETHING_ELSE = frozenset(
    {
        "abuse", "datenschutz", "dataprotection", "dpo", "dsb", "gdpr", "hostmaster",
        "mailer-daemon", "no-reply", "noreply", "postmaster", "privacy", "privacidad", "rgpd",
        "webmaster",
    }
)  # fmt: skip
"""Desks that answer no enquiries."""


@dataclass(frozen=True)
class Choice:
    email: str | None = None
    email_why: str | None = None
    phone: str | None = None
    other_emails: list[str] = field(default_factory=list)
    other_phones: list[str] = field(default_factory=list)
    profiles: list[str] = field(default_factory=list)


def choose(
    contacts: Sequence[Contact], organisation: Mapping[str, Any], *, site: str = ""
) -> Choice:
    emails = sorted(_of(contacts, ContactKind.EMAIL), key=_email_rank)
    usable = [each for each in emails if not _is_undeliverable(each, site)]
    stated = organisation.get("telephone_e164")
    phones = sorted(
        _of(contacts, ContactKind.PHONE), key=lambda each: (each.value != stated, *_rank(each))
    )
    profiles = sorted(_of(contacts, ContactKind.SOCIAL), key=_rank)
    return Choice(
        email=usable[0].value if usable else None,
        email_why=_why(usable) if usable else None,
        phone=phones[0].value if phones else None,
        other_emails=[each.value for each in emails if each not in usable[:1]],
        other_phones=[each.value for each in phones[1:]],
        profiles=[each.value for each in profiles],
    )


def _of(contacts: Sequence[Contact], kind: ContactKind) -> list[Contact]:
    return [each for each in contacts if each.kind == kind]


def _rank(contact: Contact) -> tuple[Any, ...]:
    return (not _is_chosen(contact), -contact.sightings, -contact.confidence, contact.value)


def _email_rank(contact: Contact) -> tuple[Any, ...]:
    """What people chose, then the site's own addresses, then desks that take enquiries."""
    return (
        not _is_chosen(contact),
        _is_for_something_else(contact),
        not contact.same_site,
        not contact.is_role_address,
        -contact.sightings,
        -contact.confidence,
        contact.value,
    )


def _is_chosen(contact: Contact) -> bool:
    return contact.contact_curation_status == ContactCuration.SELECTED


def _is_undeliverable(contact: Contact, site: str) -> bool:
    """Not even where somebody selected it: no mail arrives there."""
    on_test_site = bool(contact.same_site) or site.endswith(".example")
    return is_undeliverable(contact.value, on_test_site=on_test_site)


def _is_for_something_else(contact: Contact) -> bool:
    return contact.value.partition("@")[0] in FOR_SOMETHING_ELSE


def _why(emails: Sequence[Contact]) -> str:
    best = emails[0]
    if _is_chosen(best):
        return "Somebody selected it."
    said = ["the only one" if len(emails) == 1 else f"the best of {len(emails)}"]
    said.append("at the site's own domain" if best.same_site else "at another domain")
    said.append("a desk's" if best.is_role_address else "a person's or of unknown use")
    if best.method == "manual":
        return f"It is {', '.join([*said, 'added by a person'])}."
    places = "once" if best.sightings == 1 else f"{best.sightings} times"
    said.append(f"seen {places}, best by {best.method}")
    return f"It is {', '.join(said)}."
