"""Get a business with its sightings, searches, domain, lead and possible duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import case, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.schemas import (
    BusinessDetail,
    BusinessDomain,
    BusinessLead,
    BusinessOut,
    BusinessSearch,
    PossibleDuplicate,
    SightingOut,
)
from scrapersky.errors import NotFound
from scrapersky.models import (
    Actor,
    BusinessSighting,
    Domain,
    Job,
    Lead,
    LocalBusiness,
    MergeCandidate,
    MergeState,
    Place,
    SearchPlace,
)

MAX_SEARCHES = 100
MAX_DUPLICATES = 100


async def get_business(session: AsyncSession, actor: Actor, business_id: UUID) -> LocalBusiness:
    business = await session.scalar(
        select(LocalBusiness).where(
            LocalBusiness.id == business_id, LocalBusiness.tenant_id == actor.tenant_id
        )
    )
    if business is None:
        raise NotFound(f"There is no local business {business_id}.")
    return business


async def get_detail(session: AsyncSession, business: LocalBusiness) -> BusinessDetail:
    domain = await _load_domain(session, business)
    lead = await _load_lead(session, business)
    return BusinessDetail(
        **BusinessOut.model_validate(business).model_dump(),
        hours=business.hours,
        sightings=[
            SightingOut.model_validate(each) for each in await _load_sightings(session, business)
        ],
        searches=await _load_searches(session, business),
        domain=BusinessDomain.model_validate(domain) if domain else None,
        lead=BusinessLead.model_validate(lead) if lead else None,
        possible_doubles=await _load_possible_duplicates(session, business),
    )


async def _load_sightings(
    session: AsyncSession, business: LocalBusiness
) -> Sequence[BusinessSighting]:
    rows = await session.scalars(
        select(BusinessSighting)
        .where(BusinessSighting.business_id == business.id)
        .order_by(BusinessSighting.first_seen_at, BusinessSighting.id)
    )
    return rows.all()


async def _load_searches(session: AsyncSession, business: LocalBusiness) -> list[BusinessSearch]:
    result = await session.execute(
        select(SearchPlace, Job.subject, Job.status, Job.created_at, Place.provider)
        .join(BusinessSighting, BusinessSighting.place_id == SearchPlace.place_id)
        .join(Job, Job.id == SearchPlace.search_id)
        .join(Place, Place.id == SearchPlace.place_id)
        .where(BusinessSighting.business_id == business.id)
        .order_by(SearchPlace.seen_at.desc(), SearchPlace.search_id, SearchPlace.place_id)
        .limit(MAX_SEARCHES)
    )
    return [
        BusinessSearch(
            search_id=link.search_id,
            subject=subject,
            asked_at=asked_at,
            status=status,
            place_id=link.place_id,
            provider=provider,
            position=link.position,
            fits=link.fits,
            seen_at=link.seen_at,
        )
        for link, subject, status, asked_at, provider in result
    ]


async def _load_domain(session: AsyncSession, business: LocalBusiness) -> Domain | None:
    if business.domain_id is None:
        return None
    return await session.get(Domain, business.domain_id)


async def _load_lead(session: AsyncSession, business: LocalBusiness) -> Lead | None:
    """Load the lead of the business's site, or the business's own lead."""
    own = Lead.domain_id.is_(None) & (Lead.local_business_id == business.id)
    lead: Lead | None = await session.scalar(
        select(Lead).where(Lead.domain_id == business.domain_id)
        if business.domain_id is not None
        else select(Lead).where(own)
    )
    return lead


async def _load_possible_duplicates(
    session: AsyncSession, business: LocalBusiness
) -> list[PossibleDuplicate]:
    mine = MergeCandidate.left_id == business.id
    other = case((mine, MergeCandidate.right_id), else_=MergeCandidate.left_id)
    result = await session.execute(
        select(MergeCandidate, LocalBusiness)
        .join(LocalBusiness, LocalBusiness.id == other)
        .where(
            or_(mine, MergeCandidate.right_id == business.id),
            MergeCandidate.state == MergeState.OPEN,
        )
        .order_by(MergeCandidate.score.desc(), MergeCandidate.id)
        .limit(MAX_DUPLICATES)
    )
    return [
        PossibleDuplicate(
            candidate_id=candidate.id,
            business_id=each.id,
            business_name=each.business_name,
            address=each.address,
            score=candidate.score,
            reasons=candidate.reasons,
        )
        for candidate, each in result
    ]
