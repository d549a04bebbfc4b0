"""Upsert places from provider facts, link them to searches and queue deep scans.

Curation and deep scan status are never overwritten by a provider.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Text, Uuid, and_, cast, func, null, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.erasure_filter import remove_erased
from scrapersky.db.base import uuid7
from scrapersky.models import (
    DEEP_SCAN_STATUSES,
    NOT_QUEUED,
    Job,
    Place,
    PlaceCuration,
    PlaceSightingState,
    SearchPlace,
)
from scrapersky.models.stage_names import DEEP_SCAN_STAGE
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.scraper.providers.model import PlaceFacts

_UNSTORABLE_CHARACTERS = re.compile("[\x00\ud800-\udfff]")
FieldChanges = dict[str, list[Any]]
"""{field: [before, after]}"""

TRACKED_FIELDS = frozenset(
    {
        "name",
        "formatted_address",
        "phone",
        "website_url",
        "emails",
        "profiles",
        "category",
        "business_status",
        "is_service_area",
        "moved_to",
    }
)
"""Fields whose changes are reported. Ratings and hours change too often."""


def build_place_values(facts: PlaceFacts) -> dict[str, Any]:
    """Return the column values of the facts: all columns after a details request, otherwise the
    ones that were returned.
    """
    values = {
        "name": facts.name,
        "formatted_address": facts.address_text,
        "address_parts": {k: v for k, v in asdict(facts.address).items() if v is not None},
        "latitude": facts.latitude,
        "longitude": facts.longitude,
        "phone": facts.phone,
        "phone_raw": facts.phone_raw,
        "website_url": facts.website,
        "emails": list(facts.emails),
        "profiles": list(facts.profiles),
        "types": list(facts.types),
        "category": facts.category,
        "rating": facts.rating,
        "user_ratings_total": facts.reviews_count,
        "price_level": facts.price_level,
        "business_status": None if facts.status is None else facts.status.value,
        "hours": None if facts.hours is None else dict(facts.hours),
        "maps_url": facts.maps_url,
        "is_service_area": facts.is_service_area,
        "moved_to": facts.moved_to,
        "raw_data": _build_raw_data(facts),
    }
    filled = values if facts.has_details else {k: v for k, v in values.items() if _has_value(v)}
    return {name: strip_unstorable(value) for name, value in filled.items()}


def _build_raw_data(facts: PlaceFacts) -> dict[str, Any]:
    """Return the provider's raw data and what could not be parsed, so that a place without
    coordinates can be explained.
    """
    odd = {"oddities": list(facts.oddities)} if facts.oddities else {}
    return {**facts.raw, **odd}


def _has_value(value: Any) -> bool:
    return value not in (None, False, [], {})


def strip_unstorable(value: Any) -> Any:
    """Remove characters that PostgreSQL cannot store, at any depth."""
    if isinstance(value, str):
        return _UNSTORABLE_CHARACTERS.sub("", value)
    if isinstance(value, Mapping):
        return {strip_unstorable(k): strip_unstorable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [strip_unstorable(each) for each in value]
    return value


def write_facts(place: Place, facts: PlaceFacts) -> FieldChanges:
    """Write the facts into the row, without saving it, and return the changes. Curation is not
    touched.
    """
    changes: FieldChanges = {}
    for name, after in build_place_values(facts).items():
        before = getattr(place, name)
        if before != after:
            # In a JSON column a plain None would be stored as JSON `null`.
            setattr(place, name, null() if name == "hours" and after is None else after)
            if name in TRACKED_FIELDS:
                changes[name] = [before, after]
    place.seen_at = func.now()
    place.gone_at = None
    if facts.has_details:
        place.details_at = func.now()
    return changes


ROWS_PER_STATEMENT = 500
REJECTED_STATUSES = (PlaceCuration.NOT_A_FIT, PlaceCuration.ARCHIVED)


@dataclass(frozen=True)
class PlaceOwner:
    """The tenant and the creator of new places."""

    tenant_id: UUID
    created_by: UUID


@dataclass(frozen=True)
class SeenPlace:
    """A place that was found, in its current state."""

    id: UUID
    place_id: str
    sighted: PlaceSightingState
    changes: FieldChanges
    values: Mapping[str, Any]
    """Values for filters: website_url, phone, rating, business_status, latitude, longitude."""
    has_details: bool


FILTER_COLUMNS = ("website_url", "phone", "rating", "business_status", "latitude", "longitude")


async def upsert_places(
    session: AsyncSession, owner: PlaceOwner, facts: Sequence[PlaceFacts], *, search_id: UUID | None
) -> list[SeenPlace]:
    """Upsert places and return each once, in the given order. Erased values are removed."""
    clean = await remove_erased(session, owner.tenant_id, list(facts))
    facts_by_id = {each.place_id: each for each in clean}
    places: dict[str, SeenPlace] = {}
    for start in range(0, len(facts_by_id), ROWS_PER_STATEMENT):
        part = dict(list(facts_by_id.items())[start : start + ROWS_PER_STATEMENT])
        # A place that another transaction inserts concurrently is found in the second round.
        while missing := {key: each for key, each in part.items() if key not in places}:
            places |= await _update_places(session, owner, missing)
            new = {key: each for key, each in missing.items() if key not in places}
            places |= await _insert_places(session, owner, new, search_id)
    return [places[key] for key in facts_by_id]


async def _update_places(
    session: AsyncSession, owner: PlaceOwner, facts_by_id: Mapping[str, PlaceFacts]
) -> dict[str, SeenPlace]:
    """Update the places in a fixed order, so that concurrent searches cannot deadlock."""
    provider = next(iter(facts_by_id.values())).provider
    rows = await session.scalars(
        select(Place)
        .where(*_match_places(owner, provider, facts_by_id))
        .order_by(Place.place_id)
        .with_for_update()
    )
    return {row.place_id: _update_place(row, facts_by_id[row.place_id]) for row in rows}


def _match_places(owner: PlaceOwner, provider: str, ids: Iterable[str]) -> list[Any]:
    return [
        Place.tenant_id == owner.tenant_id,
        Place.provider == provider,
        Place.place_id == func.any(cast(list(ids), ARRAY(Text))),
    ]


def _update_place(row: Place, facts: PlaceFacts) -> SeenPlace:
    had_details = row.details_at is not None
    changes = write_facts(row, facts)
    return SeenPlace(
        row.id,
        row.place_id,
        PlaceSightingState.CHANGED if changes else PlaceSightingState.SAME,
        changes,
        {name: getattr(row, name) for name in FILTER_COLUMNS},
        had_details or facts.has_details,
    )


async def _insert_places(
    session: AsyncSession, owner: PlaceOwner, new: Mapping[str, PlaceFacts], search_id: UUID | None
) -> dict[str, SeenPlace]:
    if not new:
        return {}
    rows = [_build_row(owner, new[key], search_id) for key in sorted(new)]
    inserted = await session.execute(
        insert(Place)
        .values(rows)
        .on_conflict_do_nothing(index_elements=[Place.tenant_id, Place.provider, Place.place_id])
        .returning(Place.place_id, Place.id)
    )
    by_key = {row["place_id"]: row for row in rows}
    return {
        key: SeenPlace(
            row_id,
            key,
            PlaceSightingState.NEW,
            {},
            {name: by_key[key][name] for name in FILTER_COLUMNS},
            new[key].has_details,
        )
        for key, row_id in inserted
    }


def _build_row(owner: PlaceOwner, facts: PlaceFacts, search_id: UUID | None) -> dict[str, Any]:
    values = {**_EMPTY_VALUES, **build_place_values(facts)}
    return {
        **values,
        "hours": null() if values["hours"] is None else values["hours"],
        "id": uuid7(),
        "tenant_id": owner.tenant_id,
        "created_by": owner.created_by,
        "provider": facts.provider,
        "place_id": facts.place_id,
        "search_id": search_id,
        "details_at": func.now() if facts.has_details else None,
    }


_EMPTY_VALUES = build_place_values(PlaceFacts("", "", has_details=True))


@dataclass(frozen=True)
class SearchLink:
    """A place in a search's result."""

    seen: SeenPlace
    position: int
    fits: bool


async def link_places(
    session: AsyncSession, job: Job, tile: str, links: Sequence[SearchLink]
) -> list[SearchLink]:
    """Link places to a search and return the new ones. Existing links are kept."""
    if not links:
        return []
    rows = [
        {
            "search_id": job.id,
            "tenant_id": job.tenant_id,
            "place_id": each.seen.id,
            "position": each.position,
            "tile": tile,
            "fits": each.fits,
            "sighted": each.seen.sighted,
            "changes": each.seen.changes,
        }
        for each in sorted(links, key=lambda each: each.seen.id)
    ]
    inserted = await session.scalars(
        insert(SearchPlace).values(rows).on_conflict_do_nothing().returning(SearchPlace.place_id)
    )
    new = set(inserted)
    return [each for each in links if each.seen.id in new]


async def touch_known_places(
    session: AsyncSession, owner: PlaceOwner, provider: str, ids: Sequence[str]
) -> list[SeenPlace]:
    """Return known places that were not fetched again, in the given order."""
    found_rows = await session.scalars(
        update(Place)
        .where(*_match_places(owner, provider, ids))
        .values(seen_at=func.now(), gone_at=None)
        .returning(Place)
        .execution_options(synchronize_session=False)
    )
    rows = {row.place_id: row for row in found_rows}
    return [
        SeenPlace(
            row.id,
            row.place_id,
            PlaceSightingState.SAME,
            {},
            {name: getattr(row, name) for name in FILTER_COLUMNS},
            row.details_at is not None,
        )
        for row in (rows[each] for each in ids if each in rows)
    ]


async def queue_deep_scans(
    session: AsyncSession, places: Sequence[SeenPlace], *, without_details: bool
) -> set[UUID]:
    """Queue deep scans for places that were never scanned or have changed. Places curated out are
    skipped.
    """
    ready = [each for each in places if each.has_details or without_details]
    if not ready:
        return set()
    words = DEEP_SCAN_STATUSES
    changed = [each.id for each in ready if each.sighted is PlaceSightingState.CHANGED]
    queued = await session.scalars(
        update(Place)
        .where(
            Place.id == func.any(cast([each.id for each in ready], ARRAY(Uuid))),
            Place.status.not_in(REJECTED_STATUSES),
            or_(
                Place.deep_scan_status == NOT_QUEUED,
                and_(
                    Place.deep_scan_status.in_([words.done, words.failed]),
                    Place.id == func.any(cast(changed, ARRAY(Uuid))),
                ),
            ),
        )
        .values(
            deep_scan_status=words.queued,
            deep_scan_due_at=func.now(),
            deep_scan_attempts=0,
            deep_scan_error=None,
        )
        .returning(Place.id)
        .execution_options(synchronize_session=False)
    )
    queued_ids = set(queued)
    if queued_ids:
        wake_after_commit(session, DEEP_SCAN_STAGE)
    return queued_ids
