"""Pairs that may be one business: a person is asked once."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.entities.candidates import Candidate
from scrapersky.models.businesses import LocalBusiness, MergeCandidate


def in_order(one: UUID, other: UUID) -> tuple[UUID, UUID]:
    """As pairs are stored, so that each is there once."""
    return (one, other) if one < other else (other, one)


async def ask(session: AsyncSession, business: LocalBusiness, others: Iterable[Candidate]) -> None:
    """Whether these are the same as the business; what was decided before stays decided."""
    rows = [_row(business, each) for each in others if each.business.id != business.id]
    if rows:
        adding = insert(MergeCandidate).values(sorted(rows, key=_pair))
        await session.execute(
            adding.on_conflict_do_nothing(
                index_elements=[MergeCandidate.left_id, MergeCandidate.right_id]
            )
        )


def _row(business: LocalBusiness, other: Candidate) -> dict[str, object]:
    left, right = in_order(business.id, other.business.id)
    return {
        "id": uuid7(),
        "tenant_id": business.tenant_id,
        "left_id": left,
        "right_id": right,
        "score": other.judgement.score,
        "reasons": list(other.judgement.reasons),
    }


def _pair(row: dict[str, object]) -> tuple[str, str]:
    return str(row["left_id"]), str(row["right_id"])
