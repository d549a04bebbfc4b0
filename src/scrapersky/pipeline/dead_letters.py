"""Write dead letters, and requeue their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.pipeline.bulk import REQUEUE, BulkOptions, matches_ids, restart_rows
from scrapersky.pipeline.outcome import AttemptOutcome
from scrapersky.pipeline.queue import Claim
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState, EventKind, StageEvent


async def insert_dead_letters(
    session: AsyncSession,
    stage: AnyStage,
    outcomes: Sequence[AttemptOutcome],
    *,
    tenants: dict[UUID, UUID | None],
    worker: str,
) -> None:
    """Write a dead letter for each failed row.

    A row has at most one open letter, which is updated.
    """
    letters = [
        {
            "id": uuid7(),
            "tenant_id": tenants.get(each.claim.row_id),
            "stage": stage.name,
            "row_id": each.claim.row_id,
            "attempts": each.claim.attempts,
            "error_class": each.error_class,
            "error": each.error or each.error_class,
            "traceback": each.traceback,
            "first_failed_at": await _find_first_failure(session, stage, each.claim),
            "worker": worker,
        }
        for each in outcomes
    ]
    statement = insert(DeadLetter).values(letters)
    renewed = {
        name: statement.excluded[name]
        for name in ("attempts", "error_class", "error", "traceback", "worker", "died_at")
    }
    await session.execute(
        statement.on_conflict_do_update(
            index_elements=[DeadLetter.stage, DeadLetter.row_id],
            index_where=DeadLetter.state == DeadLetterState.OPEN.value,
            set_=renewed,
        )
    )


async def _find_first_failure(session: AsyncSession, stage: AnyStage, claim: Claim) -> Any:
    """Find when the current series of failures began.

    It is the oldest of the row's last `attempts - 1` failures.
    """
    failures = (
        select(StageEvent.at)
        .where(
            StageEvent.stage == stage.name,
            StageEvent.row_id == claim.row_id,
            StageEvent.kind.in_([EventKind.RETRIED, EventKind.RESCUED]),
        )
        .order_by(StageEvent.id.desc())
        .limit(max(claim.attempts - 1, 0))
        .subquery()
    )
    return await session.scalar(select(func.min(failures.c.at))) or func.now()


async def requeue(
    session: AsyncSession, stage: AnyStage, ids: Sequence[UUID], *, by: UUID | None = None
) -> list[UUID]:
    """Requeue failed rows and close their dead letters. Returns the ids of the rows changed."""
    which = [matches_ids(stage.model.id, ids)]
    return await restart_rows(session, stage, REQUEUE, which, options=BulkOptions(by=by))
