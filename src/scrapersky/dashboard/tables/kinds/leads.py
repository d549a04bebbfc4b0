"""Leads: one row per business."""

from __future__ import annotations

from markupsafe import Markup

from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.table import Column, Nothing, Row, Table
from scrapersky.dashboard.wording import badge
from scrapersky.leads.exporting import EXPORT
from scrapersky.leads.listing import CURATION
from scrapersky.leads.listing import LEADS as LISTING

_opens = cells.opens("leads", lambda row: row.name or (row.website or "").split("://", 1)[-1])


def _name(row: Row, may_change: bool) -> Markup:
    return _opens(row, may_change) + cells.below(row.category)


def _email(row: Row, _: bool) -> Markup:
    """Whom to write to and why that one, or why nobody is known."""
    if row.best_email:
        return cells.brief(row.best_email) + cells.below(row.best_email_why)
    if not row.why_empty:
        return cells.brief(None)
    return badge(row.why_empty) + cells.below(row.why_empty_detail)


LEADS = Table(
    kind="leads",
    title="Leads",
    noun="lead",
    says="One row per business: whom to write to, or why nobody is known.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="domains",
    segments="lead_curation_status",
    labels={
        "lead_curation_status": "Decision",
        "why_empty": "Why no contact",
        "is_empty": "Has no contact",
        "has_email": "Has an e-mail",
        "domain": "Site",
        "created": "Added",
        "updated": "Changed",
    },
    columns=(
        Column("name", "Name", _name, sort="name"),
        Column("lead_curation_status", "Decision", cells.badge("lead_curation_status")),
        Column("best_email", "E-mail", _email),
        Column("phone", "Phone", cells.whole("phone")),
        Column("website", "Website", cells.site("website")),
        Column("category", "Category", cells.text("category", 40), usual=False),
        Column("address", "Address", cells.text("address", 60), usual=False),
        Column("contacts", "Contacts", cells.number("contacts"), sort="contacts", number=True),
        Column("other_emails", "Other e-mails", cells.several("other_emails"), usual=False),
        Column("other_phones", "Other phones", cells.several("other_phones"), usual=False),
        Column("profiles", "Profiles", cells.several("profiles"), usual=False),
        Column("rating", "Rating", cells.number("rating"), "rating", number=True, usual=False),
        Column("reviews", "Reviews", cells.number("reviews_count"), number=True, usual=False),
        Column("created_at", "Added", cells.moment("created_at"), sort="created_at"),
        Column("updated_at", "Changed", cells.moment("updated_at"), "updated_at", usual=False),
    ),
    nothing=Nothing(
        "Leads are made of the sites you hand in: give a list of domains, and each becomes a row "
        "here as soon as its pages were read.",
        "/import?kind=domains",
        "Hand in domains",
    ),
)
