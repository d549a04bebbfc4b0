"""Businesses that may be the one somebody tells us of: found by indexes, then compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import cos, radians
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.entities.describing import describe_business, described
from scrapersky.models.businesses import BusinessSighting, LocalBusiness
from scrapersky.scraper.matching import Described, Judgement, Verdict, compare, name_key
from scrapersky.scraper.matching.identity import same_provider
from scrapersky.scraper.providers.geography import around, cell_of, neighbours

OF_A_KEY = 200
"""Businesses looked at that share one key; a chain has thousands with one name."""
CLOSELY = 12
"""Businesses compared sighting by sighting: the likeliest."""
NEARBY_KM = 0.4
"""By name and place alone nobody further away is taken for the same."""
_ORDER = (Verdict.DIFFERENT, Verdict.DOUBTFUL, Verdict.SAME)


@dataclass(frozen=True)
class Candidate:
    business: LocalBusiness
    judgement: Judgement


async def candidates(
    session: AsyncSession, tenant_id: UUID, told: Described, *, but: UUID | None = None
) -> list[Candidate]:
    """The likeliest first; those that surely are others are left out."""
    found = await _blocked(session, tenant_id, told)
    told = _with_what_is_shared(told, [each for each in found.values() if each.id != but])
    first = [(compare(told, describe_business(each)), each) for each in found.values()]
    likely = sorted(first, key=lambda pair: (-pair[0].score, pair[1].id))
    chosen = [each for _, each in likely if each.id != but][:CLOSELY]
    sightings = await _sightings(session, chosen)
    judged = [Candidate(each, judge(told, each, sightings.get(each.id, []))) for each in chosen]
    kept = [each for each in judged if each.judgement.verdict is not Verdict.DIFFERENT]
    return sorted(kept, key=lambda each: (-each.judgement.score, each.business.id))


def judge(
    told: Described, business: LocalBusiness, sightings: Sequence[BusinessSighting]
) -> Judgement:
    """The best of all comparisons; but where a provider has it as another place, no better than
    that one."""
    others = [described(each) for each in sightings]
    best = max(
        (compare(told, each) for each in (describe_business(business), *others)),
        key=lambda each: each.score,
    )
    vetoes = [compare(told, each) for each in others if same_provider(told, each) is False]
    return min((best, *vetoes), key=lambda each: _ORDER.index(each.verdict))


def _with_what_is_shared(told: Described, found: Sequence[LocalBusiness]) -> Described:
    """A site or a number that several businesses have says little of one of them."""
    sites = sum(told.site_key is not None and each.site_key == told.site_key for each in found)
    phones = sum(told.phone is not None and each.phone == told.phone for each in found)
    return replace(told, site_is_shared=sites > 1, phone_is_shared=phones > 1)


async def _blocked(
    session: AsyncSession, tenant_id: UUID, told: Described
) -> Mapping[UUID, LocalBusiness]:
    found: dict[UUID, LocalBusiness] = {}
    for condition in _keys(told):
        wanted = _of(tenant_id, told).where(*condition).limit(OF_A_KEY)
        found |= {each.id: each for each in await session.scalars(wanted)}
    return found


def _of(tenant_id: UUID, told: Described) -> Select[LocalBusiness]:
    return (
        select(LocalBusiness)
        .where(LocalBusiness.tenant_id == tenant_id)
        .order_by(*_nearest_first(told), LocalBusiness.id)
        .execution_options(populate_existing=True)
    )


def _nearest_first(told: Described) -> Iterator[ColumnElement[float]]:
    """In the middle of a city more lie around a place than are looked at; so do a chain's branches
    with one name. Roughly: it is only about which of them are."""
    if told.latitude is not None and told.longitude is not None:
        narrower = max(0.01, cos(radians(told.latitude)))
        high = func.abs(LocalBusiness.latitude - told.latitude)
        wide = func.abs(LocalBusiness.longitude - told.longitude) * narrower
        yield (high + wide).asc().nulls_last()


def _keys(told: Described) -> Iterator[list[ColumnElement[bool]]]:
    """Each a condition that an index answers."""
    if told.site_key:
        yield [LocalBusiness.site_key == told.site_key]
    if told.phone:
        yield [LocalBusiness.phone == told.phone]
    if told.name and (key := name_key(told.name)):
        yield [LocalBusiness.name_key == key]
    if told.latitude is not None and told.longitude is not None:
        yield _near(told.latitude, told.longitude)


def _near(latitude: float, longitude: float) -> list[ColumnElement[bool]]:
    """In the cells around it; and, but for those at the date line, not far within these."""
    box = around(latitude, longitude, NEARBY_KM)
    near: list[ColumnElement[bool]] = [
        LocalBusiness.cell.in_(neighbours(cell_of(latitude, longitude)))
    ]
    near.append(LocalBusiness.latitude.between(box.south, box.north))
    if box.west <= box.east:
        near.append(LocalBusiness.longitude.between(box.west, box.east))
    return near


async def _sightings(
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
