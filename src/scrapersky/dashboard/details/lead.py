"""The page of one lead: the business card, and why the best address is the best."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import select

from scrapersky.dashboard.details.deciding import deciding, rights
from scrapersky.dashboard.details.evidence import method_in_words
from scrapersky.dashboard.details.origin import BUSINESSES_SHOWN, origins_of
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.dashboard.searching.asked import what_of
from scrapersky.dashboard.searching.wording import provider_in_words
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.leads import service
from scrapersky.leads.listing import CURATION
from scrapersky.models import Domain

router = APIRouter(route_class=PageRoute)

CONTACTS_SHOWN = 50
VALUES_SHOWN = 10
"""Of other addresses, numbers and profiles each."""


@router.get("/leads/{lead_id}")
async def lead_page(actor: Viewer, session: Reading, show: Showing, lead_id: UUID) -> HTMLResponse:
    lead = await service.lead_of(session, actor, lead_id)
    detail = await service.detail(session, lead)
    domain = await session.scalar(select(Domain).where(Domain.id == lead.domain_id))
    return show.page(
        "details/lead.html",
        title=lead.name or (domain.domain if domain else "A lead without a name"),
        lead=detail,
        domain=domain,
        contacts=detail.contact_list[:CONTACTS_SHOWN],
        contact_ids={each.value: each.id for each in detail.contact_list},
        more_contacts=len(detail.contact_list) - CONTACTS_SHOWN,
        values_shown=VALUES_SHOWN,
        decision=deciding(CURATION, lead),
        how=method_in_words,
        origins=await origins_of(session, lead.domain_id, lead.local_business_id),
        origins_shown=BUSINESSES_SHOWN,
        what_of=what_of,
        provider=provider_in_words,
        **rights(actor),
    )
