"""Rank a site's contacts, select the best e-mail address and phone number, and explain why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scrapersky.models import Contact, ContactCuration, ContactKind
from scrapersky.scraper.contacts.emails import is_undeliverable

NON_ENQUIRY_LOCAL_PARTS = frozenset(
    {
        "abuse", "datenschutz", "dataprotection", "dpo", "dsb", "gdpr", "hostmaster",
        "mailer-daemon", "no-reply", "noreply", "postmaster", "privacy", "privacidad", "rgpd",
        "webmaster",
    }
)  # fmt: skip
"""Shared inboxes that do not handle enquiries."""
METHOD_LABELS = {
    "mailto": "mailto link",
    "text": "visible text",
    "json_ld": "JSON-LD",
    "manual": "added by a user",
}
"""Extraction methods that read badly as a plain word; the others are shown as they are."""


@dataclass(frozen=True)
class BestContacts:
    email: str | None = None
    email_why: str | None = None
    phone: str | None = None
    other_emails: list[str] = field(default_factory=list)
    other_phones: list[str] = field(default_factory=list)
    profiles: list[str] = field(default_factory=list)


def select_best_contacts(
    contacts: Sequence[Contact], organisation: Mapping[str, Any], *, site: str = ""
) -> BestContacts:
    emails = sorted(_filter_by_kind(contacts, ContactKind.EMAIL), key=_get_email_rank)
    usable = [each for each in emails if not _is_undeliverable(each, site)]
    stated = organisation.get("telephone_e164")
    phones = sorted(
        _filter_by_kind(contacts, ContactKind.PHONE),
        key=lambda each: (each.value != stated, *_get_rank(each)),
    )
    profiles = sorted(_filter_by_kind(contacts, ContactKind.SOCIAL), key=_get_rank)
    return BestContacts(
        email=usable[0].value if usable else None,
        email_why=_explain_choice(usable) if usable else None,
        phone=phones[0].value if phones else None,
        other_emails=[each.value for each in emails if each not in usable[:1]],
        other_phones=[each.value for each in phones[1:]],
        profiles=[each.value for each in profiles],
    )


def _filter_by_kind(contacts: Sequence[Contact], kind: ContactKind) -> list[Contact]:
    return [each for each in contacts if each.kind == kind]


def _get_rank(contact: Contact) -> tuple[Any, ...]:
    return (not _is_selected(contact), -contact.sightings, -contact.confidence, contact.value)


def _get_email_rank(contact: Contact) -> tuple[Any, ...]:
    """Rank by: selected by a user, handles enquiries, same domain as the site, shared inbox."""
    return (
        not _is_selected(contact),
        _is_non_enquiry_address(contact),
        not contact.same_site,
        not contact.is_role_address,
        -contact.sightings,
        -contact.confidence,
        contact.value,
    )


def _is_selected(contact: Contact) -> bool:
    return contact.contact_curation_status == ContactCuration.SELECTED


def _is_undeliverable(contact: Contact, site: str) -> bool:
    """Return whether no mail can arrive there. Such an address is not chosen even if a user
    selected it.
    """
    on_test_site = bool(contact.same_site) or site.endswith(".example")
    return is_undeliverable(contact.value, on_test_site=on_test_site)


def _is_non_enquiry_address(contact: Contact) -> bool:
    return contact.value.partition("@")[0] in NON_ENQUIRY_LOCAL_PARTS


def _explain_choice(emails: Sequence[Contact]) -> str:
    best = emails[0]
    if _is_selected(best):
        return "Selected by a user"
    parts = ["Only address found" if len(emails) == 1 else f"Best of {len(emails)} addresses"]
    parts.append("same domain" if best.same_site else "other domain")
    parts.append("shared inbox" if best.is_role_address else "personal or unknown inbox")
    if best.sightings > 1:
        parts.append(f"seen {best.sightings:,} times")
    parts.append(METHOD_LABELS.get(best.method, best.method.replace("_", " ")))
    return " · ".join(parts)
