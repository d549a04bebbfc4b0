"""Find businesses that may be the same by blocking keys, compare them, and store merge
candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import cos, radians
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.facts import describe_business, describe_sighting
from scrapersky.db.base import uuid7
from scrapersky.models.businesses import BusinessSighting, LocalBusiness, MergeCandidate
from scrapersky.scraper.matching.comparison import compare, compare_place_ids
from scrapersky.scraper.matching.model import BusinessDescription, MatchResult, MatchVerdict
from scrapersky.scraper.matching.names import build_name_key
from scrapersky.scraper.providers.geography import get_bounding_area, get_cell, get_neighbours

MAX_PER_KEY = 200
"""Maximum number of businesses loaded per blocking key. A chain has thousands with one name."""
MAX_COMPARED = 12
"""Number of best matches that are compared sighting by sighting."""
MAX_DISTANCE_KM = 0.4
"""Businesses further away are not matched by name and location alone."""
_VERDICT_ORDER = (MatchVerdict.DIFFERENT, MatchVerdict.DOUBTFUL, MatchVerdict.SAME)


@dataclass(frozen=True)
class MatchCandidate:
    business: LocalBusiness
    judgement: MatchResult


async def find_candidates(
    session: AsyncSession, tenant_id: UUID, told: BusinessDescription, *, but: UUID | None = None
) -> list[MatchCandidate]:
    """Return businesses that are or may be the same, best match first."""
    found = await _load_by_blocking_keys(session, tenant_id, told)
    told = _flag_shared_keys(told, [each for each in found.values() if each.id != but])
    first = [(compare(told, describe_business(each)), each) for each in found.values()]
    likely = sorted(first, key=lambda pair: (-pair[0].score, pair[1].id))
    chosen = [each for _, each in likely if each.id != but][:MAX_COMPARED]
    sightings = await _load_sightings(session, chosen)
    judged = [
        MatchCandidate(each, judge(told, each, sightings.get(each.id, []))) for each in chosen
    ]
    kept = [each for each in judged if each.judgement.verdict is not MatchVerdict.DIFFERENT]
    return sorted(kept, key=lambda each: (-each.judgement.score, each.business.id))


def judge(
    told: BusinessDescription, business: LocalBusiness, sightings: Sequence[BusinessSighting]
) -> MatchResult:
    """Return the best match among the business and its sightings.

    A sighting that has another place ID at the same provider is a veto: the result is then no
    better than the comparison with that sighting.
    """
    others = [describe_sighting(each) for each in sightings]
    best = max(
        (compare(told, each) for each in (describe_business(business), *others)),
        key=lambda each: each.score,
    )
    vetoes = [compare(told, each) for each in others if compare_place_ids(told, each) is False]
    return min((best, *vetoes), key=lambda each: _VERDICT_ORDER.index(each.verdict))


def _flag_shared_keys(
    told: BusinessDescription, found: Sequence[LocalBusiness]
) -> BusinessDescription:
    """Flag a site or phone number that several businesses share: it is weak evidence for any of
    them.
    """
    sites = sum(told.site_key is not None and each.site_key == told.site_key for each in found)
    phones = sum(told.phone is not None and each.phone == told.phone for each in found)
    return replace(told, site_is_shared=sites > 1, phone_is_shared=phones > 1)


async def _load_by_blocking_keys(
    session: AsyncSession, tenant_id: UUID, told: BusinessDescription
) -> Mapping[UUID, LocalBusiness]:
    found: dict[UUID, LocalBusiness] = {}
    for condition in _build_blocking_conditions(told):
        wanted = _select_businesses(tenant_id, told).where(*condition).limit(MAX_PER_KEY)
        found |= {each.id: each for each in await session.scalars(wanted)}
    return found


def _select_businesses(tenant_id: UUID, told: BusinessDescription) -> Select[LocalBusiness]:
    return (
        select(LocalBusiness)
        .where(LocalBusiness.tenant_id == tenant_id)
        .order_by(*_order_by_distance(told), LocalBusiness.id)
        .execution_options(populate_existing=True)
    )


def _order_by_distance(told: BusinessDescription) -> Iterator[ColumnElement[float]]:
    """Order by approximate distance, so that the limit keeps the nearest.

    A city centre, or a chain with one name, has more businesses than are loaded.
    """
    if told.latitude is not None and told.longitude is not None:
        narrower = max(0.01, cos(radians(told.latitude)))
        high = func.abs(LocalBusiness.latitude - told.latitude)
        wide = func.abs(LocalBusiness.longitude - told.longitude) * narrower
        yield (high + wide).asc().nulls_last()


def _build_blocking_conditions(told: BusinessDescription) -> Iterator[list[ColumnElement[bool]]]:
    """Yield one condition per blocking key. Each one uses an index."""
    if told.site_key:
        yield [LocalBusiness.site_key == told.site_key]
    if told.phone:
        yield [LocalBusiness.phone == told.phone]
    if told.name and (key := build_name_key(told.name)):
        yield [LocalBusiness.name_key == key]
    if told.latitude is not None and told.longitude is not None:
        yield _build_nearby_conditions(told.latitude, told.longitude)


def _build_nearby_conditions(latitude: float, longitude: float) -> list[ColumnElement[bool]]:
    """Match the surrounding cells and a bounding box. The box has no longitude bounds across the
    date line.
    """
    box = get_bounding_area(latitude, longitude, MAX_DISTANCE_KM)
    near: list[ColumnElement[bool]] = [
        LocalBusiness.cell.in_(get_neighbours(get_cell(latitude, longitude)))
    ]
    near.append(LocalBusiness.latitude.between(box.south, box.north))
    if box.west <= box.east:
        near.append(LocalBusiness.longitude.between(box.west, box.east))
    return near


async def _load_sightings(
    session: AsyncSession, businesses: Sequence[LocalBusiness]
) -> Mapping[UUID, list[BusinessSighting]]:
    if not businesses:
        return {}
    ids = [each.id for each in businesses]
    found: dict[UUID, list[BusinessSighting]] = {}
    wanted = select(BusinessSighting).where(BusinessSighting.business_id.in_(ids))
    for each in await session.scalars(wanted.order_by(BusinessSighting.id)):
        found.setdefault(each.business_id, []).append(each)
    return found


def order_pair(one: UUID, other: UUID) -> tuple[UUID, UUID]:
    """Return the IDs in the order in which pairs are stored, so that each pair exists once."""
    return (one, other) if one < other else (other, one)


async def store_merge_candidates(
    session: AsyncSession, business: LocalBusiness, others: Iterable[MatchCandidate]
) -> None:
    """Insert a merge candidate for each match. Pairs that already exist keep their decision."""
    rows = [_build_row(business, each) for each in others if each.business.id != business.id]
    if rows:
        adding = insert(MergeCandidate).values(sorted(rows, key=_get_pair_key))
        await session.execute(
            adding.on_conflict_do_nothing(
                index_elements=[MergeCandidate.left_id, MergeCandidate.right_id]
            )
        )


def _build_row(business: LocalBusiness, other: MatchCandidate) -> dict[str, object]:
    left, right = order_pair(business.id, other.business.id)
    return {
        "id": uuid7(),
        "tenant_id": business.tenant_id,
        "left_id": left,
        "right_id": right,
        "score": other.judgement.score,
        "reasons": list(other.judgement.reasons),
    }


def _get_pair_key(row: dict[str, object]) -> tuple[str, str]:
    return str(row["left_id"]), str(row["right_id"])
