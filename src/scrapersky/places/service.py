"""Load places of a tenant and queue them for a refresh."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import Conflict, NotFound
from scrapersky.lists import BulkGroup, BulkOut, BulkRequest
from scrapersky.models import (
    DEEP_SCAN_STATUSES,
    Actor,
    Job,
    LocalBusiness,
    Place,
    Provider,
    SearchPlace,
    record,
)
from scrapersky.models.stage_names import DEEP_SCAN_STAGE
from scrapersky.pipeline.bulk import Where, close_row_letters, matches_ids, retry_on_conflict
from scrapersky.pipeline.tables import DeadLetterState
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.places.deep_scan import STAGE
from scrapersky.places.listing import PLACES
from scrapersky.places.schemas import PlaceBusinessOut, PlaceDetail, PlaceOut, PlaceSearchOut

MAX_SEARCHES = 100
NOT_REFRESHABLE = "Only Google places can be refreshed. Repeat the search to refresh the others."


async def get_place(session: AsyncSession, actor: Actor, place_id: UUID) -> Place:
    return await _get_one(session, _select_place(actor, place_id), place_id)


async def build_detail(session: AsyncSession, place: Place) -> PlaceDetail:
    """Return a place with its searches, newest first, and its business."""
    business = None
    if place.local_business_id is not None:
        business = await session.get(LocalBusiness, place.local_business_id)
    return PlaceDetail(
        **PlaceOut.model_validate(place).model_dump(exclude={"attribution"}),
        hours=place.hours,
        raw_data=place.raw_data,
        searches=await _list_searches(session, place),
        business=PlaceBusinessOut.model_validate(business) if business else None,
    )


async def _list_searches(session: AsyncSession, place: Place) -> list[PlaceSearchOut]:
    result = await session.execute(
        select(SearchPlace, Job.subject, Job.created_at)
        .join(Job, Job.id == SearchPlace.search_id)
        .where(SearchPlace.place_id == place.id)
        .order_by(SearchPlace.seen_at.desc(), SearchPlace.search_id)
        .limit(MAX_SEARCHES)
    )
    return [_build_search_out(*each) for each in result]


def _build_search_out(link: SearchPlace, subject: str, asked_at: object) -> PlaceSearchOut:
    own = PlaceSearchOut.model_fields.keys() - {"subject", "asked_at"}
    values = {name: getattr(link, name) for name in own}
    return PlaceSearchOut.model_validate({**values, "subject": subject, "asked_at": asked_at})


async def refresh(session: AsyncSession, actor: Actor, place_id: UUID) -> Place:
    """Queue one place for a deep scan, regardless of the age of its details."""
    place = await _get_one(session, _select_place(actor, place_id).with_for_update(), place_id)
    if place.provider != Provider.GOOGLE:
        raise Conflict(NOT_REFRESHABLE)
    if place.deep_scan_status == DEEP_SCAN_STATUSES.processing:
        raise Conflict("The place is being refreshed already.")
    await _queue_places(session, actor, [place.id])
    record(session, actor, "place.refresh", place.id)
    await session.refresh(place)
    return place


async def refresh_many(session: AsyncSession, actor: Actor, bulk_request: BulkRequest) -> BulkOut:
    """Queue Google places for a deep scan, except the ones in progress."""
    where = [*bulk_request.conditions(PLACES, actor), *_match_refreshable()]
    groups = await _count_by_status(session, where)
    updated = None
    if not bulk_request.dry_run:
        updated = await retry_on_conflict(
            session, lambda: _refresh_batch(session, actor, where, bulk_request.limit)
        )
        record(session, actor, "place.refresh", None, **bulk_request.to_details(), updated=updated)
    return bulk_request.build_response(groups, updated)


def _match_refreshable() -> list[ColumnElement[bool]]:
    return [
        Place.provider == Provider.GOOGLE,
        Place.deep_scan_status != DEEP_SCAN_STATUSES.processing,
    ]


async def _count_by_status(session: AsyncSession, where: Where) -> list[BulkGroup]:
    status = Place.deep_scan_status
    result = await session.execute(select(status, func.count()).where(*where).group_by(status))
    return [BulkGroup(stage=DEEP_SCAN_STAGE, status=word, count=count) for word, count in result]


async def _refresh_batch(session: AsyncSession, actor: Actor, where: Where, limit: int) -> int:
    chosen = select(Place.id).where(*where).order_by(Place.id).limit(limit)
    ids = list(await session.scalars(chosen.with_for_update(key_share=True)))
    await _queue_places(session, actor, ids)
    return len(ids)


async def _queue_places(session: AsyncSession, actor: Actor, ids: list[UUID]) -> None:
    await session.execute(
        update(Place)
        .where(matches_ids(Place.id, ids))
        .values(
            refresh_asked_at=func.now(),
            deep_scan_status=DEEP_SCAN_STATUSES.queued,
            deep_scan_due_at=func.now(),
            deep_scan_attempts=0,
            deep_scan_error=None,
        )
        .execution_options(synchronize_session=False)
    )
    await close_row_letters(
        session, STAGE, ids, state=DeadLetterState.REPLAYED, by=actor.user_id, note=None
    )
    wake_after_commit(session, DEEP_SCAN_STAGE)


def _select_place(actor: Actor, place_id: UUID) -> Select[Place]:
    return select(Place).where(Place.id == place_id, Place.tenant_id == actor.tenant_id)


async def _get_one(session: AsyncSession, statement: Select[Place], place_id: UUID) -> Place:
    one = await session.scalar(statement)
    if one is None:
        raise NotFound(f"There is no place {place_id}.")
    return one
