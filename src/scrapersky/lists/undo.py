"""Undo a bulk curation: restore the previous status of rows that were not changed since."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field
from sqlalchemy import (
    CTE,
    ColumnElement,
    Select,
    and_,
    case,
    exists,
    false,
    func,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.lists.curation import Curation
from scrapersky.lists.filters import build_owner_condition
from scrapersky.models import ENGINE_STATUSES, Actor, BulkAction, BulkActionRows, record
from scrapersky.pipeline.bulk import retry_on_conflict

FAILED_BEFORE = "Failed before it was selected; the selection was undone."


class UndoOut(BaseModel):
    """Result of an undo."""

    action_id: UUID
    kind: str = Field(examples=["contact"])
    to_status: str = Field(description="Status the action had set.", examples=["Selected"])
    restored_count: int = Field(description="Rows that have their previous status again.")
    unqueued_count: int = Field(
        description="Restored rows that were also removed from the queue of their stage, "
        "because it had not started them."
    )
    left_alone_count: int = Field(
        description="Rows not restored: changed since, started by their stage, or deleted."
    )


async def undo(
    session: AsyncSession, actor: Actor, curation: Curation, action: BulkAction
) -> UndoOut:
    """Undo an action. The caller must hold its row lock."""

    async def take_back() -> tuple[int, int]:
        restored, unqueued = (
            await session.execute(_build_statement(curation, actor, action))
        ).one()
        if curation.then is not None:
            await curation.then(session, action.id)
        return restored, unqueued

    restored, unqueued = await retry_on_conflict(session, take_back)
    action.undone_at = func.now()
    counts = {"restored": restored, "unqueued": unqueued}
    record(session, actor, f"{curation.kind}.undo", action.id, status=action.to_status, **counts)
    return UndoOut(
        action_id=action.id,
        kind=action.kind,
        to_status=action.to_status,
        restored_count=restored,
        unqueued_count=unqueued,
        left_alone_count=action.updated_count - restored,
    )


def _build_statement(curation: Curation, actor: Actor, action: BulkAction) -> Select[int, int]:
    locked = _lock_rows(curation, actor, action)
    changed = (
        update(curation.model)
        .where(curation.model.id == locked.c.id)
        .values(
            {
                curation.column: _build_restored_status(curation, locked),
                **_build_queue_values(curation, locked),
            }
        )
        .returning(locked.c.waits)
        .execution_options(synchronize_session=False)
        .cte("changed")
    )
    return select(func.count(), func.count().filter(changed.c.waits)).select_from(changed)


def _build_restored_status(curation: Curation, locked: CTE) -> ColumnElement[str]:
    """Return the previous status, or the current stage status where the engine had set it.

    Processing may have continued since, so an old engine status would be stale.
    """
    before: ColumnElement[str] = locked.c.before_status
    queue, queues = curation.queue, curation.queues
    if queue is None or queues is None or not ENGINE_STATUSES.intersection(curation.words):
        return before
    status = case((locked.c.waits, locked.c.queue_before), else_=queue.status)
    done, skipped = queues.words.done, queues.words.skipped
    now = case((status == skipped, done), else_=status)
    return case((before.in_(sorted(ENGINE_STATUSES)), now), else_=before)


def _lock_rows(curation: Curation, actor: Actor, action: BulkAction) -> CTE:
    """Lock the action's rows that still have the status it set, in id order."""
    model = curation.model
    ids = func.unnest(BulkActionRows.row_ids).label("id")
    columns = (ids, BulkActionRows.before_status, BulkActionRows.queue_before)
    were = select(*columns).where(BulkActionRows.action_id == action.id).subquery("were")
    again = _select_decided_again(action).subquery("again")
    return (
        select(model.id, were.c.before_status, were.c.queue_before)
        .add_columns(_is_still_queued(curation, were.c.queue_before).label("waits"))
        .join(were, were.c.id == model.id)
        .where(build_owner_condition(model, actor), curation.column == action.to_status)
        .where(~exists().where(again.c.id == model.id))
        .order_by(model.id)
        .with_for_update(of=model, key_share=True)
        .cte("locked")
    )


def _select_decided_again(action: BulkAction) -> Select[UUID]:
    """Select rows that a later action set to the same status, after another one in between."""
    return (
        select(func.unnest(BulkActionRows.row_ids).label("id"))
        .join(BulkAction, BulkAction.id == BulkActionRows.action_id)
        .where(
            BulkAction.tenant_id == action.tenant_id,
            BulkAction.kind == action.kind,
            BulkAction.to_status == action.to_status,
            BulkAction.created_at > action.created_at,
            BulkAction.undone_at.is_(None),
        )
    )


def _is_still_queued(curation: Curation, before: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return whether the row is queued, untouched, because of this action."""
    queue, queues = curation.queue, curation.queues
    if queue is None or queues is None:
        return false()
    waits = queue.status == queues.words.queued
    return func.coalesce(and_(waits, before != queues.words.queued, queue.attempts == 0), False)


def _build_queue_values(curation: Curation, locked: CTE) -> dict[Any, Any]:
    """Restore the previous queue status. The error of a failed row was cleared and is lost."""
    queue, queues = curation.queue, curation.queues
    if queue is None or queues is None:
        return {}
    failed = and_(locked.c.waits, locked.c.queue_before == queues.words.failed)
    return {
        queue.status: case((locked.c.waits, locked.c.queue_before), else_=queue.status),
        queue.error: case((failed, FAILED_BEFORE), else_=queue.error),
    }
