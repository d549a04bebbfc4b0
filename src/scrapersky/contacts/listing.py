"""Contact and suppression lists and the contact export: columns, filters and curation."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, select

from scrapersky.leads.build import refresh_curated_leads
from scrapersky.lists import (
    OPTIONAL,
    SHOWN,
    BooleanFilter,
    CellKind,
    ChoiceFilter,
    Column,
    ConditionFilter,
    Curation,
    DomainFilter,
    Export,
    Listing,
    MinimumFilter,
    PresenceFilter,
    TextFilter,
    build_curation_column,
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


def _match_suppressed(wanted: bool, _: Actor) -> ColumnElement[bool]:
    return is_suppressed(Contact) if wanted else ~is_suppressed(Contact)


def _match_evidence_pages(pages: Sequence[UUID], actor: Actor) -> ColumnElement[bool]:
    """Match contacts with any evidence on these pages, not only their best evidence."""
    seen = select(ContactEvidence.contact_id).where(
        ContactEvidence.tenant_id == actor.tenant_id,
        ContactEvidence.page_id.in_(sorted(set(pages))),
    )
    return Contact.id.in_(seen)


CONTACTS = Listing(
    name="Contact",
    model=Contact,
    columns=(
        Column(
            Domain.domain,
            label="Site",
            table=SHOWN,
            cell=CellKind.NOWRAP,
            cli=True,
            example="bakery.de",
        ),
        Column(Contact.kind, filter=ContactKind, table=SHOWN, cli=True, example="email"),
        Column(
            Contact.value,
            "Contact",
            filter=ChoiceFilter(says="Exact e-mail address, phone number or profile URL."),
            sort=True,
            table=SHOWN,
            cli=True,
            example="info@bakery.de",
        ),
        Column(
            Contact.name,
            label="Person",
            filter=(TextFilter(), PresenceFilter("has_name")),
            table=SHOWN,
            cli=True,
        ),
        Column(Contact.role, filter=TextFilter()),
        Column(Contact.email_type, "E-mail type", filter=EmailType, cli=True, example="SERVICE"),
        Column(
            Contact.confidence,
            filter=MinimumFilter("min_confidence", highest=1, says="Minimum confidence (0–1)."),
            sort=True,
            table=SHOWN,
            cli=True,
        ),
        Column(
            Contact.method,
            "Found by",
            "Method",
            filter=ChoiceFilter(
                says="Extraction method of the best evidence: mailto, json_ld, manual, …"
            ),
            table=OPTIONAL,
            cell=CellKind.WORD,
            cli=True,
            says="`manual` if a user added it.",
            example="mailto",
        ),
        Column(Page.url, "Page", "Found on", name="page_url", table=SHOWN, cell=CellKind.LINK),
        Column(Contact.snippet, table=OPTIONAL),
        Column(Contact.last_seen_at, "Last seen", filter=True, sort=True, table=SHOWN),
        build_curation_column(Contact.contact_curation_status, ContactCuration, cli=True),
        Column(Contact.note, table=OPTIONAL),
    ),
    more=(
        Column(Contact.id),
        Column(Contact.domain_id, filter=(DomainFilter(), True)),
        Column(
            Contact.page_id,
            filter=ConditionFilter(
                "page_id",
                list[UUID],
                "Only contacts found on this page. Repeatable.",
                _match_evidence_pages,
            ),
            says="The page with the best evidence.",
        ),
        Column(Contact.raw, "As written", says="As written on the page."),
        Column(
            Contact.is_role_address,
            "Shared inbox",
            filter=BooleanFilter(says="Shared inboxes such as info@ and office@."),
        ),
        Column(
            Contact.same_site,
            label="Same domain",
            filter=BooleanFilter(says="Addresses at the site's own domain."),
        ),
        Column(Contact.sightings, label="Seen", table=OPTIONAL),
        Column(Contact.edited_at, "Edited"),
        Column(Contact.created_by, "Added by", filter=True),
        Column(Contact.created_at, "Added", filter=True, sort=True, table=OPTIONAL),
        Column(Contact.updated_at, "Changed"),
    ),
    filters=(
        TextFilter(
            "search",
            columns=(Contact.value, Contact.name, Contact.role, Contact.note),
            says="Part of the value, name, role or note.",
        ),
        ConditionFilter(
            "suppressed",
            bool,
            "Whether the value, its domain or its site is on the suppression list.",
            _match_suppressed,
        ),
    ),
)

CURATION = Curation(
    CONTACTS, Contact.contact_curation_status, ContactCuration, then=refresh_curated_leads
)

EXPORT = Export(
    CONTACTS,
    "contacts",
    beside=((Domain, Domain.id == Contact.domain_id), (Page, Page.id == Contact.page_id)),
    only=tuple(~each for each in build_suppression_conditions(Contact, Domain.domain)),
)

SUPPRESSIONS = Listing(
    name="Suppression",
    model=Suppression,
    columns=(
        Column(Suppression.id),
        Column(
            Suppression.kind,
            filter=SuppressionKind,
            table=SHOWN,
            cell=CellKind.WORD,
            cli=True,
            example="email",
        ),
        Column(
            Suppression.value,
            filter=ChoiceFilter(says="Exact e-mail address, phone number or domain."),
            sort=True,
            table=SHOWN,
            cli=True,
            says="Null for an erased person.",
        ),
        Column(Suppression.reason, table=SHOWN, cli=True),
        Column(Suppression.created_by, "Added by", filter=True),
        Column(Suppression.created_at, "Added", filter=True, sort=True, table=SHOWN, cli=True),
    ),
    filters=(
        TextFilter(
            "search",
            columns=(Suppression.value, Suppression.reason),
            says="Part of the value or reason.",
        ),
    ),
)
