"""Queue the places whose details are old, where that was allowed to cost money."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Interval, func, literal, or_, select, update

from scrapersky.db.session import Database
from scrapersky.models import (
    DEEP_SCAN_WORDS,
    BusinessCuration,
    LocalBusiness,
    Place,
    PlaceCuration,
    Provider,
)
from scrapersky.models.stage_names import DEEP_SCAN_STAGE
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.settings import Settings

PLACES_AT_ONCE = 500
"""In one hour: the budget holds anyhow, but new places should not wait behind all the old ones."""
PUT_ASIDE = (PlaceCuration.NOT_A_FIT, PlaceCuration.ARCHIVED)
ASIDE_AS_BUSINESS = (BusinessCuration.NOT_A_FIT, BusinessCuration.ARCHIVED)


async def queue_old_places(database: Database, settings: Settings) -> int:
    """Only those that were scanned once and are still there; the oldest first."""
    if not settings.auto_deep_scan:
        return 0
    max_age = literal(timedelta(days=settings.place_details_max_age_days), Interval)
    old = (
        select(Place.id)
        .outerjoin(LocalBusiness, LocalBusiness.id == Place.local_business_id)
        .where(
            Place.provider == Provider.GOOGLE,
            Place.deep_scan_status == DEEP_SCAN_WORDS.done,
            Place.details_at < func.now() - max_age,
            Place.gone_at.is_(None),
            Place.moved_to.is_(None),
            Place.status.not_in(PUT_ASIDE),
            or_(LocalBusiness.id.is_(None), LocalBusiness.status.not_in(ASIDE_AS_BUSINESS)),
        )
        .order_by(Place.details_at)
        .limit(PLACES_AT_ONCE)
        .with_for_update(of=Place, skip_locked=True)
        .cte("old")
        .prefix_with("MATERIALIZED")
    )
    async with database.transaction() as session:
        queued = await session.scalars(
            update(Place)
            .where(Place.id == old.c.id)
            .values(
                deep_scan_status=DEEP_SCAN_WORDS.queued,
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


CHORE = Chore(
    name="queue_old_places",
    does="With AUTO_DEEP_SCAN: queue the places whose details are older than they may be.",
    every=timedelta(hours=1),
    run=queue_old_places,
)
