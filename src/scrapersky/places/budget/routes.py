"""Routes of the monthly budget and the cost ledger."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from scrapersky.http.application import Context
from scrapersky.http.auth import Admin, OperatorAdmin, OperatorViewer, Viewer
from scrapersky.http.context import OperatorTransaction, Overview, Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists import ListPage, ListQuery, export_routes
from scrapersky.places.budget.listing import COST_ENTRIES, EXPORT
from scrapersky.places.budget.schemas import (
    BudgetIn,
    BudgetOut,
    CostEntryOut,
    InstallationBudgetOut,
    OperatorCapIn,
)
from scrapersky.places.budget.service import (
    get_installation_budget,
    load_budget,
    require_tenant,
    set_allowance,
    set_installation_cap,
    set_own_limit,
)

router = APIRouter(prefix="/budget", tags=["budget"], responses=problem_responses(401, 403, 422))
ledger_router = APIRouter(prefix="/entries")
ledger_router.include_router(export_routes(EXPORT))


@router.get("", summary="The month's budget: spent, left, free, paused")
async def get_budget(actor: Viewer, context: Context, session: Reading) -> BudgetOut:
    """Days and months are the provider's (Pacific time). Free requests, quotas and pauses are those
    of the installation's account, whichever tenant asked."""
    return await load_budget(session, actor, context.settings)


@router.put("", summary="Change the monthly cap")
async def put_budget(
    actor: Admin, context: Context, session: Transaction, wanted: BudgetIn
) -> BudgetOut:
    """It counts from the next request on, and searches and places that wait for money are tried
    again at once. Operators (admins of the default tenant) set any cap for their own tenant. Admins
    of other tenants lower theirs, down from the `allowed_usd` that operators gave them; more than
    that is answered 403."""
    if actor.is_operator:
        await set_allowance(session, actor, actor.tenant_id, wanted.monthly_cap_usd)
    else:
        await set_own_limit(session, actor, wanted.monthly_cap_usd, context.settings)
    return await load_budget(session, actor, context.settings)


@router.get("/installation", summary="The month over all tenants")
async def get_installation(
    _: OperatorViewer, context: Context, session: Overview
) -> InstallationBudgetOut:
    """For operators: the installation's cap, what is spent of it, and each tenant's part."""
    return await get_installation_budget(session, context.settings)


@router.put("/installation", summary="Change the monthly cap over all tenants")
async def put_installation(
    actor: OperatorAdmin, context: Context, session: OperatorTransaction, wanted: OperatorCapIn
) -> InstallationBudgetOut:
    """For operators. Whatever the tenants' own caps add up to, no more than this is spent. It
    counts from the next request on."""
    await set_installation_cap(session, actor, wanted.monthly_cap_usd)
    return await get_installation_budget(session, context.settings)


@router.put(
    "/tenants/{tenant_id}",
    summary="Change what a tenant may spend in a month",
    responses=problem_responses(404),
)
async def put_tenant(
    actor: OperatorAdmin,
    context: Context,
    session: OperatorTransaction,
    tenant_id: UUID,
    wanted: OperatorCapIn,
) -> InstallationBudgetOut:
    """For operators. The tenant's admins can lower it further for themselves, and not raise it."""
    await require_tenant(session, tenant_id)
    await set_allowance(session, actor, tenant_id, wanted.monthly_cap_usd)
    return await get_installation_budget(session, context.settings)


@ledger_router.get("", summary="The ledger: every request that may cost, newest first")
async def list_cost_entries(
    actor: Viewer, session: Reading, asked: Annotated[ListQuery, Depends(COST_ENTRIES.parse_query)]
) -> ListPage[CostEntryOut]:
    """Requests of a kind that never costs anything are only counted."""
    return (await COST_ENTRIES.show(session, actor, asked)).to_page(CostEntryOut.model_validate)


router.include_router(ledger_router)
