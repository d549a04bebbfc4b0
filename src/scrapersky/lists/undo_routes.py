"""List bulk curation actions and undo them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import Conflict, NotFound
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists import (
    SHOWN,
    ChoiceFilter,
    Column,
    Curation,
    Listing,
    ListPage,
    ListQuery,
    PresenceFilter,
    RowSchema,
)
from scrapersky.lists.undo import UndoOut, undo
from scrapersky.models import Actor, BulkAction

BULK_ACTIONS = Listing(
    name="BulkAction",
    model=BulkAction,
    columns=(
        Column(BulkAction.id),
        Column(
            BulkAction.kind,
            label="Rows",
            filter=ChoiceFilter(says="Only actions on rows of this kind, such as `contact`."),
            example="contact",
        ),
        Column(BulkAction.to_status, label="Decision", filter=True, example="Selected"),
        Column(BulkAction.updated_count, sort=True),
        Column(BulkAction.queued_count, "Queued", table=SHOWN),
        Column(BulkAction.created_by, filter=True),
        Column(BulkAction.created_at, "Time", filter=True, sort=True, table=SHOWN),
        Column(BulkAction.undone_at, filter=PresenceFilter("has_undone_at"), sort=True),
    ),
)


class BulkActionOut(RowSchema, columns=BULK_ACTIONS.all_columns):
    details: dict[str, Any] = Field(description="Filter or number of ids, and the note.")


class UndoIn(BaseModel):
    """The action to undo. Default: your last action that is not undone."""

    model_config = ConfigDict(extra="forbid")

    action_id: UUID | None = None


async def undo_action(
    session: AsyncSession,
    actor: Actor,
    curations: Sequence[Curation],
    action_id: UUID | None = None,
) -> UndoOut:
    """Undo the given action, or the actor's last one that is not undone."""
    if action_id is None:
        action = await _get_last_action(session, actor)
    else:
        action = await _get_action(session, actor, action_id)
    curation = next((each for each in curations if each.kind == action.kind), None)
    if curation is None:
        raise Conflict(f"Actions on rows of the kind {action.kind} cannot be undone here.")
    return await undo(session, actor, curation, action)


async def _get_last_action(session: AsyncSession, actor: Actor) -> BulkAction:
    mine = _select_actions(actor).where(
        BulkAction.created_by == actor.user_id, BulkAction.undone_at.is_(None)
    )
    latest = mine.order_by(BulkAction.created_at.desc(), BulkAction.id.desc()).limit(1)
    found: BulkAction | None = await session.scalar(latest)
    if found is None:
        raise NotFound("You have no action to undo.")
    return found


async def _get_action(session: AsyncSession, actor: Actor, action_id: UUID) -> BulkAction:
    found: BulkAction | None = await session.scalar(
        _select_actions(actor).where(BulkAction.id == action_id)
    )
    if found is None:
        raise NotFound(f"There is no bulk action {action_id}.")
    if found.undone_at is not None:
        raise Conflict(f"The action was already undone at {found.undone_at:%Y-%m-%d %H:%M:%S} UTC.")
    return found


def _select_actions(actor: Actor) -> Select[BulkAction]:
    """Select the tenant's actions and lock them, so that an action is undone only once."""
    mine = select(BulkAction).where(BulkAction.tenant_id == actor.tenant_id)
    return mine.with_for_update()


def bulk_action_routes(curations: Sequence[Curation]) -> APIRouter:
    """Build the routes for actions on these kinds of rows."""
    router = APIRouter(
        prefix="/bulk-actions", tags=["curation"], responses=problem_responses(401, 403, 422)
    )

    @router.get("", summary="List bulk actions")
    async def list_bulk_actions(
        actor: Viewer,
        session: Reading,
        asked: Annotated[ListQuery, Depends(BULK_ACTIONS.parse_query)],
    ) -> ListPage[BulkActionOut]:
        shown = await BULK_ACTIONS.show(session, actor, asked)
        return shown.to_page(BulkActionOut.model_validate)

    @router.post(
        "/undo", summary="Undo a bulk action", responses=problem_responses(400, 404, 409, 415)
    )
    async def undo_bulk_action(
        actor: Curator, session: Transaction, wanted: UndoIn | None = None
    ) -> UndoOut:
        """Undo the given action, or your last one. Rows that still have the status it set get their
        previous status back. Rows that their stage has not started are removed from its queue.
        """
        named = wanted.action_id if wanted is not None else None
        return await undo_action(session, actor, curations, named)

    return router
