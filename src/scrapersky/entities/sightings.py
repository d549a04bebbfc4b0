"""Somebody tells us of a business: it is found again or made, and what was said is kept.

Sure: the sighting joins the business. Doubtful: it makes one of its own, and a person is asked.
Otherwise it is a new one. What people decided is never touched, and the stage that looks at
websites begins again only when the website is another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.entities.candidates import Candidate, candidates, judge
from scrapersky.entities.describing import Facts, describe, described, facts_of_place
from scrapersky.entities.facts import write_facts
from scrapersky.entities.handing_on import begin_extraction, refresh_lead
from scrapersky.entities.joining import are_apart, join, prefer
from scrapersky.entities.locking import resolve_alone
from scrapersky.entities.moving import follow, predecessor
from scrapersky.entities.questions import ask
from scrapersky.harvest.erasure_filter import remove_erased
from scrapersky.models import Place, get_system_user_id
from scrapersky.models.businesses import BusinessSighting, LocalBusiness, MatchedBy
from scrapersky.scraper.matching import Judgement, Verdict

NOBODY_ALIKE = "Nobody like it was known."
MOVED_HERE = "The provider says that it moved here."


@dataclass(frozen=True)
class Found:
    """The business that a sighting belongs to, and why."""

    business: LocalBusiness
    matched_by: MatchedBy
    score: float = 1.0
    why: str = NOBODY_ALIKE


async def note_place(
    session: AsyncSession, place: Place, *, extract: bool = False
) -> LocalBusiness:
    """The business that the place is. With `extract` its website goes on to become a domain, unless
    that was done from this very website before."""
    await session.flush()
    await session.refresh(place)
    facts = await remove_erased(session, place.tenant_id, facts_of_place(place))
    await resolve_alone(session, place.tenant_id)
    sighting = await _known(session, place)
    if sighting is None:
        sighting = await _first_seen(session, place, facts)
    sighting.facts, sighting.last_seen_at = facts, func.now()
    business = await follow(session, place, sighting)
    place.local_business_id = business.id
    await refresh_business(session, business, extract=extract)
    return business


async def refresh_business(
    session: AsyncSession, business: LocalBusiness, *, extract: bool = False
) -> None:
    """Make it say what its sightings say now, and its lead with it."""
    await session.flush()
    await session.refresh(business, with_for_update={"key_share": True})
    changed = write_facts(business, await sightings_of(session, business.id))
    await session.flush()
    await session.refresh(business)
    if extract:
        begin_extraction(session, business, anew="website_url" in changed)
        await session.flush()
    await refresh_lead(session, business)
    await session.refresh(business)


async def sightings_of(session: AsyncSession, business_id: UUID) -> Sequence[BusinessSighting]:
    found = await session.scalars(
        select(BusinessSighting)
        .where(BusinessSighting.business_id == business_id)
        .order_by(BusinessSighting.id)
        .execution_options(populate_existing=True)
    )
    return found.all()


async def _known(session: AsyncSession, place: Place) -> BusinessSighting | None:
    found: BusinessSighting | None = await session.scalar(
        select(BusinessSighting)
        .where(
            BusinessSighting.tenant_id == place.tenant_id,
            BusinessSighting.provider == place.provider,
            BusinessSighting.source_key == place.place_id,
        )
        .with_for_update(key_share=True)
    )
    return found


async def _first_seen(session: AsyncSession, place: Place, facts: Facts) -> BusinessSighting:
    found = await _resolve(session, place, facts)
    sighting = BusinessSighting(
        id=uuid7(),
        tenant_id=place.tenant_id,
        business_id=found.business.id,
        provider=place.provider,
        source_key=place.place_id,
        place_id=place.id,
        facts=facts,
        matched_by=found.matched_by.value,
        score=found.score,
        why=found.why,
    )
    session.add(sighting)
    await session.flush()
    return sighting


async def _resolve(session: AsyncSession, place: Place, facts: Facts) -> Found:
    if (before := await predecessor(session, place)) is not None:
        return Found(before, MatchedBy.MOVED, why=MOVED_HERE)
    told = describe(facts, place.provider, place.place_id)
    alike = await candidates(session, place.tenant_id, told)
    same = [each for each in alike if each.judgement.verdict is Verdict.SAME]
    if same:
        return await _joined(session, same)
    business = await _new(session, place)
    await ask(session, business, alike)
    return Found(business, MatchedBy.FIRST)


async def _joined(session: AsyncSession, same: Sequence[Candidate]) -> Found:
    """The likeliest. Others that it surely is, too, turn out to be one with that: now somebody
    knows what connects them. Where they contradict each other a person is asked."""
    judgement, business = same[0].judgement, same[0].business
    for each in same[1:]:
        if await _are_one(session, business, each.business):
            keep, give_up = prefer(business, each.business)
            business = await join(session, keep=keep, give_up=give_up)
        else:
            await ask(session, business, [each])
    by = MatchedBy(judgement.matched_by.value)
    return Found(business, by, judgement.score, _why(judgement))


async def _are_one(session: AsyncSession, one: LocalBusiness, other: LocalBusiness) -> bool:
    """Whether nothing speaks against it, neither a person nor what they are."""
    if await are_apart(session, one.id, other.id):
        return False
    others = await sightings_of(session, other.id)
    judged = [judge(described(each), other, others) for each in await sightings_of(session, one.id)]
    return all(each.verdict is not Verdict.DIFFERENT for each in judged)


def _why(judgement: Judgement) -> str:
    return " ".join(judgement.reasons)


async def _new(session: AsyncSession, place: Place) -> LocalBusiness:
    business = LocalBusiness(
        id=uuid7(),
        tenant_id=place.tenant_id,
        created_by=get_system_user_id(session),
        place_id=place.id,
    )
    session.add(business)
    await session.flush()
    return business
