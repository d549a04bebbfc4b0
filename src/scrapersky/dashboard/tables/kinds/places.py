"""Places: each as one provider knows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from markupsafe import Markup
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.kinds.business_cells import (
    address,
    providers,
    rating,
    website,
)
from scrapersky.dashboard.tables.table import Act, Column, Nothing, Row, Table
from scrapersky.dashboard.wording import NOTHING, badge, in_words
from scrapersky.models import DEEP_SCAN_WORDS, LocalBusiness, SearchPlace
from scrapersky.models.stage_names import DEEP_SCAN_STAGE
from scrapersky.places.exporting import EXPORT
from scrapersky.places.listing import CURATION
from scrapersky.places.listing import PLACES as LISTING

RETRY = f"/stages/{DEEP_SCAN_STAGE}/rows/requeue"
_opens = cells.opens("places", cells.value("name"))
_scan = cells.stage(
    "deep_scan_status", "deep_scan_error", failed=DEEP_SCAN_WORDS.failed, retry=RETRY
)


@dataclass(frozen=True)
class Seen:
    """A place, what its website is, and how many searches found it."""

    row: Row
    website_kind: str | None
    searches: int

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


async def _with_more(session: AsyncSession, rows: Sequence[Row]) -> list[Seen]:
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
        Seen(each, kinds.get(each.local_business_id), searches.get(each.id, 0)) for each in rows
    ]


def _name(row: Row, may_change: bool) -> Markup:
    return _opens(row, may_change) + cells.below(in_words(row.category))


def _provider(row: Row, _: bool) -> Markup:
    return providers([row.provider])


def _business(row: Row, _: bool) -> Markup:
    if row.local_business_id is None:
        return NOTHING
    return Markup('<a href="/local-businesses/{}">its business</a>').format(row.local_business_id)


def _state(row: Row, _: bool) -> Markup:
    """What one should know before writing to it."""
    gone = "gone" if row.gone_at else "moved" if row.moved_to else None
    return badge(gone or row.business_status)


PLACES = Table(
    kind="places",
    title="Places",
    noun="place",
    says="What searches found, each as one provider knows it; the same business of several "
    "providers is one row under Businesses. Some data © OpenStreetMap contributors.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="places",
    segments="status",
    prepare=_with_more,
    acts=(
        Act("Retry deep scan", RETRY, "queued again", key="r", by_filter=False),
        Act("Ask Google anew (costs)", "/places/refresh", "asked for anew", danger=True),
    ),
    labels={
        "status": "Decision",
        "deep_scan_status": "Deep scan",
        "business_status": "In business",
        "has_details": "Has all details",
        "has_business": "Has a business",
        "is_gone": "Gone at the provider",
        "has_moved": "Has moved",
        "is_service_area": "Comes to its customers",
        "min_rating": "Rating at least",
        "min_ratings": "Ratings at least",
        "fits": "Passes its search's filters",
        "place_id": "Provider's id",
        "error": "Error says",
        "created": "Found",
        "seen": "Last seen",
        "details": "Details from",
        "search_id": "Search",
        "local_business_id": "Business",
    },
    columns=(
        Column("name", "Name", _name, sort="name"),
        Column("status", "Decision", cells.badge("status")),
        Column("address", "Address", address("formatted_address")),
        Column("phone", "Phone", cells.whole("phone")),
        Column("website", "Website", website),
        Column("deep_scan_status", "Deep scan", _scan, sort="deep_scan_status"),
        Column("rating", "Rating", rating("user_ratings_total"), sort="rating", number=True),
        Column("provider", "Provider", _provider),
        Column("searches", "Searches", cells.number("searches"), number=True),
        Column("business", "Business", _business),
        Column("state", "In business", _state, usual=False),
        Column("category", "Category", cells.word("category"), sort="category", usual=False),
        Column("types", "Types", cells.several("types"), usual=False),
        Column("emails", "E-mails", cells.several("emails"), usual=False),
        Column("map", "On the map", cells.site("maps_url"), usual=False),
        Column("details_at", "Details from", cells.moment("details_at"), "details_at", usual=False),
        Column("seen_at", "Last seen", cells.moment("seen_at"), "seen_at", usual=False),
        Column("created_at", "Found", cells.moment("created_at"), sort="created_at"),
    ),
    nothing=Nothing(
        "Places are what searches find: say what and where, such as bakeries in Leipzig, and each "
        "place found stands here, with its website, number and rating.",
        "/searches",
        "Search for places",
    ),
)
