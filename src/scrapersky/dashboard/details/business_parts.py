"""What is asked of the database for a business's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from scrapersky.errors import NotFound
from scrapersky.models import (
    Actor,
    BusinessSighting,
    Domain,
    Job,
    Lead,
    LocalBusiness,
    MergeCandidate,
    MergeState,
    Place,
    SearchPlace,
    User,
)

SIGHTINGS_SHOWN = 30
SEARCHES_SHOWN = 20
DOUBLES_SHOWN = 10
SAID = {
    "business_name": "Name",
    "address": "Address",
    "phone": "Phone",
    "website_url": "Website",
    "business_status": "In business",
}
"""Of what a sighting says: what one compares."""


@dataclass(frozen=True)
class Head:
    business: LocalBusiness
    domain: Domain | None
    lead: Lead | None
    maker: str | None


@dataclass(frozen=True)
class Double:
    """Another business that may be the same."""

    question: MergeCandidate
    business: LocalBusiness


def is_lead_of() -> Any:
    """The one of its site, or its own where it has none."""
    of_site = and_(LocalBusiness.domain_id.is_not(None), Lead.domain_id == LocalBusiness.domain_id)
    its_own = and_(LocalBusiness.domain_id.is_(None), Lead.local_business_id == LocalBusiness.id)
    return or_(of_site, its_own)


async def head_of(session: AsyncSession, actor: Actor, business_id: UUID) -> Head:
    found = await session.execute(
        select(LocalBusiness, Domain, Lead, User.name)
        .outerjoin(Domain, Domain.id == LocalBusiness.domain_id)
        .outerjoin(Lead, is_lead_of())
        .outerjoin(User, User.id == LocalBusiness.created_by)
        .where(LocalBusiness.id == business_id, LocalBusiness.tenant_id == actor.tenant_id)
        .limit(1)
    )
    row = found.one_or_none()
    if row is None:
        raise NotFound(f"There is no business {business_id}.")
    return Head(*row)


async def sightings_of(
    session: AsyncSession, business_id: UUID
) -> Sequence[tuple[BusinessSighting, Place | None]]:
    found = await session.execute(
        select(BusinessSighting, Place)
        .outerjoin(Place, Place.id == BusinessSighting.place_id)
        .where(BusinessSighting.business_id == business_id)
        .order_by(BusinessSighting.first_seen_at, BusinessSighting.id)
        .limit(SIGHTINGS_SHOWN)
    )
    return [(sighting, place) for sighting, place in found]


def said_by(sighting: BusinessSighting) -> list[tuple[str, str]]:
    facts: Mapping[str, Any] = sighting.facts
    return [(label, str(facts[name])) for name, label in SAID.items() if facts.get(name)]


def searches_of(business_id: UUID) -> Select[Any, Any, Any, Any]:
    """Each that found one of its places, once: by the place it met first."""
    mine = select(Place.id).where(Place.local_business_id == business_id)
    link = aliased(
        SearchPlace,
        select(SearchPlace)
        .ext(distinct_on(SearchPlace.search_id))
        .where(SearchPlace.place_id.in_(mine))
        .order_by(SearchPlace.search_id, SearchPlace.position)
        .subquery(),
    )
    return (
        select(link, Job.params, Job.created_at, func.count().over().label("total"))
        .join(Job, Job.id == link.search_id)
        .order_by(Job.created_at.desc(), Job.id)
        .limit(SEARCHES_SHOWN)
    )


async def doubles_of(session: AsyncSession, business_id: UUID) -> list[Double]:
    """The likeliest first."""
    sides = (MergeCandidate.left_id, MergeCandidate.right_id)
    is_other = and_(LocalBusiness.id.in_(sides), LocalBusiness.id != business_id)
    found = await session.execute(
        select(MergeCandidate, LocalBusiness)
        .join(LocalBusiness, is_other)
        .where(
            or_(*(each == business_id for each in sides)), MergeCandidate.state == MergeState.OPEN
        )
        .order_by(MergeCandidate.score.desc(), MergeCandidate.id)
        .limit(DOUBLES_SHOWN)
    )
    return [Double(question, business) for question, business in found]
