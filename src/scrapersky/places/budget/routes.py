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


@router.get("", summary="Get the budget")
async def get_budget(actor: Viewer, context: Context, session: Reading) -> BudgetOut:
    """Return the month's budget: spent, left, free requests and pauses. Days and months are the
    provider's (Pacific time). Free requests, quotas and pauses apply to the installation's
    account, over all tenants.
    """
    return await load_budget(session, actor, context.settings)


@router.put("", summary="Update the monthly cap")
async def put_budget(
    actor: Admin, context: Context, session: Transaction, body: BudgetIn
) -> BudgetOut:
    """Set the tenant's monthly cap. It applies from the next request on, and rows blocked on the
    budget are retried immediately. Operators (admins of the default tenant) can set any cap for
    their own tenant. Admins of other tenants can lower theirs below the `allowed_usd` set by
    operators; a higher value returns 403.
    """
    if actor.is_operator:
        await set_allowance(session, actor, actor.tenant_id, body.monthly_cap_usd)
    else:
        await set_own_limit(session, actor, body.monthly_cap_usd, context.settings)
    return await load_budget(session, actor, context.settings)


@router.get("/installation", summary="Get the installation budget")
async def get_installation(
    _: OperatorViewer, context: Context, session: Overview
) -> InstallationBudgetOut:
    """Return the installation's cap, its spending and each tenant's share. Operators only."""
    return await get_installation_budget(session, context.settings)


@router.put("/installation", summary="Update the installation cap")
async def put_installation(
    actor: OperatorAdmin, context: Context, session: OperatorTransaction, body: OperatorCapIn
) -> InstallationBudgetOut:
    """Set the monthly cap over all tenants, regardless of the sum of their own caps. It applies
    from the next request on. Operators only.
    """
    await set_installation_cap(session, actor, body.monthly_cap_usd)
    return await get_installation_budget(session, context.settings)


@router.put(
    "/tenants/{tenant_id}",
    summary="Update a tenant's allowance",
    responses=problem_responses(404),
)
async def put_tenant(
    actor: OperatorAdmin,
    context: Context,
    session: OperatorTransaction,
    tenant_id: UUID,
    body: OperatorCapIn,
) -> InstallationBudgetOut:
    """Set what a tenant may spend in a month. Its admins can lower it further, but not raise it.
    Operators only.
    """
    await require_tenant(session, tenant_id)
    await set_allowance(session, actor, tenant_id, body.monthly_cap_usd)
    return await get_installation_budget(session, context.settings)


@ledger_router.get("", summary="List ledger entries")
async def list_cost_entries(
    actor: Viewer, session: Reading, query: Annotated[ListQuery, Depends(COST_ENTRIES.parse_query)]
) -> ListPage[CostEntryOut]:
    """Return every request that may cost money, newest first. Requests that are always free are
    only counted.
    """
    return (await COST_ENTRIES.show(session, actor, query)).to_page(CostEntryOut.model_validate)


router.include_router(ledger_router)
