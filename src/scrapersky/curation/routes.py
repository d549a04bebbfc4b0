"""Bulk actions: list and undo."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends

from scrapersky.curation.listing import BULK_ACTIONS
from scrapersky.curation.schemas import BulkActionOut, UndoIn
from scrapersky.curation.service import undo_action
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists import Asked, Curation, Listed
from scrapersky.http.lists.curation_undo import UndoOut


def bulk_action_routes(curations: Sequence[Curation]) -> APIRouter:
    """For actions on any of these kinds of rows."""
    router = APIRouter(
        prefix="/bulk-actions", tags=["curation"], responses=problem_responses(401, 403, 422)
    )

    @router.get("", summary="What was decided about many rows at once, newest first")
    async def list_bulk_actions(
        actor: Viewer, session: Reading, asked: Annotated[Asked, Depends(BULK_ACTIONS.asked)]
    ) -> Listed[BulkActionOut]:
        shown = await BULK_ACTIONS.show(session, actor, asked)
        return shown.listed(BulkActionOut.model_validate)

    @router.post(
        "/undo",
        summary="Take a decision about many rows back",
        responses=problem_responses(400, 404, 409, 415),
    )
    async def undo_bulk_action(
        actor: Curator, session: Transaction, wanted: UndoIn | None = None
    ) -> UndoOut:
        """Your last one, or the one that is named. Rows that still are what it made them get their
        former status back; those that their stage has not begun with leave its queue again."""
        named = wanted.action_id if wanted is not None else None
        return await undo_action(session, actor, curations, named)

    return router
