"""What a search brought: the newest places with how far each has come, and how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Label, Subquery, and_, func, or_, select, true
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.searching.coverage import Coverage
from scrapersky.leads.listing import LEADS
from scrapersky.models import (
    CostEntry,
    CostState,
    Domain,
    Lead,
    LocalBusiness,
    Place,
    SearchPlace,
    SearchTile,
    Sighted,
)
from scrapersky.places.coverage import Coverage as Covered

NEWEST_SHOWN = 12


@dataclass(frozen=True)
class Counts:
    """Of one search."""

    found: int
    fits: int
    new: int
    changed: int
    usd: Decimal
    """Billed, or not known to be: that counts as billed."""
    paid_requests: int
    """Those that stand in the ledger, the month's free ones among them."""
    free_requests: int
    """Of those: within what is free."""
    requests: int
    """All that its tiles took."""
    businesses: int
    leads: int


async def counts_of(session: AsyncSession, search_id: UUID) -> Counts:
    places, entries, tiles = _places(search_id), _entries(search_id), _tiles(search_id)
    wanted: Any = select(*places.c, *entries.c, *tiles.c, _leads(search_id))
    found = await session.execute(
        wanted.select_from(places.join(entries, true()).join(tiles, true()))
    )
    return Counts(**found.one()._mapping)


def _places(search_id: UUID) -> Subquery:
    return (
        select(
            func.count().label("found"),
            func.count().filter(SearchPlace.fits).label("fits"),
            func.count().filter(SearchPlace.sighted == Sighted.NEW).label("new"),
            func.count().filter(SearchPlace.sighted == Sighted.CHANGED).label("changed"),
            func.count(func.distinct(Place.local_business_id)).label("businesses"),
        )
        .join(Place, Place.id == SearchPlace.place_id)
        .where(SearchPlace.search_id == search_id)
        .subquery("of_places")
    )


def _entries(search_id: UUID) -> Subquery:
    return (
        select(
            func.coalesce(func.sum(CostEntry.usd), 0).label("usd"),
            func.count().label("paid_requests"),
            func.count().filter(CostEntry.is_free).label("free_requests"),
        )
        .where(CostEntry.search_id == search_id, CostEntry.state != CostState.NOT_BILLED)
        .subquery("of_entries")
    )


def _tiles(search_id: UUID) -> Subquery:
    requests = func.coalesce(func.sum(SearchTile.requests), 0).label("requests")
    return select(requests).where(SearchTile.search_id == search_id).subquery("of_tiles")


def _leads(search_id: UUID) -> Label[int]:
    """Of the sites of its businesses, and of those that have none."""
    found = (
        select(LocalBusiness.id, LocalBusiness.domain_id)
        .join(Place, Place.local_business_id == LocalBusiness.id)
        .join(SearchPlace, SearchPlace.place_id == Place.id)
        .where(SearchPlace.search_id == search_id)
        .cte("its_businesses")
    )
    without_site = and_(Lead.domain_id.is_(None), Lead.local_business_id.in_(select(found.c.id)))
    its = or_(Lead.domain_id.in_(select(found.c.domain_id)), without_site)
    return select(func.count()).where(its).scalar_subquery().label("leads")


def covered_in_words(counts: Counts, coverage: Coverage | None) -> str:
    """As the API says it, from what was read already."""
    parts = coverage.counts if coverage else ()
    return Covered(
        tiles={each.state: each.tiles for each in parts},
        noted=len(coverage.notes) if coverage else 0,
        found=counts.found,
        new=counts.new,
        changed=counts.changed,
        fits=counts.fits,
        requests=counts.requests,
        paid_requests=counts.paid_requests,
        cost_usd=counts.usd,
    ).sentence


def leads_link(search_id: UUID) -> str:
    """Empty where leads cannot be narrowed by the search they come from."""
    known = "search_id" in LEADS.filter_names
    return f"/leads?search_id={search_id}" if known else ""


async def newest_of(session: AsyncSession, search_id: UUID) -> Sequence[Any]:
    """Rows of (link, place, business, domain, lead); what there is not yet is nothing."""
    newest = (SearchPlace.seen_at.desc(), SearchPlace.position.desc())
    chosen = (
        select(SearchPlace.place_id)
        .where(SearchPlace.search_id == search_id)
        .order_by(*newest)
        .limit(NEWEST_SHOWN)
    )
    found: Any = await session.execute(
        select(SearchPlace, Place, LocalBusiness, Domain, Lead)
        .join(Place, Place.id == SearchPlace.place_id)
        .outerjoin(LocalBusiness, LocalBusiness.id == Place.local_business_id)
        .outerjoin(Domain, Domain.id == LocalBusiness.domain_id)
        .outerjoin(Lead, _is_lead_of())
        .where(SearchPlace.search_id == search_id, SearchPlace.place_id.in_(chosen))
        .order_by(*newest)
    )
    rows: Sequence[Any] = found.all()
    return rows


def _is_lead_of() -> ColumnElement[bool]:
    """The one of its site, or its own where it has none."""
    own = and_(Lead.domain_id.is_(None), Lead.local_business_id == LocalBusiness.id)
    return or_(Lead.domain_id == LocalBusiness.domain_id, own)
