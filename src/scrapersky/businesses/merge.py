"""Merge two businesses into one, with their references, leads and merge candidates.

The caller holds the tenant's resolution lock (`resolution.lock_resolution`).
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.candidates import order_pair
from scrapersky.businesses.domain_extraction import queue_extraction
from scrapersky.models import Domain, Lead, LeadCuration, Place
from scrapersky.models.businesses import (
    EXTRACTION_STATUSES,
    BusinessCuration,
    BusinessSighting,
    LocalBusiness,
    MergeCandidate,
    MergeState,
)


async def merge_leads(session: AsyncSession, keep: LocalBusiness, give_up: LocalBusiness) -> None:
    """Repoint site leads to the survivor. Of two leads without a site keep one."""
    await session.execute(
        update(Lead)
        .where(Lead.local_business_id == give_up.id, Lead.domain_id.is_not(None))
        .values(local_business_id=keep.id)
        .execution_options(synchronize_session=False)
    )
    other = await _lock_own_lead(session, give_up)
    if other is None:
        return
    mine = await _lock_site_lead(session, keep) or await _lock_own_lead(session, keep)
    if mine is None:
        other.local_business_id = keep.id
    else:
        if mine.lead_curation_status == LeadCuration.NEW:
            mine.lead_curation_status = other.lead_curation_status
        await session.delete(other)
    await session.flush()


async def _lock_own_lead(session: AsyncSession, business: LocalBusiness) -> Lead | None:
    statement = select(Lead).where(Lead.local_business_id == business.id, Lead.domain_id.is_(None))
    lead: Lead | None = await session.scalar(statement.with_for_update())
    return lead


async def _lock_site_lead(session: AsyncSession, business: LocalBusiness) -> Lead | None:
    if business.domain_id is None:
        return None
    statement = select(Lead).where(Lead.domain_id == business.domain_id)
    lead: Lead | None = await session.scalar(statement.with_for_update())
    return lead


UNDECIDED_STATUSES = (BusinessCuration.NEW.value, BusinessCuration.MAYBE.value)
WEBSITE_COLUMNS = ("website_kind", "website_note", "site_key", "domain_id")


async def merge_businesses(
    session: AsyncSession, *, keep: LocalBusiness, give_up: LocalBusiness
) -> LocalBusiness:
    """Merge `give_up` into `keep` and return it. The caller must refresh its facts."""
    for each in sorted((keep, give_up), key=lambda business: business.id):
        await session.refresh(each, with_for_update=True)
    keep.status = get_stronger_decision(keep.status, give_up.status)
    _copy_website(session, keep, give_up)
    await session.flush()
    await _repoint_references(session, keep.id, give_up.id)
    await merge_leads(session, keep, give_up)
    await _merge_pairs(session, keep.id, give_up.id)
    place_id = give_up.place_id
    await session.execute(
        delete(LocalBusiness)
        .where(LocalBusiness.id == give_up.id)
        .execution_options(**_NO_SYNCHRONIZATION)
    )
    session.expunge(give_up)
    keep.place_id = keep.place_id or place_id
    await session.flush()
    return keep


_NO_SYNCHRONIZATION: dict[str, Any] = {"synchronize_session": False}


def choose_survivor(
    one: LocalBusiness, other: LocalBusiness
) -> tuple[LocalBusiness, LocalBusiness]:
    """Return the business to keep and the one to delete: a decided one wins, then the older."""
    older, younger = sorted((one, other), key=lambda business: business.id)
    is_undecided = older.status in UNDECIDED_STATUSES and younger.status not in UNDECIDED_STATUSES
    return (younger, older) if is_undecided else (older, younger)


def get_stronger_decision(mine: str, other: str) -> str:
    """Return the status that carries a decision: undecided never overrides decided."""
    order = (*UNDECIDED_STATUSES, "decided")
    ranks = [
        order.index(each if each in UNDECIDED_STATUSES else "decided") for each in (mine, other)
    ]
    return other if ranks[1] > ranks[0] else mine


def _copy_website(session: AsyncSession, keep: LocalBusiness, other: LocalBusiness) -> None:
    """Copy the other's resolved website when ours is the same or missing."""
    if keep.website_url is not None and keep.website_url != other.website_url:
        return
    if keep.domain_id is not None or other.website_url is None:
        return
    for name in ("website_url", *WEBSITE_COLUMNS):
        setattr(keep, name, getattr(other, name))
    if other.domain_extraction_status in (
        EXTRACTION_STATUSES.queued,
        EXTRACTION_STATUSES.processing,
    ):
        queue_extraction(session, keep)
    else:
        keep.domain_extraction_status = other.domain_extraction_status
        keep.domain_extraction_error = other.domain_extraction_error


async def _repoint_references(session: AsyncSession, keep: UUID, give_up: UUID) -> None:
    columns: tuple[Any, ...] = (
        BusinessSighting.business_id,
        Place.local_business_id,
        Domain.local_business_id,
    )
    for column in columns:
        await session.execute(
            update(column.class_)
            .where(column == give_up)
            .values({column: keep})
            .execution_options(**_NO_SYNCHRONIZATION)
        )


async def _merge_pairs(session: AsyncSession, keep: UUID, give_up: UUID) -> None:
    """Move the other's merge candidates, with their decisions, to the survivor."""
    mine = {_get_other_side(each, keep): each for each in await _lock_pairs(session, keep)}
    for each in await _lock_pairs(session, give_up):
        other = _get_other_side(each, give_up)
        if other == keep:
            continue
        if (known := mine.get(other)) is None:
            each.left_id, each.right_id = order_pair(keep, other)
        elif each.state == MergeState.APART and known.state == MergeState.OPEN:
            known.state, known.decided_at = each.state, each.decided_at
            known.decided_by = each.decided_by
    await session.flush()


async def _lock_pairs(session: AsyncSession, business_id: UUID) -> list[MergeCandidate]:
    either = (MergeCandidate.left_id == business_id) | (MergeCandidate.right_id == business_id)
    rows = await session.scalars(
        select(MergeCandidate)
        .where(either)
        .order_by(MergeCandidate.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return list(rows)


def _get_other_side(question: MergeCandidate, business_id: UUID) -> UUID:
    return question.right_id if question.left_id == business_id else question.left_id


async def are_kept_apart(session: AsyncSession, one: UUID, other: UUID) -> bool:
    """Return whether a user decided to keep the two apart."""
    left, right = order_pair(one, other)
    decision = await session.scalar(
        select(MergeCandidate.id).where(
            MergeCandidate.left_id == left,
            MergeCandidate.right_id == right,
            MergeCandidate.state == MergeState.APART,
        )
    )
    return decision is not None
