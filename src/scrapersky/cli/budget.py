"""`scrapersky budget`: show and set the monthly budget for place providers."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth.tenants import switch_tenant
from scrapersky.cli.options import AsJson, TenantOption, validate_input
from scrapersky.cli.output import build_table, format_time, out, print_json, print_table
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.errors import InvalidInput
from scrapersky.places.budget.charges import format_usd
from scrapersky.places.budget.schemas import (
    BudgetOut,
    InstallationBudgetOut,
    MethodToday,
    OperatorCapIn,
    SkuUsed,
    TenantBudgetOut,
)
from scrapersky.places.budget.service import (
    get_installation_budget,
    load_budget,
    set_allowance,
    set_installation_cap,
)

app = typer.Typer(help="Show and set the monthly budget for place providers.")

Cap = Annotated[
    str,
    typer.Argument(
        metavar="USD",
        help="Monthly budget. 0 allows only free requests; `default` uses the setting.",
    ),
]
Installation = Annotated[bool, typer.Option("--installation", help="The cap over all tenants.")]
DEFAULT_WORD = "default"


@app.callback(invoke_without_command=True)
def show(
    context: typer.Context,
    tenant: TenantOption = None,
    installation: Installation = False,
    as_json: AsJson = False,
) -> int | None:
    """Show the budget spent and left this month, and the free quotas."""
    if context.invoked_subcommand is not None:
        return None
    _refuse_both(tenant, installation=installation)
    if installation:
        return run_in_transaction(
            lambda session, command_context: get_installation_budget(
                session, command_context.settings
            ),
            lambda result: _print_installation(result, as_json=as_json),
        )

    async def step(session: AsyncSession, context: CommandContext) -> BudgetOut:
        actor = await switch_tenant(session, context.actor, tenant)
        return await load_budget(session, actor, context.settings)

    return run_in_transaction(step, lambda result: _print_budget(result, as_json=as_json))


@app.command("set")
def set_budget(
    cap: Cap,
    tenant: TenantOption = None,
    installation: Installation = False,
    as_json: AsJson = False,
) -> int:
    """Set the monthly budget. Rows blocked on budget are retried immediately."""
    _refuse_both(tenant, installation=installation)
    body = validate_input(OperatorCapIn, monthly_cap_usd=_parse_amount(cap)).monthly_cap_usd
    if installation:
        return _set_installation(body, as_json=as_json)

    async def step(session: AsyncSession, context: CommandContext) -> BudgetOut:
        actor = await switch_tenant(session, context.actor, tenant)
        await set_allowance(session, actor, actor.tenant_id, body)
        return await load_budget(session, actor, context.settings)

    return run_in_transaction(step, lambda result: _print_budget(result, as_json=as_json))


def _set_installation(cap: Decimal | None, *, as_json: bool) -> int:
    async def step(session: AsyncSession, context: CommandContext) -> InstallationBudgetOut:
        await set_installation_cap(session, context.actor, cap)
        return await get_installation_budget(session, context.settings)

    return run_in_transaction(step, lambda result: _print_installation(result, as_json=as_json))


def _refuse_both(tenant: str | None, *, installation: bool) -> None:
    if tenant is not None and installation:
        raise InvalidInput("Use either --tenant or --installation, not both.")


def _parse_amount(text: str) -> Decimal | None:
    """Parse a USD amount; None means "use the setting"."""
    if text.strip().lower() == DEFAULT_WORD:
        return None
    try:
        return Decimal(text.strip().lstrip("$"))
    except InvalidOperation:
        raise InvalidInput(
            f"{text!r} is not an amount. Write 50, 12.50 or `{DEFAULT_WORD}`."
        ) from None


def _print_budget(budget: BudgetOut, *, as_json: bool) -> None:
    if as_json:
        print_json(budget)
        return
    cap = format_usd(budget.monthly_cap_usd)
    out.print(
        f"{format_usd(budget.spent_usd)} of {cap} spent in {budget.month:%B %Y}, "
        f"{format_usd(budget.left_usd)} left. "
        f"The month ends at {format_time(budget.month_ends_at)}.",
        soft_wrap=True,
        highlight=False,
    )
    if budget.monthly_cap_usd < budget.allowed_usd:
        allowed = format_usd(budget.allowed_usd)
        out.print(f"The tenant lowered its own limit; up to {allowed} is allowed.", highlight=False)
    if budget.limited_by_installation:
        out.print("The installation-wide cap limits what is left.", highlight=False)
    if budget.waiting:
        out.print(f"Blocked on budget: {budget.waiting:,}.", highlight=False)
    out.print()
    _print_free(budget.free_tier)
    out.print()
    _print_today(budget.today)
    out.print(f"Prices as of {budget.prices_as_of}.", highlight=False)


def _print_free(kinds: list[SkuUsed]) -> None:
    table = build_table(
        "Request", "This month", "Free", "Left", "Next request", right=("This month",)
    )
    for each in kinds:
        free, left = ("all" if n is None else f"{n:,}" for n in (each.free, each.left))
        table.add_row(each.sku, f"{each.used:,}", free, left, format_usd(each.next_usd))
    print_table(table)


def _print_today(methods: list[MethodToday]) -> None:
    table = build_table(
        "Method", "Today", "Daily quota", "Paused until", "Reason", right=("Today", "Daily quota")
    )
    for each in methods:
        until = format_time(each.paused_until) if each.paused_until else ""
        cells = (each.method, f"{each.used:,}", f"{each.quota:,}", until, each.paused_because or "")
        table.add_row(*map(escape, cells))
    print_table(table)


def _print_installation(budget: InstallationBudgetOut, *, as_json: bool) -> None:
    if as_json:
        print_json(budget)
        return
    spent = f"{format_usd(budget.spent_usd)} spent by all tenants in {budget.month:%B %Y}"
    cap, left = budget.monthly_cap_usd, budget.left_usd
    of = "; no installation-wide cap."
    if cap is not None and left is not None:
        of = f", of {format_usd(cap)}; {format_usd(left)} left."
    out.print(spent + of, soft_wrap=True, highlight=False)
    if budget.waiting:
        out.print(f"Blocked on budget: {budget.waiting:,}.", highlight=False)
    out.print()
    _print_tenants(budget.tenants)


def _print_tenants(tenants: list[TenantBudgetOut]) -> None:
    table = build_table(
        "Tenant", "Spent", "Allowed", "Own limit", right=("Spent", "Allowed", "Own limit")
    )
    for each in tenants:
        own = "" if each.own_limit_usd is None else format_usd(each.own_limit_usd)
        table.add_row(
            escape(each.name), format_usd(each.spent_usd), format_usd(each.allowed_usd), own
        )
    print_table(table)
