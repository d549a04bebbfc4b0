"""Results of a search: counts, newest places, and changes since the previous run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Label, Subquery, and_, func, or_, select, true
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.views.search_coverage import CoverageMap
from scrapersky.leads.listing import LEADS
from scrapersky.models import (
    CostEntry,
    CostState,
    Domain,
    Job,
    Lead,
    LocalBusiness,
    Place,
    PlaceSightingState,
    SearchPlace,
    SearchTile,
)
from scrapersky.places.search.changes import (
    PlaceChangeKind,
    SearchChange,
    can_detect_gone,
    find_previous_run,
    list_changes,
)
from scrapersky.places.search.coverage import SearchCoverage as Covered

MAX_CHANGES = 15


@dataclass(frozen=True)
class SearchChanges:
    before: UUID
    """The previous run."""
    shown: tuple[SearchChange, ...]
    more: bool
    knows_what_is_gone: bool
    """True only if the whole area was searched."""

    def words(self, change: SearchChange) -> list[tuple[str, str, str]]:
        """Return each changed fact as name, old value, new value."""
        return [
            (name.replace("_", " "), _format_value(before), _format_value(after))
            for name, (before, after) in change.changes.items()
        ]


async def load_changes(session: AsyncSession, job: Job) -> SearchChanges | None:
    """Return the changes since the previous run; None for a first run."""
    before = await find_previous_run(session, job)
    if before is None:
        return None
    changes = await list_changes(
        session, before, job, kinds=tuple(PlaceChangeKind), after=None, limit=MAX_CHANGES + 1
    )
    return SearchChanges(
        before.id, tuple(changes[:MAX_CHANGES]), len(changes) > MAX_CHANGES, can_detect_gone(job)
    )


def _format_value(value: object) -> str:
    if value is None or value == "" or value == []:
        return "nothing"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


MAX_NEWEST_PLACES = 12


@dataclass(frozen=True)
class SearchCounts:
    """Counts of one search."""

    found: int
    fits: int
    new: int
    changed: int
    usd: Decimal
    """Billed amount. Requests with an unknown outcome count as billed."""
    paid_requests: int
    """Requests in the ledger, including those covered by the free quota."""
    free_requests: int
    """Requests in the ledger that were covered by the free quota."""
    requests: int
    """All requests of its tiles."""
    businesses: int
    leads: int


async def load_counts(session: AsyncSession, search_id: UUID) -> SearchCounts:
    places, entries, tiles = (
        _build_place_counts(search_id),
        _build_cost_counts(search_id),
        _build_tile_counts(search_id),
    )
    statement: Any = select(*places.c, *entries.c, *tiles.c, _build_lead_count(search_id))
    result = await session.execute(
        statement.select_from(places.join(entries, true()).join(tiles, true()))
    )
    return SearchCounts(**result.one()._mapping)


def _build_place_counts(search_id: UUID) -> Subquery:
    return (
        select(
            func.count().label("found"),
            func.count().filter(SearchPlace.fits).label("fits"),
            func.count().filter(SearchPlace.sighted == PlaceSightingState.NEW).label("new"),
            func.count().filter(SearchPlace.sighted == PlaceSightingState.CHANGED).label("changed"),
            func.count(func.distinct(Place.local_business_id)).label("businesses"),
        )
        .join(Place, Place.id == SearchPlace.place_id)
        .where(SearchPlace.search_id == search_id)
        .subquery("of_places")
    )


def _build_cost_counts(search_id: UUID) -> Subquery:
    return (
        select(
            func.coalesce(func.sum(CostEntry.usd), 0).label("usd"),
            func.count().label("paid_requests"),
            func.count().filter(CostEntry.is_free).label("free_requests"),
        )
        .where(CostEntry.search_id == search_id, CostEntry.state != CostState.NOT_BILLED)
        .subquery("of_entries")
    )


def _build_tile_counts(search_id: UUID) -> Subquery:
    requests = func.coalesce(func.sum(SearchTile.requests), 0).label("requests")
    return select(requests).where(SearchTile.search_id == search_id).subquery("of_tiles")


def _build_lead_count(search_id: UUID) -> Label[int]:
    """Count leads of the businesses' sites, and of businesses without a site."""
    leads = (
        select(LocalBusiness.id, LocalBusiness.domain_id)
        .join(Place, Place.local_business_id == LocalBusiness.id)
        .join(SearchPlace, SearchPlace.place_id == Place.id)
        .where(SearchPlace.search_id == search_id)
        .cte("its_businesses")
    )
    without_site = and_(Lead.domain_id.is_(None), Lead.local_business_id.in_(select(leads.c.id)))
    its = or_(Lead.domain_id.in_(select(leads.c.domain_id)), without_site)
    return select(func.count()).where(its).scalar_subquery().label("leads")


def describe_coverage(counts: SearchCounts, coverage: CoverageMap | None) -> str:
    """Describe the coverage as the API does, from loaded data."""
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


def build_leads_path(search_id: UUID) -> str:
    """Return the path of the search's leads; empty if leads cannot be filtered by search."""
    known = "search_id" in LEADS.filter_names
    return f"/leads?search_id={search_id}" if known else ""


async def list_newest_places(session: AsyncSession, search_id: UUID) -> Sequence[Any]:
    """Return rows of (link, place, business, domain, lead); missing items are None."""
    newest = (SearchPlace.seen_at.desc(), SearchPlace.position.desc())
    chosen = (
        select(SearchPlace.place_id)
        .where(SearchPlace.search_id == search_id)
        .order_by(*newest)
        .limit(MAX_NEWEST_PLACES)
    )
    result: Any = await session.execute(
        select(SearchPlace, Place, LocalBusiness, Domain, Lead)
        .join(Place, Place.id == SearchPlace.place_id)
        .outerjoin(LocalBusiness, LocalBusiness.id == Place.local_business_id)
        .outerjoin(Domain, Domain.id == LocalBusiness.domain_id)
        .outerjoin(Lead, _match_lead())
        .where(SearchPlace.search_id == search_id, SearchPlace.place_id.in_(chosen))
        .order_by(*newest)
    )
    rows: Sequence[Any] = result.all()
    return rows


def _match_lead() -> ColumnElement[bool]:
    """Join condition: the lead of the business's site, or of the business if it has no site."""
    own = and_(Lead.domain_id.is_(None), Lead.local_business_id == LocalBusiness.id)
    return or_(Lead.domain_id == LocalBusiness.domain_id, own)
