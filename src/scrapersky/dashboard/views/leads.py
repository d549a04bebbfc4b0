"""The leads table and the page of one lead."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from sqlalchemy import select

from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row
from scrapersky.dashboard.details import (
    MAX_ORIGINS,
    build_decision_form,
    get_permissions,
    load_origins,
)
from scrapersky.dashboard.formats import render_badge
from scrapersky.dashboard.labels import (
    describe_extraction_method,
    describe_search,
    get_provider_label,
)
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.table import EmptyState, Table
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.leads import service
from scrapersky.leads.listing import CURATION, EXPORT
from scrapersky.leads.listing import LEADS as LISTING
from scrapersky.models import Domain

router = APIRouter(route_class=PageRoute)

MAX_CONTACTS = 50
MAX_VALUES = 10
"""Limit on each of the other addresses, numbers and profiles."""


@router.get("/leads/{lead_id}")
async def lead_page(actor: Viewer, session: Reading, show: Renderer, lead_id: UUID) -> HTMLResponse:
    lead = await service.get_lead(session, actor, lead_id)
    detail = await service.get_detail(session, lead)
    domain = await session.scalar(select(Domain).where(Domain.id == lead.domain_id))
    return show.page(
        "details/lead.html",
        title=lead.name or (domain.domain if domain else "Unnamed lead"),
        lead=detail,
        domain=domain,
        contacts=detail.contact_list[:MAX_CONTACTS],
        contact_ids={each.value: each.id for each in detail.contact_list},
        more_contacts=len(detail.contact_list) - MAX_CONTACTS,
        values_shown=MAX_VALUES,
        decision=build_decision_form(CURATION, lead),
        how=describe_extraction_method,
        origins=await load_origins(session, lead.domain_id, lead.local_business_id),
        origins_shown=MAX_ORIGINS,
        what_of=describe_search,
        provider=get_provider_label,
        **get_permissions(actor),
    )


_name_link = cells.row_link(
    "leads", lambda row: row.name or (row.website or "").split("://", 1)[-1]
)


def _name(row: Row, may_change: bool) -> Markup:
    return _name_link(row, may_change) + cells.subtext(row.category)


def _email(row: Row, _: bool) -> Markup:
    """Render the best address and why it was chosen, or why there is none."""
    if row.best_email:
        return cells.shorten(row.best_email) + cells.subtext(row.best_email_why)
    if not row.why_empty:
        return cells.shorten(None)
    return render_badge(row.why_empty) + cells.subtext(row.why_empty_detail)


LEADS_TABLE = Table(
    kind="leads",
    title="Leads",
    noun="lead",
    says="One row per business, with its best contact or the reason there is none.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="domains",
    segments="lead_curation_status",
    labels={"is_empty": "No contact", "has_email": "Has e-mail"},
    order="name lead_curation_status best_email phone website contacts",
    cells={"name": _name, "best_email": _email},
    nothing=EmptyState(
        "Leads come from your sites. Import a list of domains, and each becomes a lead as soon as "
        "its pages are read.",
        "/import?kind=domains",
        "Import domains",
    ),
)
