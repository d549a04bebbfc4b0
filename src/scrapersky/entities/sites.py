"""What a site says of whose it is: one more sighting of the business that led to it.

A site by itself makes no business: whose it is stands in its lead. It only joins a business that a
search or a list led us from, and only when it says it is that one; of a chain, whose branches share
the site, only the branch whose address or number it gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.entities.candidates import Candidate, judge
from scrapersky.entities.describing import Facts, describe, facts_of_site
from scrapersky.entities.locking import resolve_alone
from scrapersky.entities.sightings import refresh_business, sightings_of
from scrapersky.harvest.erasure_filter import remove_erased
from scrapersky.models import Domain
from scrapersky.models.businesses import BusinessSighting, LocalBusiness, MatchedBy
from scrapersky.models.places import Provider
from scrapersky.scraper.matching import Verdict


async def note_site(session: AsyncSession, domain: Domain) -> LocalBusiness | None:
    """The business that the site says it is, where that is one that led to it. To be called before
    the domain's lead is held."""
    facts = await remove_erased(session, domain.tenant_id, facts_of_site(domain))
    if "business_name" not in facts or not await _led_here(session, domain):
        return None
    await resolve_alone(session, domain.tenant_id)
    sighting = await _known(session, domain)
    if sighting is None:
        sighting = await _first_seen(session, domain, facts)
    if sighting is None:
        return None
    sighting.facts, sighting.last_seen_at = facts, func.now()
    business = await session.get_one(LocalBusiness, sighting.business_id)
    await refresh_business(session, business)
    return business


async def _led_here(session: AsyncSession, domain: Domain) -> Sequence[LocalBusiness]:
    found = await session.scalars(
        select(LocalBusiness)
        .where(LocalBusiness.tenant_id == domain.tenant_id, LocalBusiness.domain_id == domain.id)
        .order_by(LocalBusiness.id)
        .execution_options(populate_existing=True)
    )
    return found.all()


async def _known(session: AsyncSession, domain: Domain) -> BusinessSighting | None:
    found: BusinessSighting | None = await session.scalar(
        select(BusinessSighting).where(
            BusinessSighting.tenant_id == domain.tenant_id,
            BusinessSighting.provider == Provider.SITE,
            BusinessSighting.source_key == domain.domain,
        )
    )
    return found


async def _first_seen(
    session: AsyncSession, domain: Domain, facts: Facts
) -> BusinessSighting | None:
    best = await _said_to_be(session, domain, facts)
    if best is None:
        return None
    sighting = BusinessSighting(
        id=uuid7(),
        tenant_id=domain.tenant_id,
        business_id=best.business.id,
        provider=Provider.SITE.value,
        source_key=domain.domain,
        domain_id=domain.id,
        matched_by=MatchedBy.DOMAIN.value,
        score=best.judgement.score,
        why=" ".join(best.judgement.reasons),
    )
    session.add(sighting)
    return sighting


async def _said_to_be(session: AsyncSession, domain: Domain, facts: Facts) -> Candidate | None:
    led_here = await _led_here(session, domain)
    told = describe(facts, Provider.SITE, domain.domain)
    told = replace(told, site_is_shared=len(led_here) > 1)
    judged = [
        Candidate(each, judge(told, each, await sightings_of(session, each.id)))
        for each in led_here
    ]
    same = [each for each in judged if each.judgement.verdict is Verdict.SAME]
    return max(same, key=lambda each: each.judgement.score, default=None)
