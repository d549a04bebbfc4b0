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
    session: AsyncSession,
    tenant_id: UUID,
    description: BusinessDescription,
    *,
    but: UUID | None = None,
) -> list[MatchCandidate]:
    """Return businesses that are or may be the same, best match first."""
    businesses = await _load_by_blocking_keys(session, tenant_id, description)
    description = _flag_shared_keys(
        description, [each for each in businesses.values() if each.id != but]
    )
    first = [(compare(description, describe_business(each)), each) for each in businesses.values()]
    likely = sorted(first, key=lambda pair: (-pair[0].score, pair[1].id))
    chosen = [each for _, each in likely if each.id != but][:MAX_COMPARED]
    sightings = await _load_sightings(session, chosen)
    judged = [
        MatchCandidate(each, judge(description, each, sightings.get(each.id, [])))
        for each in chosen
    ]
    kept = [each for each in judged if each.judgement.verdict is not MatchVerdict.DIFFERENT]
    return sorted(kept, key=lambda each: (-each.judgement.score, each.business.id))


def judge(
    description: BusinessDescription, business: LocalBusiness, sightings: Sequence[BusinessSighting]
) -> MatchResult:
    """Return the best match among the business and its sightings.

    A sighting that has another place ID at the same provider is a veto: the result is then no
    better than the comparison with that sighting.
    """
    others = [describe_sighting(each) for each in sightings]
    best = max(
        (compare(description, each) for each in (describe_business(business), *others)),
        key=lambda each: each.score,
    )
    vetoes = [
        compare(description, each)
        for each in others
        if compare_place_ids(description, each) is False
    ]
    return min((best, *vetoes), key=lambda each: _VERDICT_ORDER.index(each.verdict))


def _flag_shared_keys(
    description: BusinessDescription, businesses: Sequence[LocalBusiness]
) -> BusinessDescription:
    """Flag a site or phone number that several businesses share: it is weak evidence for any of
    them.
    """
    sites = sum(
        description.site_key is not None and each.site_key == description.site_key
        for each in businesses
    )
    phones = sum(
        description.phone is not None and each.phone == description.phone for each in businesses
    )
    return replace(description, site_is_shared=sites > 1, phone_is_shared=phones > 1)


async def _load_by_blocking_keys(
    session: AsyncSession, tenant_id: UUID, description: BusinessDescription
) -> Mapping[UUID, LocalBusiness]:
    businesses: dict[UUID, LocalBusiness] = {}
    for condition in _build_blocking_conditions(description):
        statement = _select_businesses(tenant_id, description).where(*condition).limit(MAX_PER_KEY)
        businesses |= {each.id: each for each in await session.scalars(statement)}
    return businesses


def _select_businesses(tenant_id: UUID, description: BusinessDescription) -> Select[LocalBusiness]:
    return (
        select(LocalBusiness)
        .where(LocalBusiness.tenant_id == tenant_id)
        .order_by(*_order_by_distance(description), LocalBusiness.id)
        .execution_options(populate_existing=True)
    )


def _order_by_distance(description: BusinessDescription) -> Iterator[ColumnElement[float]]:
    """Order by approximate distance, so that the limit keeps the nearest.

    A city centre, or a chain with one name, has more businesses than are loaded.
    """
    if description.latitude is not None and description.longitude is not None:
        narrower = max(0.01, cos(radians(description.latitude)))
        high = func.abs(LocalBusiness.latitude - description.latitude)
        wide = func.abs(LocalBusiness.longitude - description.longitude) * narrower
        yield (high + wide).asc().nulls_last()


def _build_blocking_conditions(
    description: BusinessDescription,
) -> Iterator[list[ColumnElement[bool]]]:
    """Yield one condition per blocking key. Each one uses an index."""
    if description.site_key:
        yield [LocalBusiness.site_key == description.site_key]
    if description.phone:
        yield [LocalBusiness.phone == description.phone]
    if description.name and (key := build_name_key(description.name)):
        yield [LocalBusiness.name_key == key]
    if description.latitude is not None and description.longitude is not None:
        yield _build_nearby_conditions(description.latitude, description.longitude)


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
    sightings: dict[UUID, list[BusinessSighting]] = {}
    statement = select(BusinessSighting).where(BusinessSighting.business_id.in_(ids))
    for each in await session.scalars(statement.order_by(BusinessSighting.id)):
        sightings.setdefault(each.business_id, []).append(each)
    return sightings


def order_pair(one: UUID, other: UUID) -> tuple[UUID, UUID]:
    """Return the IDs in the order in which pairs are stored, so that each pair exists once."""
    return (one, other) if one < other else (other, one)


async def store_merge_candidates(
    session: AsyncSession, business: LocalBusiness, others: Iterable[MatchCandidate]
) -> None:
    """Insert a merge candidate for each match. Pairs that already exist keep their decision."""
    rows = [_build_row(business, each) for each in others if each.business.id != business.id]
    if rows:
        statement = insert(MergeCandidate).values(sorted(rows, key=_get_pair_key))
        await session.execute(
            statement.on_conflict_do_nothing(
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
