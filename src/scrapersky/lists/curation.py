"""Set the curation status of many rows with one chain of statements.

Rows are locked in the order of their ids and updated; their previous values are stored with the
action, so that it can be undone. No row is loaded into this process.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field
from sqlalchemy import (
    CTE,
    ColumnElement,
    Select,
    Text,
    Uuid,
    case,
    func,
    insert,
    literal,
    null,
    select,
    type_coerce,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.statements import inline_text
from scrapersky.errors import InvalidInput
from scrapersky.lists.bulk import BulkRequest
from scrapersky.lists.listing import Listing
from scrapersky.models import ENGINE_STATUSES, Actor, BulkAction, BulkActionRows, record
from scrapersky.pipeline.bulk import Where, is_letter_open, retry_on_conflict
from scrapersky.pipeline.queue import QueueColumns, StatusNames, queue_columns
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.plurals import pluralise

SELECTED = "Selected"
"""The status that queues a row for its next stage."""
MAX_CURATED_ROWS = 1_000_000
MAX_IDS_PER_PART = 10_000
"""Ids per stored array: keeps an array to a few storage pages, however many rows an action has."""


@dataclass(frozen=True)
class CurationQueue:
    """The stage that processes a row after it was selected."""

    stage: str
    """Stage name, used to wake its workers."""
    status: str
    """Status column of the stage; its queue columns share the prefix."""
    words: StatusNames


@dataclass(frozen=True)
class Curation:
    """Declaration of a list's curation: status column, allowed values and the stage to queue."""

    listing: Listing
    column: Any
    words: type[StrEnum]
    queues: CurationQueue | None = None
    then: Callable[[AsyncSession, UUID], Awaitable[None]] | None = None
    """Called with the action's id after it was applied or undone, in the same transaction."""
    remark: Callable[[AsyncSession, UUID], Awaitable[str | None]] | None = None
    """Called with the id of an action that selected rows; returns an extra message for the user."""

    @property
    def kind(self) -> str:
        """Name of the row kind in actions and the audit log: `SitemapFile` → `sitemap_file`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", self.listing.name).lower()

    @property
    def rows(self) -> str:
        """Plural name as in the route: `sitemap-files`."""
        return pluralise(self.kind.replace("_", "-"))

    @property
    def model(self) -> Any:
        return self.listing.model

    @property
    def decisions(self) -> list[str]:
        """Statuses that users may set; the other values are set by the engine."""
        return [each.value for each in self.words if each.value not in ENGINE_STATUSES]

    @cached_property
    def queue(self) -> QueueColumns | None:
        return queue_columns(self.model, self.queues.status) if self.queues else None


class CurateOut(BaseModel):
    """Result of a curation, or its preview when `dry_run` is set."""

    updated_count: int
    queued_count: int = Field(description="Updated rows that were queued for their next stage.")
    matched_count: int = Field(description="Matching rows that had another status.")
    remaining_count: int = Field(
        description="Matching rows beyond `limit`. Repeat the request for them."
    )
    dry_run: bool
    action_id: UUID | None = Field(
        description="Pass it to `/bulk-actions/undo`. Null when no row was changed."
    )
    message: str | None = Field(
        default=None,
        description="Additional information, such as selected domains that are not scanned again.",
    )


@dataclass(frozen=True)
class CurationResult:
    updated: int = 0
    queued: int = 0
    action_id: UUID | None = None
    message: str | None = None


async def curate(
    session: AsyncSession, actor: Actor, curation: Curation, status: str, asked: BulkRequest
) -> CurateOut:
    """Set the status of the selected rows and queue their next stage if they were selected.

    Rows that already have the status are not changed.
    """
    validate_status(curation, status)
    where = [*asked.conditions(curation.listing, actor), curation.column != status]
    if asked.dry_run:
        matched = await _count_rows(session, curation, where)
        return _build_response(
            CurationResult(), max(matched - asked.limit, 0), asked, matched=matched
        )
    done = await retry_on_conflict(
        session, lambda: _apply_status(session, actor, curation, status, asked, where)
    )
    remaining = await _count_rows(session, curation, where) if done.updated == asked.limit else 0
    counts = {"updated": done.updated, "queued": done.queued}
    name, what = f"{curation.kind}.curate", asked.to_details()
    record(session, actor, name, done.action_id, status=status, **what, **counts)
    return _build_response(done, remaining, asked, matched=done.updated + remaining)


def validate_status(curation: Curation, status: str) -> None:
    if status not in curation.decisions:
        noun = curation.kind.replace("_", " ")
        words = ", ".join(curation.decisions)
        why = (
            " can only be set by the engine"
            if status in ENGINE_STATUSES
            else " is not a valid status"
        )
        raise InvalidInput(f"{status!r}{why}. Choose a status for the {noun}: {words}.")


def _build_response(
    done: CurationResult, remaining: int, asked: BulkRequest, *, matched: int
) -> CurateOut:
    return CurateOut(
        updated_count=done.updated,
        queued_count=done.queued,
        matched_count=matched,
        remaining_count=remaining,
        dry_run=asked.dry_run,
        action_id=done.action_id,
        message=done.message,
    )


async def _count_rows(session: AsyncSession, curation: Curation, where: Where) -> int:
    counted = select(func.count()).select_from(curation.model).where(*where)
    return await session.scalar(counted) or 0


async def _apply_status(
    session: AsyncSession,
    actor: Actor,
    curation: Curation,
    status: str,
    asked: BulkRequest,
    where: Where,
) -> CurationResult:
    action = _build_action(actor, curation, status, asked)
    session.add(action)
    await session.flush()
    chain = _build_statement(curation, status, where, asked.limit, action.id)
    updated, queued = (await session.execute(chain)).one()
    if not updated:
        await session.delete(action)
        return CurationResult()
    action.updated_count, action.queued_count = updated, queued
    if curation.then is not None:
        await curation.then(session, action.id)
    message = None
    if queued:
        await _restart_stage(session, actor, curation, action.id, asked.note)
        message = await curation.remark(session, action.id) if curation.remark else None
    return CurationResult(updated, queued, action.id, message)


def _build_action(actor: Actor, curation: Curation, status: str, asked: BulkRequest) -> BulkAction:
    details = {name: value for name, value in asked.to_details().items() if value is not None}
    return BulkAction(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        created_by=actor.user_id,
        kind=curation.kind,
        to_status=status,
        details=details,
        updated_count=0,
        queued_count=0,
    )


def _build_statement(
    curation: Curation, status: str, where: Where, limit: int, action_id: UUID
) -> Select[int, int]:
    """Build the chain of CTEs: lock, update, store previous values.

    It returns the numbers of updated and queued rows.
    """
    chosen = _select_rows(curation, status, where, limit)
    kept = _store_previous(_update_rows(curation, status, chosen), action_id)
    queued = func.sum(kept.c.rows).filter(kept.c.queue_before.is_not(None))
    return select(func.coalesce(func.sum(kept.c.rows), 0), func.coalesce(queued, 0))


def _select_rows(curation: Curation, status: str, where: Where, limit: int) -> CTE:
    """Select and lock the rows in id order.

    FOR NO KEY UPDATE is the lock the update takes anyway. It does not block inserts of rows that
    reference these by foreign key.
    """
    model = curation.model
    before = _select_queue_status(curation) if status == SELECTED else type_coerce(null(), Text)
    return (
        select(model.id, curation.column.label("before"), before.label("queue_before"))
        .where(*where)
        .order_by(model.id)
        .limit(limit)
        .with_for_update(of=model, key_share=True)
        .cte("chosen")
    )


def _select_queue_status(curation: Curation) -> ColumnElement[Any]:
    """Return the stage status of a row that gets queued, or NULL if it does not.

    Rows that are being processed are not queued; the running worker keeps its claim.
    """
    if curation.queues is None or curation.queue is None:
        return type_coerce(null(), Text)
    status = curation.queue.status
    return case((status != inline_text(curation.queues.words.processing), status))


def _update_rows(curation: Curation, status: str, chosen: CTE) -> CTE:
    queueing = _build_queue_values(curation, chosen) if status == SELECTED else {}
    return (
        update(curation.model)
        .where(curation.model.id == chosen.c.id)
        .values({curation.column: status, **queueing})
        .returning(chosen.c.id, chosen.c.before, chosen.c.queue_before)
        .execution_options(synchronize_session=False)
        .cte("changed")
    )


def _build_queue_values(curation: Curation, chosen: CTE) -> dict[Any, Any]:
    """Return the queue columns of a fresh start: due now, no attempts, no error, no lease."""
    queue, queues = curation.queue, curation.queues
    if queue is None or queues is None:
        return {}
    stays = chosen.c.queue_before.is_(None)
    cleared = (queue.lease_token, queue.lease_expires_at, queue.worker_id, queue.error)
    return {
        queue.status: case((stays, queue.status), else_=queues.words.queued),
        queue.due_at: case((stays, queue.due_at), else_=func.now()),
        queue.attempts: case((stays, queue.attempts), else_=0),
        **{each: case((stays, each)) for each in cleared},
    }


def _store_previous(changed: CTE, action_id: UUID) -> CTE:
    """Store row ids grouped by their previous state, in arrays of up to `MAX_IDS_PER_PART`."""
    handful = ((func.row_number().over() - 1) // MAX_IDS_PER_PART).label("handful")
    numbered = select(changed, handful).subquery("numbered")
    states = (numbered.c.before, numbered.c.queue_before)
    parts = select(
        literal(action_id, Uuid),
        func.row_number().over(),
        *states,
        func.array_agg(numbered.c.id),
    ).group_by(*states, numbered.c.handful)
    names = ["action_id", "part", "before_status", "queue_before", "row_ids"]
    rows = func.cardinality(BulkActionRows.row_ids).label("rows")
    keeping = insert(BulkActionRows).from_select(names, parts)
    return keeping.returning(rows, BulkActionRows.queue_before).cte("kept")


async def _restart_stage(
    session: AsyncSession, actor: Actor, curation: Curation, action_id: UUID, note: str | None
) -> None:
    """Close open dead letters of rows that were queued again, and wake the stage after commit."""
    queues = curation.queues
    if queues is None:
        return
    failed = select(func.unnest(BulkActionRows.row_ids)).where(
        BulkActionRows.action_id == action_id, BulkActionRows.queue_before == queues.words.failed
    )
    closed = {"state": DeadLetterState.REPLAYED, "closed_by": actor.user_id, "note": note}
    await session.execute(
        update(DeadLetter)
        .where(DeadLetter.stage == queues.stage, is_letter_open(), DeadLetter.row_id.in_(failed))
        .values(closed_at=func.now(), **closed)
        .execution_options(synchronize_session=False)
    )
    wake_after_commit(session, queues.stage)
