"""Contacts: one row per address, number or profile of a site."""

from __future__ import annotations

from markupsafe import Markup

from scrapersky.contacts import looking
from scrapersky.contacts.exporting import EXPORT
from scrapersky.contacts.listing import CONTACTS as LISTING
from scrapersky.contacts.listing import CURATION
from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.table import Column, Nothing, Row, Table

HUSHED = Markup(' <span class="badge bad" title="On the do-not-contact list">do not contact</span>')


def _value(row: Row, may_change: bool) -> Markup:
    shown = cells.opens("contacts", cells.value("value"))(row, may_change)
    return shown + HUSHED if row.suppressed else shown


def _name(row: Row, _: bool) -> Markup:
    return cells.brief(row.name, 50) + cells.below(row.role)


def _kind(row: Row, _: bool) -> Markup:
    return cells.brief(row.kind) + cells.below((row.email_type or "").lower())


def _percent(row: Row, _: bool) -> Markup:
    return Markup("{:.0f} %").format(row.confidence * 100)


CONTACTS = Table(
    kind="contacts",
    title="Contacts",
    noun="contact",
    says="Every address, number and profile that a page shows, with where it stands.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="pages",
    segments="contact_curation_status",
    prepare=looking.shown,
    labels={
        "contact_curation_status": "Decision",
        "email_type": "E-mail type",
        "method": "Found by",
        "domain": "Site",
        "has_name": "Has a name",
        "is_role_address": "Is a desk's address",
        "same_site": "Is at its own site",
        "min_confidence": "At least as sure as",
        "suppressed": "Do not contact",
        "created": "Added",
        "last_seen": "Last seen",
    },
    columns=(
        Column("value", "Contact", _value, sort="value"),
        Column("kind", "Kind", _kind),
        Column("contact_curation_status", "Decision", cells.badge("contact_curation_status")),
        Column("name", "Name", _name),
        Column("domain", "Site", cells.whole("domain", 60)),
        Column("page_url", "Stands on", cells.site("page_url")),
        Column("snippet", "Stands in", cells.text("snippet", 80), usual=False),
        Column("confidence", "Sure", _percent, sort="confidence", number=True),
        Column("method", "Found by", cells.word("method"), usual=False),
        Column("sightings", "Seen", cells.number("sightings"), number=True, usual=False),
        Column("note", "Note", cells.text("note"), usual=False),
        Column("last_seen_at", "Last seen", cells.moment("last_seen_at"), sort="last_seen_at"),
        Column("created_at", "Added", cells.moment("created_at"), "created_at", usual=False),
    ),
    nothing=Nothing(
        "Contacts are found on pages. Hand in domains or single pages, and what they publish "
        "stands here.",
        "/import?kind=pages",
        "Hand in pages",
    ),
)
