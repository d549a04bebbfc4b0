"""The page of one place: what its provider says, who found it, which business it is."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import Select, and_, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.details.business_words import hours_of, matched_in_words, price_in_words
from scrapersky.dashboard.details.deciding import deciding, rights
from scrapersky.dashboard.details.looking import open_letter
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.dashboard.searching.asked import what_of
from scrapersky.dashboard.searching.wording import provider_in_words
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import (
    DEEP_SCAN_WORDS,
    BusinessSighting,
    Domain,
    Job,
    LocalBusiness,
    Place,
    Provider,
    SearchPlace,
)
from scrapersky.models.stage_names import DEEP_SCAN_STAGE
from scrapersky.places import service
from scrapersky.places.listing import CURATION

router = APIRouter(route_class=PageRoute)

SEARCHES_SHOWN = 20
RAW_CHARACTERS = 15_000


@router.get("/places/{place_id}")
async def place_page(
    actor: Viewer, session: Reading, show: Showing, place_id: UUID
) -> HTMLResponse:
    place = await service.place_of(session, actor, place_id)
    found = (await session.execute(_searches(place.id))).all()
    return show.page(
        "details/place.html",
        title=place.name or "A place without a name",
        place=place,
        **await _business(session, place),
        searches=found,
        searches_count=found[0].total if found else 0,
        what_of=what_of,
        provider=provider_in_words(place.provider),
        is_osm=place.provider == Provider.OSM,
        can_be_asked=place.provider == Provider.GOOGLE
        and place.deep_scan_status != DEEP_SCAN_WORDS.processing,
        waits=place.deep_scan_status == DEEP_SCAN_WORDS.queued,
        failed=place.deep_scan_status == DEEP_SCAN_WORDS.failed,
        stage=DEEP_SCAN_STAGE,
        letter_id=await open_letter(session, DEEP_SCAN_STAGE, place.id),
        hours=hours_of(place.hours),
        price=price_in_words(place.price_level),
        matched=matched_in_words,
        raw=_raw(place),
        decision=deciding(CURATION, place),
        **rights(actor),
    )


async def _business(session: AsyncSession, place: Place) -> dict[str, Any]:
    """The business it is taken for and why, and that one's domain."""
    found = await session.execute(
        select(LocalBusiness, BusinessSighting, Domain)
        .outerjoin(
            BusinessSighting,
            and_(
                BusinessSighting.business_id == LocalBusiness.id,
                BusinessSighting.place_id == place.id,
            ),
        )
        .outerjoin(Domain, Domain.id == LocalBusiness.domain_id)
        .where(LocalBusiness.id == place.local_business_id)
        .limit(1)
    )
    business, sighting, domain = found.one_or_none() or (None, None, None)
    return {"business": business, "sighting": sighting, "domain": domain}


def _searches(place_id: UUID) -> Select[Any, Any, Any, Any]:
    return (
        select(SearchPlace, Job.params, Job.created_at, func.count().over().label("total"))
        .join(Job, Job.id == SearchPlace.search_id)
        .where(SearchPlace.place_id == place_id)
        .order_by(SearchPlace.seen_at.desc(), SearchPlace.search_id)
        .limit(SEARCHES_SHOWN)
    )


def _raw(place: Place) -> str:
    """The provider's own words; the beginning where there are many."""
    if not place.raw_data:
        return ""
    text = json.dumps(place.raw_data, ensure_ascii=False, indent=2)
    return text if len(text) <= RAW_CHARACTERS else text[:RAW_CHARACTERS] + "\n…"
