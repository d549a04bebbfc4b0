"""Entity resolution: match a place or site to a business, or create one, under a per-tenant lock.

A certain match adds the sighting to the business. A doubtful one creates a business and a merge
candidate for review. Otherwise a new business is created. Curation is never changed, and domain
extraction restarts only when the website changes.

A site alone creates no business; its lead says whose site it is. It only joins a business that a
search or an import linked to it, and only when its stated facts match. Of a chain whose branches
share the site, it joins the branch whose address or number it states.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import BigInteger, cast, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.candidates import (
    MatchCandidate,
    find_candidates,
    judge,
    store_merge_candidates,
)
from scrapersky.businesses.domain_extraction import queue_extraction_if_due, refresh_lead
from scrapersky.businesses.facts import (
    Facts,
    build_place_facts,
    build_site_facts,
    describe_facts,
    describe_sighting,
    write_facts,
)
from scrapersky.businesses.merge import are_kept_apart, choose_survivor, merge_businesses
from scrapersky.contacts.erasure_filter import remove_erased
from scrapersky.db.base import uuid7
from scrapersky.models import Domain, Place, get_system_user_id
from scrapersky.models.businesses import BusinessSighting, LocalBusiness, MatchReason
from scrapersky.models.places import Provider
from scrapersky.scraper.matching.model import MatchResult, MatchVerdict


async def lock_resolution(session: AsyncSession, tenant_id: UUID) -> None:
    """Take the per-tenant advisory lock for entity resolution until the transaction ends.

    Matches are found by several keys, and creating a business relies on there being no match. A
    single lock per tenant cannot deadlock with itself. It is held for milliseconds, because no
    transaction does slow work.

    Lock order: places, this lock, businesses, domains, leads.
    """
    name = hashlib.blake2b(f"businesses of {tenant_id}".encode(), digest_size=8)
    key = cast(int.from_bytes(name.digest(), "big", signed=True), BigInteger)
    await session.execute(select(func.pg_advisory_xact_lock(key)))


async def find_predecessor(session: AsyncSession, place: Place) -> LocalBusiness | None:
    """Return the business of the place that moved to this one, according to the provider."""
    local_business: LocalBusiness | None = await session.scalar(
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
    return local_business


async def follow_move(
    session: AsyncSession, place: Place, sighting: BusinessSighting
) -> LocalBusiness:
    """Return the sighting's business. If its place moved to a known place, merge the two
    businesses.
    """
    mine = await session.get_one(LocalBusiness, sighting.business_id)
    successor = await _find_successor(session, place) if place.moved_to else None
    if successor is None or successor.id == mine.id:
        return mine
    if await are_kept_apart(session, mine.id, successor.id):
        return mine
    return await merge_businesses(session, keep=successor, give_up=mine)


async def _find_successor(session: AsyncSession, place: Place) -> LocalBusiness | None:
    local_business: LocalBusiness | None = await session.scalar(
        select(LocalBusiness)
        .join(BusinessSighting, BusinessSighting.business_id == LocalBusiness.id)
        .where(
            BusinessSighting.tenant_id == place.tenant_id,
            BusinessSighting.provider == place.provider,
            BusinessSighting.source_key == place.moved_to,
        )
    )
    return local_business


NO_MATCH_REASON = "No similar business existed."
MOVED_REASON = "The provider reports that it moved here."


@dataclass(frozen=True)
class ResolvedBusiness:
    """The business that a sighting belongs to, and why."""

    business: LocalBusiness
    matched_by: MatchReason
    score: float = 1.0
    why: str = NO_MATCH_REASON


async def resolve_place(
    session: AsyncSession, place: Place, *, extract: bool = False
) -> LocalBusiness:
    """Find or create the business of a place and store the sighting.

    With `extract`, queue domain extraction unless it was already done for the same website.
    """
    await session.flush()
    await session.refresh(place)
    facts = await remove_erased(session, place.tenant_id, build_place_facts(place))
    await lock_resolution(session, place.tenant_id)
    sighting = await _find_place_sighting(session, place)
    if sighting is None:
        sighting = await _add_place_sighting(session, place, facts)
    sighting.facts, sighting.last_seen_at = facts, func.now()
    business = await follow_move(session, place, sighting)
    place.local_business_id = business.id
    await refresh_business(session, business, extract=extract)
    return business


async def refresh_business(
    session: AsyncSession, business: LocalBusiness, *, extract: bool = False
) -> None:
    """Rewrite the business's facts from its sightings, and refresh its lead."""
    await session.flush()
    await session.refresh(business, with_for_update={"key_share": True})
    changed = write_facts(business, await load_sightings(session, business.id))
    await session.flush()
    await session.refresh(business)
    if extract:
        queue_extraction_if_due(session, business, is_changed="website_url" in changed)
        await session.flush()
    await refresh_lead(session, business)
    await session.refresh(business)


async def load_sightings(session: AsyncSession, business_id: UUID) -> Sequence[BusinessSighting]:
    rows = await session.scalars(
        select(BusinessSighting)
        .where(BusinessSighting.business_id == business_id)
        .order_by(BusinessSighting.id)
        .execution_options(populate_existing=True)
    )
    return rows.all()


async def _find_place_sighting(session: AsyncSession, place: Place) -> BusinessSighting | None:
    business_sighting: BusinessSighting | None = await session.scalar(
        select(BusinessSighting)
        .where(
            BusinessSighting.tenant_id == place.tenant_id,
            BusinessSighting.provider == place.provider,
            BusinessSighting.source_key == place.place_id,
        )
        .with_for_update(key_share=True)
    )
    return business_sighting


async def _add_place_sighting(
    session: AsyncSession, place: Place, facts: Facts
) -> BusinessSighting:
    business = await _resolve_business(session, place, facts)
    sighting = BusinessSighting(
        id=uuid7(),
        tenant_id=place.tenant_id,
        business_id=business.business.id,
        provider=place.provider,
        source_key=place.place_id,
        place_id=place.id,
        facts=facts,
        matched_by=business.matched_by.value,
        score=business.score,
        why=business.why,
    )
    session.add(sighting)
    await session.flush()
    return sighting


async def _resolve_business(session: AsyncSession, place: Place, facts: Facts) -> ResolvedBusiness:
    if (before := await find_predecessor(session, place)) is not None:
        return ResolvedBusiness(before, MatchReason.MOVED, why=MOVED_REASON)
    description = describe_facts(facts, place.provider, place.place_id)
    alike = await find_candidates(session, place.tenant_id, description)
    same = [each for each in alike if each.judgement.verdict is MatchVerdict.SAME]
    if same:
        return await _merge_matches(session, same)
    business = await _create_business(session, place)
    await store_merge_candidates(session, business, alike)
    return ResolvedBusiness(business, MatchReason.FIRST)


async def _merge_matches(session: AsyncSession, same: Sequence[MatchCandidate]) -> ResolvedBusiness:
    """Return the best match and merge the other certain matches into it.

    The sighting connects them. Matches that contradict each other become merge candidates.
    """
    judgement, business = same[0].judgement, same[0].business
    for each in same[1:]:
        if await _can_merge(session, business, each.business):
            keep, give_up = choose_survivor(business, each.business)
            business = await merge_businesses(session, keep=keep, give_up=give_up)
        else:
            await store_merge_candidates(session, business, [each])
    by = MatchReason(judgement.matched_by.value)
    return ResolvedBusiness(business, by, judgement.score, _format_reasons(judgement))


async def _can_merge(session: AsyncSession, one: LocalBusiness, other: LocalBusiness) -> bool:
    """Return whether neither a user's decision nor any sighting contradicts the merge."""
    if await are_kept_apart(session, one.id, other.id):
        return False
    others = await load_sightings(session, other.id)
    judged = [
        judge(describe_sighting(each), other, others)
        for each in await load_sightings(session, one.id)
    ]
    return all(each.verdict is not MatchVerdict.DIFFERENT for each in judged)


def _format_reasons(judgement: MatchResult) -> str:
    return " ".join(judgement.reasons)


async def _create_business(session: AsyncSession, place: Place) -> LocalBusiness:
    business = LocalBusiness(
        id=uuid7(),
        tenant_id=place.tenant_id,
        created_by=get_system_user_id(session),
        place_id=place.id,
    )
    session.add(business)
    await session.flush()
    return business


async def resolve_site(session: AsyncSession, domain: Domain) -> LocalBusiness | None:
    """Add the site as a sighting of the linked business that it describes, and return that
    business.

    Call it before locking the domain's lead.
    """
    facts = await remove_erased(session, domain.tenant_id, build_site_facts(domain))
    if "business_name" not in facts or not await _load_linked_businesses(session, domain):
        return None
    await lock_resolution(session, domain.tenant_id)
    sighting = await _find_site_sighting(session, domain)
    if sighting is None:
        sighting = await _add_site_sighting(session, domain, facts)
    if sighting is None:
        return None
    sighting.facts, sighting.last_seen_at = facts, func.now()
    business = await session.get_one(LocalBusiness, sighting.business_id)
    await refresh_business(session, business)
    return business


async def _load_linked_businesses(session: AsyncSession, domain: Domain) -> Sequence[LocalBusiness]:
    rows = await session.scalars(
        select(LocalBusiness)
        .where(LocalBusiness.tenant_id == domain.tenant_id, LocalBusiness.domain_id == domain.id)
        .order_by(LocalBusiness.id)
        .execution_options(populate_existing=True)
    )
    return rows.all()


async def _find_site_sighting(session: AsyncSession, domain: Domain) -> BusinessSighting | None:
    business_sighting: BusinessSighting | None = await session.scalar(
        select(BusinessSighting).where(
            BusinessSighting.tenant_id == domain.tenant_id,
            BusinessSighting.provider == Provider.SITE,
            BusinessSighting.source_key == domain.domain,
        )
    )
    return business_sighting


async def _add_site_sighting(
    session: AsyncSession, domain: Domain, facts: Facts
) -> BusinessSighting | None:
    best = await _find_matching_business(session, domain, facts)
    if best is None:
        return None
    sighting = BusinessSighting(
        id=uuid7(),
        tenant_id=domain.tenant_id,
        business_id=best.business.id,
        provider=Provider.SITE.value,
        source_key=domain.domain,
        domain_id=domain.id,
        matched_by=MatchReason.DOMAIN.value,
        score=best.judgement.score,
        why=" ".join(best.judgement.reasons),
    )
    session.add(sighting)
    return sighting


async def _find_matching_business(
    session: AsyncSession, domain: Domain, facts: Facts
) -> MatchCandidate | None:
    led_here = await _load_linked_businesses(session, domain)
    description = describe_facts(facts, Provider.SITE, domain.domain)
    description = replace(description, site_is_shared=len(led_here) > 1)
    judged = [
        MatchCandidate(each, judge(description, each, await load_sightings(session, each.id)))
        for each in led_here
    ]
    same = [each for each in judged if each.judgement.verdict is MatchVerdict.SAME]
    return max(same, key=lambda each: each.judgement.score, default=None)
