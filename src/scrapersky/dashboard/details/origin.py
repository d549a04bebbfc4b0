"""Where a site or a lead came from: its businesses, who told us of them, who looked for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import BusinessSighting, Job, LocalBusiness, Place, Provider, SearchPlace

BUSINESSES_SHOWN = 5
SEARCHES_SHOWN = 3
"""Of one place."""
ROWS_READ = 300


@dataclass
class Told:
    """That a provider told us of a business, and the searches that it told so."""

    sighting: BusinessSighting
    place: Place | None
    searches: list[Job] = field(default_factory=list)

    @property
    def shown(self) -> list[Job]:
        return self.searches[:SEARCHES_SHOWN]


@dataclass
class Origin:
    business: LocalBusiness
    told: dict[UUID, Told] = field(default_factory=dict)

    @property
    def is_osm(self) -> bool:
        """Then its makers are to be named."""
        return any(each.sighting.provider == Provider.OSM for each in self.told.values())

    @property
    def by_places(self) -> list[Told]:
        return [each for each in self.told.values() if each.place is not None]


async def origins_of(
    session: AsyncSession, domain_id: UUID | None, business_id: UUID | None = None
) -> list[Origin]:
    """Of a site with all that share it, the most reviewed first; or of a business without one."""
    mine = LocalBusiness.id == business_id
    if domain_id is not None:
        mine = LocalBusiness.domain_id == domain_id
    return _grouped((await session.execute(_wanted(mine))).all())


def _wanted(mine: ColumnElement[bool]) -> Select[Any, Any, Any, Any]:
    return (
        select(LocalBusiness, BusinessSighting, Place, Job)
        .outerjoin(BusinessSighting, BusinessSighting.business_id == LocalBusiness.id)
        .outerjoin(Place, Place.id == BusinessSighting.place_id)
        .outerjoin(SearchPlace, SearchPlace.place_id == Place.id)
        .outerjoin(Job, Job.id == SearchPlace.search_id)
        .where(mine)
        .order_by(
            LocalBusiness.reviews_count.desc().nulls_last(),
            LocalBusiness.id,
            BusinessSighting.first_seen_at,
            Job.created_at,
        )
        .limit(ROWS_READ)
    )


def _grouped(rows: Sequence[Any]) -> list[Origin]:
    found: dict[UUID, Origin] = {}
    for business, sighting, place, job in rows:
        origin = found.setdefault(business.id, Origin(business))
        if sighting is None:
            continue
        told = origin.told.setdefault(sighting.id, Told(sighting, place))
        if job is not None:
            told.searches.append(job)
    return list(found.values())
