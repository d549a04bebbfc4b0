"""The places table and the page of one place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from sqlalchemy import Select, and_, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row, address_text, provider_list, rating, website
from scrapersky.dashboard.details import build_decision_form, find_open_dead_letter, get_permissions
from scrapersky.dashboard.formats import EMPTY_VALUE, humanize, render_badge
from scrapersky.dashboard.labels import (
    describe_match,
    describe_price,
    describe_search,
    format_hours,
    get_provider_label,
)
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.table import EmptyState, Table, TableAction, TableColumn
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import (
    DEEP_SCAN_STATUSES,
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
from scrapersky.places.listing import CURATION, EXPORT
from scrapersky.places.listing import PLACES as LISTING

router = APIRouter(route_class=PageRoute)

MAX_SEARCHES = 20
MAX_RAW_LENGTH = 15_000


@router.get("/places/{place_id}")
async def place_page(
    actor: Viewer, session: Reading, show: Renderer, place_id: UUID
) -> HTMLResponse:
    place = await service.get_place(session, actor, place_id)
    rows = (await session.execute(_build_searches_query(place.id))).all()
    return show.page(
        "details/place.html",
        title=place.name or "Unnamed place",
        place=place,
        **await _load_business(session, place),
        searches=rows,
        searches_count=rows[0].total if rows else 0,
        what_of=describe_search,
        provider=get_provider_label(place.provider),
        is_osm=place.provider == Provider.OSM,
        can_be_asked=place.provider == Provider.GOOGLE
        and place.deep_scan_status != DEEP_SCAN_STATUSES.processing,
        waits=place.deep_scan_status == DEEP_SCAN_STATUSES.queued,
        failed=place.deep_scan_status == DEEP_SCAN_STATUSES.failed,
        stage=DEEP_SCAN_STAGE,
        letter_id=await find_open_dead_letter(session, DEEP_SCAN_STAGE, place.id),
        hours=format_hours(place.hours),
        price=describe_price(place.price_level),
        matched=describe_match,
        raw=_format_raw_data(place),
        decision=build_decision_form(CURATION, place),
        **get_permissions(actor),
    )


async def _load_business(session: AsyncSession, place: Place) -> dict[str, Any]:
    """Load the business it was matched to, the reason, and the domain."""
    result = await session.execute(
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
    business, sighting, domain = result.one_or_none() or (None, None, None)
    return {"business": business, "sighting": sighting, "domain": domain}


def _build_searches_query(place_id: UUID) -> Select[Any, Any, Any, Any]:
    return (
        select(SearchPlace, Job.params, Job.created_at, func.count().over().label("total"))
        .join(Job, Job.id == SearchPlace.search_id)
        .where(SearchPlace.place_id == place_id)
        .order_by(SearchPlace.seen_at.desc(), SearchPlace.search_id)
        .limit(MAX_SEARCHES)
    )


def _format_raw_data(place: Place) -> str:
    """Return the provider's response as JSON, truncated."""
    if not place.raw_data:
        return ""
    text = json.dumps(place.raw_data, ensure_ascii=False, indent=2)
    return text if len(text) <= MAX_RAW_LENGTH else text[:MAX_RAW_LENGTH] + "\n…"


RETRY_PATH = f"/stages/{DEEP_SCAN_STAGE}/rows/requeue"
_name_link = cells.row_link("places", cells.attribute("name"))
_scan = cells.stage(
    "deep_scan_status", "deep_scan_error", failed=DEEP_SCAN_STATUSES.failed, retry=RETRY_PATH
)


@dataclass(frozen=True)
class PlaceRow:
    """A place with its website type and number of searches."""

    row: Row
    website_kind: str | None
    searches: int

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


async def _load_rows(session: AsyncSession, rows: Sequence[Row]) -> list[PlaceRow]:
    ids = [each.id for each in rows]
    counted = await session.execute(
        select(SearchPlace.place_id, func.count())
        .where(SearchPlace.place_id.in_(ids))
        .group_by(SearchPlace.place_id)
    )
    searches: dict[UUID, int] = dict(counted.all())
    businesses = {each.local_business_id for each in rows}
    known = await session.execute(
        select(LocalBusiness.id, LocalBusiness.website_kind).where(LocalBusiness.id.in_(businesses))
    )
    kinds: dict[UUID | None, str | None] = dict(known.all())
    return [
        PlaceRow(each, kinds.get(each.local_business_id), searches.get(each.id, 0)) for each in rows
    ]


def _name(row: Row, may_change: bool) -> Markup:
    return _name_link(row, may_change) + cells.subtext(humanize(row.category))


def _provider(row: Row, _: bool) -> Markup:
    return provider_list([row.provider])


def _business_cell(row: Row, _: bool) -> Markup:
    if row.local_business_id is None:
        return EMPTY_VALUE
    return Markup('<a href="/local-businesses/{}">View business</a>').format(row.local_business_id)


def _state(row: Row, _: bool) -> Markup:
    """Render whether it is open, closed, moved or gone."""
    gone = "gone" if row.gone_at else "moved" if row.moved_to else None
    return render_badge(gone or row.business_status)


PLACES_TABLE = Table(
    kind="places",
    title="Places",
    noun="place",
    says="Search results as each provider reports them. Duplicates across providers are merged "
    "under Businesses. Some data © OpenStreetMap contributors.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="places",
    segments="status",
    prepare=_load_rows,
    acts=(
        TableAction("Retry details", RETRY_PATH, "queued for retry", key="r", by_filter=False),
        TableAction(
            "Refresh from Google (paid)", "/places/refresh", "queued for refresh", danger=True
        ),
    ),
    labels={
        "is_gone": "Removed by provider",
        "fits": "Matches search filters",
        "error": "Error contains",
        "search_id": "Search",
    },
    order="name status formatted_address phone website_url deep_scan_status rating provider "
    "searches business",
    cells={
        "name": _name,
        "formatted_address": address_text("formatted_address"),
        "website_url": website,
        "deep_scan_status": _scan,
        "rating": rating("user_ratings_total"),
        "provider": _provider,
        "business_status": _state,
    },
    extra=(
        TableColumn(
            "searches", "Searches", lambda row, _: cells.render_number(row.searches), number=True
        ),
        TableColumn("business", "Business", _business_cell),
    ),
    nothing=EmptyState(
        "Places are search results. Search for example for bakeries in Leipzig; each place "
        "appears here with its website, phone number and rating.",
        "/searches",
        "Search for places",
    ),
)
