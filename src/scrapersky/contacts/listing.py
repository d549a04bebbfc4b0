"""The lists of contacts and of suppressions: how they can be narrowed and sorted."""

from __future__ import annotations

from scrapersky.contacts.filters import SeenOn, Suppressed
from scrapersky.harvest.leads import leads_after_decision
from scrapersky.http.lists import (
    AtLeast,
    Contains,
    Curation,
    Has,
    Is,
    Listing,
    OfDomain,
    OneOf,
    When,
)
from scrapersky.models import (
    Contact,
    ContactCuration,
    ContactKind,
    EmailType,
    Suppression,
    SuppressionKind,
)

CONTACTS = Listing(
    name="Contact",
    model=Contact,
    filters=(
        OneOf("kind", Contact.kind, words=tuple(each.value for each in ContactKind)),
        OneOf("email_type", Contact.email_type, words=tuple(each.value for each in EmailType)),
        OneOf(
            "contact_curation_status",
            Contact.contact_curation_status,
            words=tuple(each.value for each in ContactCuration),
        ),
        OneOf("method", Contact.method, says="Only found best so: mailto, json_ld, manual, …"),
        OfDomain(Contact.domain_id),
        OneOf("domain_id", Contact.domain_id),
        SeenOn(),
        OneOf("value", Contact.value, says="Exactly this address, number or profile."),
        Contains(
            "search",
            (Contact.value, Contact.name, Contact.role, Contact.note),
            says="In the value, the name, the role or the note.",
        ),
        Contains("name", (Contact.name,)),
        Contains("role", (Contact.role,)),
        Has("has_name", Contact.name),
        Is("is_role_address", Contact.is_role_address, "Whether it is a desk's: info@, office@."),
        Is("same_site", Contact.same_site, "Whether an address is at its site's own domain."),
        AtLeast("min_confidence", Contact.confidence, 1, "As sure as this at least: 0 to 1."),
        Suppressed(),
        OneOf("created_by", Contact.created_by),
        When("created", Contact.created_at),
        When("last_seen", Contact.last_seen_at),
    ),
    sorts={
        "created_at": Contact.created_at,
        "last_seen_at": Contact.last_seen_at,
        "confidence": Contact.confidence,
        "value": Contact.value,
    },
)

CURATION = Curation(
    CONTACTS, Contact.contact_curation_status, ContactCuration, then=leads_after_decision
)

SUPPRESSIONS = Listing(
    name="Suppression",
    model=Suppression,
    filters=(
        OneOf("kind", Suppression.kind, words=tuple(each.value for each in SuppressionKind)),
        OneOf("value", Suppression.value, says="Exactly this address, number or domain."),
        Contains("search", (Suppression.value, Suppression.reason), says="In value or reason."),
        OneOf("created_by", Suppression.created_by),
        When("created", Suppression.created_at),
    ),
    sorts={"created_at": Suppression.created_at, "value": Suppression.value},
)
