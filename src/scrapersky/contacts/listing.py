"""Contact and suppression lists and the contact export: filters, sorting, columns, curation."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from pydantic import Field
from sqlalchemy import select

from scrapersky.leads.build import refresh_curated_leads
from scrapersky.lists import (
    BooleanFilter,
    ChoiceFilter,
    Curation,
    DateRangeFilter,
    DomainFilter,
    Export,
    Listing,
    MinimumFilter,
    PresenceFilter,
    TextFilter,
    export_field,
)
from scrapersky.lists.filters import (
    MAX_FILTER_VALUES,
    FilterConditions,
    FilterParameters,
    FilterValues,
)
from scrapersky.models import (
    Actor,
    Contact,
    ContactCuration,
    ContactEvidence,
    ContactKind,
    Domain,
    EmailType,
    Page,
    Suppression,
    SuppressionKind,
)
from scrapersky.models.suppression import build_suppression_conditions, is_suppressed


@dataclass(frozen=True)
class SuppressedFilter:
    name: str = "suppressed"

    def parameters(self) -> FilterParameters:
        said = "Whether the value, its domain or its site is on the suppression list."
        return {self.name: (bool | None, Field(None, description=said))}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (wanted := given.get(self.name)) is not None:
            yield is_suppressed(Contact) if wanted else ~is_suppressed(Contact)


@dataclass(frozen=True)
class EvidencePageFilter:
    """Filter by pages with evidence for the contact, not only its best evidence."""

    name: str = "page_id"

    def parameters(self) -> FilterParameters:
        said = "Only contacts found on this page. Repeatable."
        given = Field(None, max_length=MAX_FILTER_VALUES, description=said)
        return {self.name: (list[UUID] | None, given)}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (pages := given.get(self.name)) is not None:
            seen = select(ContactEvidence.contact_id).where(
                ContactEvidence.tenant_id == actor.tenant_id,
                ContactEvidence.page_id.in_(sorted(set(pages))),
            )
            yield Contact.id.in_(seen)


CONTACTS = Listing(
    name="Contact",
    model=Contact,
    filters=(
        ChoiceFilter("kind", Contact.kind, words=tuple(each.value for each in ContactKind)),
        ChoiceFilter(
            "email_type", Contact.email_type, words=tuple(each.value for each in EmailType)
        ),
        ChoiceFilter(
            "contact_curation_status",
            Contact.contact_curation_status,
            words=tuple(each.value for each in ContactCuration),
        ),
        ChoiceFilter(
            "method",
            Contact.method,
            says="Extraction method of the best evidence: mailto, json_ld, manual, …",
        ),
        DomainFilter(Contact.domain_id),
        ChoiceFilter("domain_id", Contact.domain_id),
        EvidencePageFilter(),
        ChoiceFilter(
            "value", Contact.value, says="Exact e-mail address, phone number or profile URL."
        ),
        TextFilter(
            "search",
            (Contact.value, Contact.name, Contact.role, Contact.note),
            says="Part of the value, name, role or note.",
        ),
        TextFilter("name", (Contact.name,)),
        TextFilter("role", (Contact.role,)),
        PresenceFilter("has_name", Contact.name),
        BooleanFilter(
            "is_role_address", Contact.is_role_address, "Shared inboxes such as info@ and office@."
        ),
        BooleanFilter("same_site", Contact.same_site, "Addresses at the site's own domain."),
        MinimumFilter("min_confidence", Contact.confidence, 1, "Minimum confidence (0–1)."),
        SuppressedFilter(),
        ChoiceFilter("created_by", Contact.created_by),
        DateRangeFilter("created", Contact.created_at),
        DateRangeFilter("last_seen", Contact.last_seen_at),
    ),
    sorts={
        "created_at": Contact.created_at,
        "last_seen_at": Contact.last_seen_at,
        "confidence": Contact.confidence,
        "value": Contact.value,
    },
)

CURATION = Curation(
    CONTACTS, Contact.contact_curation_status, ContactCuration, then=refresh_curated_leads
)

SUPPRESSIONS = Listing(
    name="Suppression",
    model=Suppression,
    filters=(
        ChoiceFilter("kind", Suppression.kind, words=tuple(each.value for each in SuppressionKind)),
        ChoiceFilter(
            "value", Suppression.value, says="Exact e-mail address, phone number or domain."
        ),
        TextFilter(
            "search", (Suppression.value, Suppression.reason), says="Part of the value or reason."
        ),
        ChoiceFilter("created_by", Suppression.created_by),
        DateRangeFilter("created", Suppression.created_at),
    ),
    sorts={"created_at": Suppression.created_at, "value": Suppression.value},
)


EXPORT = Export(
    listing=CONTACTS,
    rows="contacts",
    usual=(
        export_field("domain", Domain.domain),
        export_field("kind", Contact.kind),
        export_field("value", Contact.value, "Contact"),
        export_field("name", Contact.name),
        export_field("role", Contact.role),
        export_field("email_type", Contact.email_type, "E-mail type"),
        export_field("confidence", Contact.confidence),
        export_field("method", Contact.method, "Found by"),
        export_field("page_url", Page.url, "Page"),
        export_field("snippet", Contact.snippet, "Snippet"),
        export_field("last_seen_at", Contact.last_seen_at, "Last seen"),
        export_field("contact_curation_status", Contact.contact_curation_status, "Curation"),
        export_field("note", Contact.note),
    ),
    more=(
        export_field("id", Contact.id),
        export_field("domain_id", Contact.domain_id),
        export_field("page_id", Contact.page_id),
        export_field("raw", Contact.raw, "As written"),
        export_field("is_role_address", Contact.is_role_address, "Shared inbox"),
        export_field("same_site", Contact.same_site),
        export_field("sightings", Contact.sightings),
        export_field("edited_at", Contact.edited_at, "Edited"),
        export_field("created_by", Contact.created_by, "Added by"),
        export_field("created_at", Contact.created_at, "Added"),
        export_field("updated_at", Contact.updated_at, "Changed"),
    ),
    beside=((Domain, Domain.id == Contact.domain_id), (Page, Page.id == Contact.page_id)),
    only=tuple(~each for each in build_suppression_conditions(Contact, Domain.domain)),
)
