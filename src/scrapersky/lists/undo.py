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

FAILED_BEFORE = "It had failed before it was selected; the selection was taken back."


class UndoOut(BaseModel):
    """What was taken back."""

    action_id: UUID
    kind: str = Field(examples=["contact"])
    to_status: str = Field(description="What the action had decided.", examples=["Selected"])
    restored_count: int = Field(description="Rows that have their former status again.")
    unqueued_count: int = Field(
        description="Of these, those that are back in the former state of their stage too: "
        "it had not begun with them."
    )
    left_alone_count: int = Field(
        description="Rows that somebody changed or a stage began with meanwhile, or that are gone."
    )


async def undo(
    session: AsyncSession, actor: Actor, curation: Curation, action: BulkAction
) -> UndoOut:
    """The action is locked by whoever calls."""

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
    """What it was, or what the engine would say by now: processing went on meanwhile."""
    before: ColumnElement[str] = locked.c.before_status
    queue, queues = curation.queue, curation.queues
    if queue is None or queues is None or not ENGINE_STATUSES.intersection(curation.words):
        return before
    status = case((locked.c.waits, locked.c.queue_before), else_=queue.status)
    done, skipped = queues.words.done, queues.words.skipped
    now = case((status == skipped, done), else_=status)
    return case((before.in_(sorted(ENGINE_STATUSES)), now), else_=before)


def _lock_rows(curation: Curation, actor: Actor, action: BulkAction) -> CTE:
    """The rows of the action that still are what it made them, in the order of their ids."""
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
    """Rows that a later action gave the same status, after they had another in between."""
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
    """Whether the row is in the queue as the action put it there, and was elsewhere before."""
    queue, queues = curation.queue, curation.queues
    if queue is None or queues is None:
        return false()
    waits = queue.status == queues.words.queued
    return func.coalesce(and_(waits, before != queues.words.queued, queue.attempts == 0), False)


def _build_queue_values(curation: Curation, locked: CTE) -> dict[Any, Any]:
    """A row that had failed is failed again; what it said then is not known any more."""
    queue, queues = curation.queue, curation.queues
    if queue is None or queues is None:
        return {}
    failed = and_(locked.c.waits, locked.c.queue_before == queues.words.failed)
    return {
        queue.status: case((locked.c.waits, locked.c.queue_before), else_=queue.status),
        queue.error: case((failed, FAILED_BEFORE), else_=queue.error),
    }
