"""Take back that two businesses were kept apart: the question is asked again."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import Conflict, NotFound
from scrapersky.models import Actor, MergeCandidate, MergeState, record


async def reopen(session: AsyncSession, actor: Actor, candidate_id: UUID) -> None:
    """From now on a person may merge the two, and so may we, once somebody tells of one of them
    what makes it sure."""
    pair = await _held(session, actor, candidate_id)
    if pair.state != MergeState.APART:
        raise Conflict(
            f"These two are not kept apart: the pair is {pair.state}. Only what was kept apart is"
            " asked again; decide about the others in merge review."
        )
    details = {
        "left": str(pair.left_id),
        "right": str(pair.right_id),
        "apart_by": str(pair.decided_by) if pair.decided_by else None,
        "apart_since": pair.decided_at.isoformat() if pair.decided_at else None,
    }
    pair.state, pair.decided_by, pair.decided_at = MergeState.OPEN.value, None, None
    record(session, actor, "merge_candidate.reopen", candidate_id, **details)
    await session.flush()


async def _held(session: AsyncSession, actor: Actor, candidate_id: UUID) -> MergeCandidate:
    """Whoever merges one of the two with a third holds its pairs, too; they move to the third, or
    go with the business."""
    found = await session.scalar(
        select(MergeCandidate)
        .where(MergeCandidate.id == candidate_id, MergeCandidate.tenant_id == actor.tenant_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    if found is None:
        raise NotFound(
            f"There is no merge candidate {candidate_id}. A pair goes with a business that was"
            " merged into another: split the sighting off again on the page of that one."
        )
    return found
