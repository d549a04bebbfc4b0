"""Contacts as a file: one line per address, number or profile; never one that is suppressed."""

from __future__ import annotations

from scrapersky.contacts.listing import CONTACTS
from scrapersky.harvest.suppressing import ways_to_be_suppressed
from scrapersky.http.lists import Export, field
from scrapersky.models import Contact, Domain, Page

EXPORT = Export(
    listing=CONTACTS,
    rows="contacts",
    usual=(
        field("domain", Domain.domain),
        field("kind", Contact.kind),
        field("value", Contact.value, "Contact"),
        field("name", Contact.name),
        field("role", Contact.role),
        field("email_type", Contact.email_type, "E-mail type"),
        field("confidence", Contact.confidence),
        field("method", Contact.method, "Found by"),
        field("page_url", Page.url, "Page"),
        field("snippet", Contact.snippet, "Stands in"),
        field("last_seen_at", Contact.last_seen_at, "Last seen"),
        field("contact_curation_status", Contact.contact_curation_status, "Curation"),
        field("note", Contact.note),
    ),
    more=(
        field("id", Contact.id),
        field("domain_id", Contact.domain_id),
        field("page_id", Contact.page_id),
        field("raw", Contact.raw, "As written"),
        field("is_role_address", Contact.is_role_address, "Role address"),
        field("same_site", Contact.same_site),
        field("sightings", Contact.sightings),
        field("edited_at", Contact.edited_at, "Edited"),
        field("created_by", Contact.created_by, "Added by"),
        field("created_at", Contact.created_at, "Added"),
        field("updated_at", Contact.updated_at, "Changed"),
    ),
    beside=((Domain, Domain.id == Contact.domain_id), (Page, Page.id == Contact.page_id)),
    only=tuple(~each for each in ways_to_be_suppressed(Contact, Domain.domain)),
)
