"""Whom not to write to: list, add, remove."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from scrapersky.contacts import suppressions
from scrapersky.contacts.listing import SUPPRESSIONS
from scrapersky.contacts.suppression_schemas import (
    SuppressedOut,
    SuppressionOut,
    SuppressionsIn,
    suppressed_out,
)
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.list_bodies import ListRoute
from scrapersky.http.lists import Asked, Listed

router = APIRouter(
    route_class=ListRoute,
    prefix="/suppressions",
    tags=["suppressions"],
    responses=problem_responses(401, 403, 422),
)


@router.get("", summary="Suppressions, newest first")
async def list_suppressions(
    actor: Viewer, session: Reading, asked: Annotated[Asked, Depends(SUPPRESSIONS.asked)]
) -> Listed[SuppressionOut]:
    found = await SUPPRESSIONS.show(session, actor, asked)
    return found.listed(SuppressionOut.model_validate)


@router.post("", summary="Suppress addresses, domains or numbers")
async def add_suppressions(
    actor: Curator, session: Transaction, wanted: SuppressionsIn
) -> SuppressedOut:
    """What they name is in no lead and no export from now on. A domain stands for every address at
    it or below it, and for every contact found on its site. One that cannot be is told so, and the
    others are kept."""
    given = [each.wanted() for each in wanted.items]
    return suppressed_out(await suppressions.suppress(session, actor, given))


@router.delete(
    "/{suppression_id}", summary="Remove a suppression", responses=problem_responses(404)
)
async def remove_suppression(
    actor: Curator, session: Transaction, suppression_id: UUID
) -> SuppressionOut:
    """What it named is in leads and exports again. One that keeps an erased person from coming back
    only an admin may remove."""
    return SuppressionOut.model_validate(await suppressions.lift(session, actor, suppression_id))
