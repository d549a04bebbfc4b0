"""Forget what Google said of places that it did not confirm for a long time.

Its id, the searches that found it, its business and what people decided stay; so does what others
say of the business.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Interval, func, literal, null, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.entities.locking import resolve_alone
from scrapersky.entities.sightings import refresh_business
from scrapersky.models import BusinessSighting, LocalBusiness, Place, Provider
from scrapersky.pipeline.chores import Chore
from scrapersky.settings import Settings

PLACES_AT_ONCE = 100
NOTHING: dict[str, Any] = {
    "name": None,
    "formatted_address": None,
    "address_parts": {},
    "latitude": None,
    "longitude": None,
    "phone": None,
    "phone_raw": None,
    "website_url": None,
    "emails": [],
    "profiles": [],
    "types": [],
    "category": None,
    "rating": None,
    "user_ratings_total": None,
    "price_level": None,
    "business_status": None,
    "hours": None,
    "maps_url": None,
    "raw_data": {},
    "details_at": None,
}
"""A place of which only its id is known."""


async def forget_unconfirmed(database: Database, settings: Settings) -> int:
    """A little at a time, until nothing is left; answers of how many places it was."""
    if not settings.place_retention_days:
        return 0
    age, forgotten = timedelta(days=settings.place_retention_days), 0
    while True:
        async with database.transaction() as session:
            places = await _unconfirmed(session, age)
            for tenant_id in sorted({each.tenant_id for each in places})[:1]:
                theirs = [each for each in places if each.tenant_id == tenant_id]
                await _forget(session, tenant_id, theirs)
                forgotten += len(theirs)
        if not places:
            return forgotten


async def _unconfirmed(session: AsyncSession, age: timedelta) -> Sequence[Place]:
    """Those that somebody works on right now are left for another time."""
    found = await session.scalars(
        select(Place)
        .where(
            Place.provider == Provider.GOOGLE,
            Place.seen_at < func.now() - literal(age, Interval),
            _says_something(),
        )
        .order_by(Place.tenant_id, Place.id)
        .limit(PLACES_AT_ONCE)
        .with_for_update(skip_locked=True)
    )
    return found.all()


def _says_something() -> ColumnElement[bool]:
    return or_(
        *(
            getattr(Place, name).is_not(None) if value is None else getattr(Place, name) != value
            for name, value in NOTHING.items()
        )
    )


async def _forget(session: AsyncSession, tenant_id: UUID, places: Sequence[Place]) -> None:
    ids = [each.id for each in places]
    await session.execute(
        update(Place)
        .where(Place.id.in_(ids))
        # In a column of documents a plain None would be the document `null`.
        .values({**NOTHING, "hours": null()})
        .execution_options(synchronize_session=False)
    )
    await resolve_alone(session, tenant_id)
    told = await session.scalars(
        update(BusinessSighting)
        .where(BusinessSighting.place_id.in_(ids))
        .values(facts={})
        .returning(BusinessSighting.business_id)
        .execution_options(synchronize_session=False)
    )
    for business_id in sorted(set(told)):
        await refresh_business(session, await session.get_one(LocalBusiness, business_id))


CHORE = Chore(
    name="forget_unconfirmed_places",
    does="With PLACE_RETENTION_DAYS: forget what Google said of places not seen for so long.",
    every=timedelta(hours=6),
    run=forget_unconfirmed,
)
