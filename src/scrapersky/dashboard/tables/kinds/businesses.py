"""Businesses: one row each, however many told us of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from markupsafe import Markup
from sqlalchemy import distinct, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.exporting import EXPORT
from scrapersky.businesses.listing import BUSINESSES as LISTING
from scrapersky.businesses.listing import CURATION
from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.kinds.business_cells import (
    address,
    providers,
    rating,
    website,
)
from scrapersky.dashboard.tables.table import Act, Column, Nothing, Row, Table
from scrapersky.dashboard.wording import in_words
from scrapersky.models import EXTRACTION_WORDS, BusinessSighting, Domain, SearchPlace
from scrapersky.models.stage_names import EXTRACTION_STAGE

RETRY = f"/stages/{EXTRACTION_STAGE}/rows/requeue"
_opens = cells.opens("local-businesses", cells.value("business_name"))
_extraction = cells.stage(
    "domain_extraction_status",
    "domain_extraction_error",
    failed=EXTRACTION_WORDS.failed,
    retry=RETRY,
)


@dataclass(frozen=True)
class Told:
    """A business, who told us of it, how many searches found it, and its domain."""

    row: Row
    providers: Sequence[str]
    searches: int
    domain: str | None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


async def _with_more(session: AsyncSession, rows: Sequence[Row]) -> list[Told]:
    told = await session.execute(
        select(
            BusinessSighting.business_id,
            func.array_agg(distinct(BusinessSighting.provider)),
            func.count(distinct(SearchPlace.search_id)),
        )
        .outerjoin(SearchPlace, SearchPlace.place_id == BusinessSighting.place_id)
        .where(BusinessSighting.business_id.in_([each.id for each in rows]))
        .group_by(BusinessSighting.business_id)
    )
    found = {business: (providers, searches) for business, providers, searches in told}
    names = await session.execute(
        select(Domain.id, Domain.domain).where(Domain.id.in_({each.domain_id for each in rows}))
    )
    domains: dict[UUID, str] = dict(names.all())
    return [Told(each, *found.get(each.id, ((), 0)), domains.get(each.domain_id)) for each in rows]


def _name(row: Row, may_change: bool) -> Markup:
    kind = in_words(row.categories[0]) if row.categories else None
    return _opens(row, may_change) + cells.below(kind)


def _providers(row: Row, _: bool) -> Markup:
    return providers(row.providers)


def _domain(row: Row, may_change: bool) -> Markup:
    """How far its website has come, and the domain that it led to."""
    said = _extraction(row, may_change)
    if row.domain is None:
        return said
    link = Markup('<a href="/domains/{}">{}</a>').format(row.domain_id, cells.brief(row.domain, 40))
    return link + Markup("<br>") + said


BUSINESSES = Table(
    kind="local-businesses",
    title="Businesses",
    noun="business",
    says="One row per business, whoever told us of it. Selecting one has its website become a "
    "domain. Some data © OpenStreetMap contributors.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="places",
    segments="status",
    prepare=_with_more,
    acts=(Act("Retry website", RETRY, "queued again", key="r", by_filter=False),),
    labels={
        "status": "Decision",
        "domain_extraction_status": "Domain of its website",
        "website_kind": "What its website is",
        "business_status": "In business",
        "provider": "Told by",
        "min_rating": "Rating at least",
        "min_reviews": "Reviews at least",
        "domain": "Site",
        "error": "Error says",
        "created": "Added",
        "refreshed": "Brought up to date",
        "search_id": "Search",
    },
    columns=(
        Column("business_name", "Name", _name, sort="business_name"),
        Column("status", "Decision", cells.badge("status")),
        Column("address", "Address", address("address")),
        Column("phone", "Phone", cells.whole("phone")),
        Column("website", "Website", website),
        Column("domain", "Domain", _domain, sort="domain_extraction_status"),
        Column("rating", "Rating", rating("reviews_count"), sort="rating", number=True),
        Column("providers", "Told by", _providers),
        Column("searches", "Searches", cells.number("searches"), number=True),
        Column("city", "Town", cells.text("city", 40), sort="city", usual=False),
        Column("country", "Country", cells.text("country"), usual=False),
        Column("categories", "Kinds", cells.several("categories"), usual=False),
        Column("emails", "E-mails", cells.several("emails"), usual=False),
        Column("profiles", "Profiles", cells.several("profiles"), usual=False),
        Column("business_status", "In business", cells.badge("business_status"), usual=False),
        Column("website_note", "About the website", cells.text("website_note"), usual=False),
        Column(
            "refreshed_at", "Up to date", cells.moment("refreshed_at"), "refreshed_at", usual=False
        ),
        Column("created_at", "Added", cells.moment("created_at"), sort="created_at"),
    ),
    nothing=Nothing(
        "Businesses are made of the places that searches find, or of a list of your own. Search "
        "for some, such as bakeries in Leipzig.",
        "/searches",
        "Search for businesses",
    ),
)
