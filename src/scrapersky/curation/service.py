"""Find the action somebody wants undone, and undo it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import Conflict, NotFound
from scrapersky.http.lists import Curation
from scrapersky.http.lists.curation_undo import UndoOut, undo
from scrapersky.models import Actor, BulkAction


async def undo_action(
    session: AsyncSession,
    actor: Actor,
    curations: Sequence[Curation],
    action_id: UUID | None = None,
) -> UndoOut:
    """The one that is named; otherwise the actor's last one that is not undone."""
    if action_id is None:
        action = await _last(session, actor)
    else:
        action = await _named(session, actor, action_id)
    curation = next((each for each in curations if each.kind == action.kind), None)
    if curation is None:
        raise Conflict(f"Decisions about rows of the kind {action.kind} cannot be undone here.")
    return await undo(session, actor, curation, action)


async def _last(session: AsyncSession, actor: Actor) -> BulkAction:
    mine = _actions(actor).where(
        BulkAction.created_by == actor.user_id, BulkAction.undone_at.is_(None)
    )
    latest = mine.order_by(BulkAction.created_at.desc(), BulkAction.id.desc()).limit(1)
    found: BulkAction | None = await session.scalar(latest)
    if found is None:
        raise NotFound("There is no decision of yours that could be undone.")
    return found


async def _named(session: AsyncSession, actor: Actor, action_id: UUID) -> BulkAction:
    found: BulkAction | None = await session.scalar(
        _actions(actor).where(BulkAction.id == action_id)
    )
    if found is None:
        raise NotFound(f"There is no bulk action {action_id}.")
    if found.undone_at is not None:
        raise Conflict(f"It was undone at {found.undone_at:%Y-%m-%d %H:%M:%S} UTC.")
    return found


def _actions(actor: Actor) -> Select[BulkAction]:
    """Locked: an action is undone once."""
    mine = select(BulkAction).where(BulkAction.tenant_id == actor.tenant_id)
    return mine.with_for_update()
