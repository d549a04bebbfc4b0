"""The month's budget, and the ledger of what was spent."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from scrapersky.http.auth import Admin, Viewer
from scrapersky.http.context import Context, Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists import Asked, Listed, export_routes
from scrapersky.places.budget import budget_of, change_budget
from scrapersky.places.budget_listing import ENTRIES, EXPORT
from scrapersky.places.budget_schemas import BudgetIn, BudgetOut, CostEntryOut

router = APIRouter(prefix="/budget", tags=["budget"], responses=problem_responses(401, 403, 422))
ledger = APIRouter(prefix="/entries")
ledger.include_router(export_routes(EXPORT))


@router.get("", summary="The month's budget: spent, left, free, paused")
async def get_budget(actor: Viewer, context: Context, session: Reading) -> BudgetOut:
    """Days and months are the provider's (Pacific time). Free requests, quotas and pauses are those
    of the installation's account, whichever tenant asked."""
    return await budget_of(session, actor, context.settings)


@router.put("", summary="Change what may be spent in a month")
async def put_budget(
    actor: Admin, context: Context, session: Transaction, wanted: BudgetIn
) -> BudgetOut:
    """It counts from the next request on. Searches and places that wait for money are tried again
    at once."""
    await change_budget(session, actor, wanted.monthly_cap_usd)
    return await budget_of(session, actor, context.settings)


@ledger.get("", summary="The ledger: every request that may cost, newest first")
async def list_cost_entries(
    actor: Viewer, session: Reading, asked: Annotated[Asked, Depends(ENTRIES.asked)]
) -> Listed[CostEntryOut]:
    """Requests of a kind that never costs anything are only counted."""
    return (await ENTRIES.show(session, actor, asked)).listed(CostEntryOut.model_validate)


router.include_router(ledger)
