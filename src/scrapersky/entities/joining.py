"""Make one business of two: what pointed at the one that is given up points at the other.

Whoever calls is alone with the tenant's businesses (`locking.py`).
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.entities.handing_on import queue_extraction
from scrapersky.entities.joining_leads import join_leads
from scrapersky.entities.questions import in_order
from scrapersky.models import Domain, Place
from scrapersky.models.businesses import (
    EXTRACTION_WORDS,
    BusinessCuration,
    BusinessSighting,
    LocalBusiness,
    MergeCandidate,
    MergeState,
)

UNDECIDED = (BusinessCuration.NEW.value, BusinessCuration.MAYBE.value)
OF_THE_WEBSITE = ("website_kind", "website_note", "site_key", "domain_id")


async def join(
    session: AsyncSession, *, keep: LocalBusiness, give_up: LocalBusiness
) -> LocalBusiness:
    """The one that is kept. Its facts are still to be made anew."""
    for each in sorted((keep, give_up), key=lambda business: business.id):
        await session.refresh(each, with_for_update=True)
    keep.status = more_decided(keep.status, give_up.status)
    _take_over_website(session, keep, give_up)
    await session.flush()
    await _point_at(session, keep.id, give_up.id)
    await join_leads(session, keep, give_up)
    await _join_questions(session, keep.id, give_up.id)
    place_id = give_up.place_id
    await session.execute(
        delete(LocalBusiness).where(LocalBusiness.id == give_up.id).execution_options(**_QUIETLY)
    )
    session.expunge(give_up)
    keep.place_id = keep.place_id or place_id
    await session.flush()
    return keep


_QUIETLY: dict[str, Any] = {"synchronize_session": False}


def prefer(one: LocalBusiness, other: LocalBusiness) -> tuple[LocalBusiness, LocalBusiness]:
    """Which to keep: the one that was decided about, or else the older."""
    older, younger = sorted((one, other), key=lambda business: business.id)
    is_undecided = older.status in UNDECIDED and younger.status not in UNDECIDED
    return (younger, older) if is_undecided else (older, younger)


def more_decided(mine: str, other: str) -> str:
    """Nobody's decision is lost to one that was not made."""
    order = (*UNDECIDED, "decided")
    ranks = [order.index(each if each in UNDECIDED else "decided") for each in (mine, other)]
    return other if ranks[1] > ranks[0] else mine


def _take_over_website(session: AsyncSession, keep: LocalBusiness, other: LocalBusiness) -> None:
    """What was found out about the other's website, where ours is the same or we had none."""
    if keep.website_url is not None and keep.website_url != other.website_url:
        return
    if keep.domain_id is not None or other.website_url is None:
        return
    for name in ("website_url", *OF_THE_WEBSITE):
        setattr(keep, name, getattr(other, name))
    if other.domain_extraction_status in (EXTRACTION_WORDS.queued, EXTRACTION_WORDS.processing):
        queue_extraction(session, keep)
    else:
        keep.domain_extraction_status = other.domain_extraction_status
        keep.domain_extraction_error = other.domain_extraction_error


async def _point_at(session: AsyncSession, keep: UUID, give_up: UUID) -> None:
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
            .execution_options(**_QUIETLY)
        )


async def _join_questions(session: AsyncSession, keep: UUID, give_up: UUID) -> None:
    """What was asked, or decided, about the other is now asked about the one that is kept."""
    mine = {_other(each, keep): each for each in await _questions(session, keep)}
    for each in await _questions(session, give_up):
        other = _other(each, give_up)
        if other == keep:
            continue
        if (known := mine.get(other)) is None:
            each.left_id, each.right_id = in_order(keep, other)
        elif each.state == MergeState.APART and known.state == MergeState.OPEN:
            known.state, known.decided_at = each.state, each.decided_at
            known.decided_by = each.decided_by
    await session.flush()


async def _questions(session: AsyncSession, business_id: UUID) -> list[MergeCandidate]:
    either = (MergeCandidate.left_id == business_id) | (MergeCandidate.right_id == business_id)
    found = await session.scalars(
        select(MergeCandidate)
        .where(either)
        .order_by(MergeCandidate.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return list(found)


def _other(question: MergeCandidate, business_id: UUID) -> UUID:
    return question.right_id if question.left_id == business_id else question.left_id


async def are_apart(session: AsyncSession, one: UUID, other: UUID) -> bool:
    """Whether a person said that they are two."""
    left, right = in_order(one, other)
    found = await session.scalar(
        select(MergeCandidate.id).where(
            MergeCandidate.left_id == left,
            MergeCandidate.right_id == right,
            MergeCandidate.state == MergeState.APART,
        )
    )
    return found is not None
