"""Keep place details fresh: requeue stale ones, and clear those not confirmed for too long.

Clearing keeps the place's ID, its searches, its business and its curation, and what other sources
report about the business.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Interval, func, literal, null, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.resolution import lock_resolution, refresh_business
from scrapersky.db.session import Database
from scrapersky.models import (
    DEEP_SCAN_STATUSES,
    BusinessCuration,
    BusinessSighting,
    LocalBusiness,
    Place,
    PlaceCuration,
    Provider,
)
from scrapersky.models.stage_names import DEEP_SCAN_STAGE
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.settings import Settings

EXPIRY_BATCH_SIZE = 100
EMPTY_FACTS: dict[str, Any] = {
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
"""Column values of a place with only its ID."""


async def expire_unconfirmed_places(database: Database, settings: Settings) -> int:
    """Clear unconfirmed places in small batches until none is left. Return how many."""
    if not settings.place_retention_days:
        return 0
    age, forgotten = timedelta(days=settings.place_retention_days), 0
    while True:
        async with database.transaction() as session:
            places = await _select_unconfirmed(session, age)
            for tenant_id in sorted({each.tenant_id for each in places})[:1]:
                theirs = [each for each in places if each.tenant_id == tenant_id]
                await _clear_facts(session, tenant_id, theirs)
                forgotten += len(theirs)
        if not places:
            return forgotten


async def _select_unconfirmed(session: AsyncSession, age: timedelta) -> Sequence[Place]:
    """Select unconfirmed places. Rows that are being processed are skipped until the next run."""
    rows = await session.scalars(
        select(Place)
        .where(
            Place.provider == Provider.GOOGLE,
            Place.seen_at < func.now() - literal(age, Interval),
            _has_facts(),
        )
        .order_by(Place.tenant_id, Place.id)
        .limit(EXPIRY_BATCH_SIZE)
        .with_for_update(skip_locked=True)
    )
    return rows.all()


def _has_facts() -> ColumnElement[bool]:
    return or_(
        *(
            getattr(Place, name).is_not(None) if value is None else getattr(Place, name) != value
            for name, value in EMPTY_FACTS.items()
        )
    )


async def _clear_facts(session: AsyncSession, tenant_id: UUID, places: Sequence[Place]) -> None:
    ids = [each.id for each in places]
    await session.execute(
        update(Place)
        .where(Place.id.in_(ids))
        # In a JSON column a plain None would be stored as JSON `null`.
        .values({**EMPTY_FACTS, "hours": null()})
        .execution_options(synchronize_session=False)
    )
    await lock_resolution(session, tenant_id)
    cleared = await session.scalars(
        update(BusinessSighting)
        .where(BusinessSighting.place_id.in_(ids))
        .values(facts={})
        .returning(BusinessSighting.business_id)
        .execution_options(synchronize_session=False)
    )
    for business_id in sorted(set(cleared)):
        await refresh_business(session, await session.get_one(LocalBusiness, business_id))


EXPIRY_CHORE = Chore(
    name="forget_unconfirmed_places",
    does="With PLACE_RETENTION_DAYS: clear Google's details of places not confirmed for that long.",
    every=timedelta(hours=6),
    run=expire_unconfirmed_places,
)


REFRESH_BATCH_SIZE = 500
"""Places per hour. The budget limits the cost anyway, but new places should not wait behind all
stale ones.
"""
REJECTED_PLACE_STATUSES = (PlaceCuration.NOT_A_FIT, PlaceCuration.ARCHIVED)
REJECTED_BUSINESS_STATUSES = (BusinessCuration.NOT_A_FIT, BusinessCuration.ARCHIVED)


async def queue_stale_places(database: Database, settings: Settings) -> int:
    """Queue scanned places that still exist, oldest details first."""
    if not settings.auto_deep_scan:
        return 0
    max_age = literal(timedelta(days=settings.place_details_max_age_days), Interval)
    old = (
        select(Place.id)
        .outerjoin(LocalBusiness, LocalBusiness.id == Place.local_business_id)
        .where(
            Place.provider == Provider.GOOGLE,
            Place.deep_scan_status == DEEP_SCAN_STATUSES.done,
            Place.details_at < func.now() - max_age,
            Place.gone_at.is_(None),
            Place.moved_to.is_(None),
            Place.status.not_in(REJECTED_PLACE_STATUSES),
            or_(
                LocalBusiness.id.is_(None), LocalBusiness.status.not_in(REJECTED_BUSINESS_STATUSES)
            ),
        )
        .order_by(Place.details_at)
        .limit(REFRESH_BATCH_SIZE)
        .with_for_update(of=Place, skip_locked=True)
        .cte("old")
        .prefix_with("MATERIALIZED")
    )
    async with database.transaction() as session:
        queued = await session.scalars(
            update(Place)
            .where(Place.id == old.c.id)
            .values(
                deep_scan_status=DEEP_SCAN_STATUSES.queued,
                deep_scan_due_at=func.now(),
                deep_scan_attempts=0,
                deep_scan_error=None,
            )
            .returning(Place.id)
            .execution_options(synchronize_session=False)
        )
        count = len(queued.all())
        if count:
            wake_after_commit(session, DEEP_SCAN_STAGE)
        return count


REFRESH_CHORE = Chore(
    name="queue_old_places",
    does="With AUTO_DEEP_SCAN: queue places whose details are stale.",
    every=timedelta(hours=1),
    run=queue_stale_places,
)
