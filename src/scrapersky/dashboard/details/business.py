"""The page of one business: what is known and from whom, and its way to whom one can write to."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.listing import CURATION
from scrapersky.dashboard.details import domain_parts
from scrapersky.dashboard.details.business_chain import chain_of
from scrapersky.dashboard.details.business_parts import (
    Head,
    doubles_of,
    head_of,
    said_by,
    searches_of,
    sightings_of,
)
from scrapersky.dashboard.details.business_words import hours_of, matched_in_words, price_in_words
from scrapersky.dashboard.details.deciding import deciding, rights
from scrapersky.dashboard.details.evidence import method_in_words
from scrapersky.dashboard.details.looking import open_letter
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.dashboard.searching.asked import what_of
from scrapersky.dashboard.searching.wording import provider_in_words
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import EXTRACTION_WORDS, Domain, Provider
from scrapersky.models.stage_names import EXTRACTION_STAGE

router = APIRouter(route_class=PageRoute)

ENDED = (EXTRACTION_WORDS.done, EXTRACTION_WORDS.failed)


@router.get("/local-businesses/{business_id}")
async def business_page(
    actor: Viewer, session: Reading, show: Showing, business_id: UUID
) -> HTMLResponse:
    head = await head_of(session, actor, business_id)
    found = (await session.execute(searches_of(business_id))).all()
    return show.page(
        "details/business.html",
        title=head.business.business_name or "A business without a name",
        business=head.business,
        domain=head.domain,
        lead=head.lead,
        maker=head.maker,
        searches=found,
        searches_count=found[0].total if found else 0,
        doubles=await doubles_of(session, business_id),
        **await _sighted_and_come(session, head),
        **_words(head),
        letter_id=await open_letter(session, EXTRACTION_STAGE, business_id),
        stage=EXTRACTION_STAGE,
        can_be_read_again=head.business.domain_extraction_status in ENDED,
        decision=deciding(CURATION, head.business),
        **rights(actor),
    )


async def _sighted_and_come(session: AsyncSession, head: Head) -> dict[str, Any]:
    """Who told us of it, and how far it has come with that."""
    sightings = await sightings_of(session, head.business.id)
    places = [place for _, place in sightings if place is not None]
    pages = await domain_parts.page_counts(session, head.domain.id) if head.domain else None
    return {
        "sightings": sightings,
        "asked": [each for each in places if each.provider == Provider.GOOGLE],
        "is_osm": any(sighting.provider == Provider.OSM for sighting, _ in sightings),
        "steps": chain_of(head.business, places, head.domain, pages, head.lead),
        **await _contacts(session, head.domain),
    }


async def _contacts(session: AsyncSession, domain: Domain | None) -> dict[str, Any]:
    if domain is None:
        return {"contacts": (), "contact_count": 0}
    contacts, count = await domain_parts.first_contacts(session, domain.id)
    return {"contacts": contacts, "contact_count": count}


def _words(head: Head) -> dict[str, Any]:
    return {
        "hours": hours_of(head.business.hours),
        "price": price_in_words(head.business.price_level),
        "matched": matched_in_words,
        "provider": provider_in_words,
        "said_by": said_by,
        "what_of": what_of,
        "how": method_in_words,
    }
