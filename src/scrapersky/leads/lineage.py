"""Trace a site or business back to its businesses, places and searches.

Four statements, regardless of the number of steps.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import (
    BusinessSighting,
    Domain,
    Job,
    LocalBusiness,
    Place,
    SearchPlace,
)

API_PREFIX = "/api/v3"
MAX_BUSINESSES = 200
MAX_SIGHTINGS = 1_000
MAX_SEARCHES = 1_000


class LineageStep(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    link: str = Field(description="API path of the resource.")


class DomainStep(LineageStep):
    domain: str = Field(examples=["bakery.de"])
    local_business_id: UUID | None = Field(description="The first business that led to the domain.")
    created_by: UUID = Field(
        description="The user who imported it, or the system user if a business led to it."
    )


class SightingStep(BaseModel):
    """One report of a business by a provider, an import or a site."""

    provider: str = Field(examples=["google"])
    place_id: UUID | None
    domain_id: UUID | None = Field(description="The reporting site, if it was not a provider.")
    matched_by: str = Field(description="The strongest evidence for the match.", examples=["phone"])
    why: str | None
    first_seen_at: datetime
    last_seen_at: datetime


class BusinessStep(LineageStep):
    name: str | None
    website_url: str | None
    website_kind: str | None = Field(examples=["own"])
    sightings: list[SightingStep]


class PlaceStep(LineageStep):
    provider: str = Field(examples=["osm"])
    provider_id: str = Field(description="The provider's ID.")
    name: str | None
    maps_url: str | None
    local_business_id: UUID | None


class SearchStep(LineageStep):
    subject: str = Field(description="The search in one line.")
    query: dict[str, Any] = Field(description="The search request.")
    created_by: UUID = Field(description="The user who started the search.")
    created_at: datetime
    places: list[UUID] = Field(description="The listed places that this search found.")


class SiteLineage(BaseModel):
    """Steps that led to a site. Lists are empty for unknown steps, for example for an imported
    domain.
    """

    domain: DomainStep | None
    businesses: list[BusinessStep]
    places: list[PlaceStep]
    searches: list[SearchStep]


async def load_lineage(
    session: AsyncSession, *, domain_id: UUID | None, business_id: UUID | None = None
) -> SiteLineage:
    """Load the lineage of a site with all businesses that share it, or of a business without a
    site.
    """
    domain = await _load_domain_step(session, domain_id) if domain_id is not None else None
    businesses = await _load_businesses(session, domain_id, business_id)
    sightings = await _load_sightings(session, [each.id for each in businesses])
    places = {place.id: place for _, place in sightings if place is not None}
    return SiteLineage(
        domain=domain,
        businesses=[_build_business_step(each, sightings) for each in businesses],
        places=[_build_place_step(each) for each in places.values()],
        searches=await _load_search_steps(session, list(places)),
    )


async def _load_domain_step(session: AsyncSession, domain_id: UUID) -> DomainStep | None:
    result = await session.execute(
        select(Domain.id, Domain.domain, Domain.local_business_id, Domain.created_by).where(
            Domain.id == domain_id
        )
    )
    row = result.one_or_none()
    if row is None:
        return None
    link = f"{API_PREFIX}/domains/{row.id}"
    return DomainStep(
        id=row.id,
        link=link,
        domain=row.domain,
        local_business_id=row.local_business_id,
        created_by=row.created_by,
    )


async def _load_businesses(
    session: AsyncSession, domain_id: UUID | None, business_id: UUID | None
) -> Sequence[LocalBusiness]:
    """Load the businesses, the lead's own first."""
    mine = (
        LocalBusiness.domain_id == domain_id
        if domain_id is not None
        else LocalBusiness.id == business_id
    )
    rows = await session.scalars(
        select(LocalBusiness)
        .where(mine)
        .order_by(
            LocalBusiness.reviews_count.desc().nulls_last(),
            LocalBusiness.created_at,
            LocalBusiness.id,
        )
        .limit(MAX_BUSINESSES)
    )
    return rows.all()


SightingRows = Sequence[tuple[BusinessSighting, Place | None]]


async def _load_sightings(session: AsyncSession, business_ids: Collection[UUID]) -> SightingRows:
    if not business_ids:
        return []
    result = await session.execute(
        select(BusinessSighting, Place)
        .outerjoin(Place, Place.id == BusinessSighting.place_id)
        .where(BusinessSighting.business_id.in_(business_ids))
        .order_by(BusinessSighting.first_seen_at, BusinessSighting.id)
        .limit(MAX_SIGHTINGS)
    )
    return [(sighting, place) for sighting, place in result]


async def _load_search_steps(
    session: AsyncSession, place_ids: Collection[UUID]
) -> list[SearchStep]:
    if not place_ids:
        return []
    result = await session.execute(
        select(
            SearchPlace.place_id, Job.id, Job.subject, Job.params, Job.created_by, Job.created_at
        )
        .join(Job, Job.id == SearchPlace.search_id)
        .where(SearchPlace.place_id.in_(place_ids))
        .order_by(Job.created_at, Job.id)
        .limit(MAX_SEARCHES)
    )
    searches: dict[UUID, SearchStep] = {}
    for place_id, search_id, subject, params, created_by, created_at in result:
        step = searches.setdefault(
            search_id,
            SearchStep(
                id=search_id,
                link=f"{API_PREFIX}/places/search/{search_id}",
                subject=subject,
                query=params,
                created_by=created_by,
                created_at=created_at,
                places=[],
            ),
        )
        step.places.append(place_id)
    return list(searches.values())


def _build_business_step(business: LocalBusiness, sightings: SightingRows) -> BusinessStep:
    return BusinessStep(
        id=business.id,
        link=f"{API_PREFIX}/local-businesses/{business.id}",
        name=business.business_name,
        website_url=business.website_url,
        website_kind=business.website_kind,
        sightings=[
            SightingStep.model_validate(each, from_attributes=True)
            for each, _ in sightings
            if each.business_id == business.id
        ],
    )


def _build_place_step(place: Place) -> PlaceStep:
    return PlaceStep(
        id=place.id,
        link=f"{API_PREFIX}/places/{place.id}",
        provider=place.provider,
        provider_id=place.place_id,
        name=place.name,
        maps_url=place.maps_url,
        local_business_id=place.local_business_id,
    )
