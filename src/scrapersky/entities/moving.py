"""Places that moved: the provider gives them another id, the business stays the same."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.entities.joining import are_apart, join
from scrapersky.models import Place
from scrapersky.models.businesses import BusinessSighting, LocalBusiness


async def predecessor(session: AsyncSession, place: Place) -> LocalBusiness | None:
    """The business of the place that the provider says became this one."""
    found: LocalBusiness | None = await session.scalar(
        select(LocalBusiness)
        .join(BusinessSighting, BusinessSighting.business_id == LocalBusiness.id)
        .join(Place, Place.id == BusinessSighting.place_id)
        .where(
            Place.tenant_id == place.tenant_id,
            Place.provider == place.provider,
            Place.moved_to == place.place_id,
        )
        .order_by(LocalBusiness.id)
        .limit(1)
    )
    return found


async def follow(session: AsyncSession, place: Place, sighting: BusinessSighting) -> LocalBusiness:
    """The sighting's business; when its place moved to one that we know already, both are one."""
    mine = await session.get_one(LocalBusiness, sighting.business_id)
    successor = await _successor(session, place) if place.moved_to else None
    if successor is None or successor.id == mine.id:
        return mine
    if await are_apart(session, mine.id, successor.id):
        return mine
    return await join(session, keep=successor, give_up=mine)


async def _successor(session: AsyncSession, place: Place) -> LocalBusiness | None:
    found: LocalBusiness | None = await session.scalar(
        select(LocalBusiness)
        .join(BusinessSighting, BusinessSighting.business_id == LocalBusiness.id)
        .where(
            BusinessSighting.tenant_id == place.tenant_id,
            BusinessSighting.provider == place.provider,
            BusinessSighting.source_key == place.moved_to,
        )
    )
    return found
