"""Places of one bakery, and the businesses they are resolved to."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import select

from scrapersky.businesses.resolution import resolve_place
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import BusinessSighting, LocalBusiness, MergeCandidate, Place
from tests.stage_cases import OWNED

ADDRESS = {
    "street": "Karl-Heine-Straße",
    "house_number": "46",
    "postal_code": "04229",
    "city": "Leipzig",
    "country": "DE",
}
BAKERY: dict[str, Any] = {
    "name": "Bäckerei Kornblume",
    "formatted_address": "Karl-Heine-Straße 46, 04229 Leipzig",
    "address_parts": ADDRESS,
    "latitude": 51.3323,
    "longitude": 12.3334,
}


def google(place_id: str = "bakery", **more: Any) -> Place:
    known = {
        **BAKERY,
        "phone": "+493411234567",
        "website_url": "https://kornblume-brot.de/",
        "rating": 4.5,
        "user_ratings_total": 120,
        "types": ["bakery", "cafe"],
        "business_status": "operational",
    }
    return a_place("google", place_id, **{**known, **more})


def osm(place_id: str = "node/7", **more: Any) -> Place:
    known = {**BAKERY, "latitude": 51.3325, "longitude": 12.3337, "types": ["shop=bakery"]}
    return a_place("osm", place_id, **{**known, **more})


def csv(place_id: str = "row-1", **more: Any) -> Place:
    known = {"name": "Kornblume Bäckerei", "address_parts": {"city": "Leipzig"}}
    return a_place("csv", place_id, **{**known, **more})


def a_place(provider: str, place_id: str, **more: Any) -> Place:
    """With everything that the database would fill in."""
    return Place(id=uuid7(), provider=provider, place_id=place_id, **{**OWNED, **more})


async def noted(database: Database, *places: Place, extract: bool = False) -> list[UUID]:
    """Each in a transaction of its own; the businesses that they are."""
    found = []
    for each in places:
        async with database.transaction() as session:
            session.add(each)
            found.append((await resolve_place(session, each, extract=extract)).id)
    return found


async def again(database: Database, place: Place, *, extract: bool = False, **more: Any) -> UUID:
    """The provider says it anew, with what changed."""
    async with database.transaction() as session:
        row = await session.get_one(Place, place.id)
        for name, value in more.items():
            setattr(row, name, value)
        return (await resolve_place(session, row, extract=extract)).id


async def business(database: Database, business_id: UUID) -> LocalBusiness:
    async with database.reading() as session:
        return await session.get_one(LocalBusiness, business_id)


async def businesses(database: Database) -> list[LocalBusiness]:
    async with database.reading() as session:
        found = await session.scalars(select(LocalBusiness).order_by(LocalBusiness.id))
        return list(found)


async def sightings(database: Database) -> list[BusinessSighting]:
    async with database.reading() as session:
        found = await session.scalars(select(BusinessSighting).order_by(BusinessSighting.id))
        return list(found)


async def questions(database: Database) -> list[MergeCandidate]:
    async with database.reading() as session:
        found = await session.scalars(select(MergeCandidate).order_by(MergeCandidate.id))
        return list(found)


async def change(database: Database, business_id: UUID, **more: Any) -> None:
    async with database.transaction() as session:
        row = await session.get_one(LocalBusiness, business_id)
        for name, value in more.items():
            setattr(row, name, value)
