"""`scrapersky budget`: what place providers cost this month, and what they may."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts.tenants import acting_in
from scrapersky.cli.options import AsJson, OfTenant
from scrapersky.cli.output import out, print_json, print_table, table, when
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.cli.typed import as_asked
from scrapersky.errors import InvalidInput
from scrapersky.places.budget import budget_of, change_budget
from scrapersky.places.budget_schemas import BudgetIn, BudgetOut, MethodToday, SkuUsed
from scrapersky.places.governor import dollars

app = typer.Typer(help="Show or change what place providers may cost in a month.")

Cap = Annotated[str, typer.Argument(metavar="USD", help="In a month; 0 means only what is free.")]


@app.callback(invoke_without_command=True)
def show(context: typer.Context, tenant: OfTenant = None, as_json: AsJson = False) -> int | None:
    """Show what is spent this month, what is left, and what is free."""
    if context.invoked_subcommand is not None:
        return None

    async def step(session: AsyncSession, everything: Opened) -> BudgetOut:
        actor = await acting_in(session, everything.actor, tenant)
        return await budget_of(session, actor, everything.settings)

    return run_in_transaction(step, lambda found: _print(found, as_json=as_json))


@app.command("set")
def set_budget(cap: Cap, tenant: OfTenant = None, as_json: AsJson = False) -> int:
    """Change what may be spent in a month; what waits for money is tried again at once."""
    wanted = as_asked(BudgetIn, monthly_cap_usd=_number(cap))

    async def step(session: AsyncSession, everything: Opened) -> BudgetOut:
        actor = await acting_in(session, everything.actor, tenant)
        await change_budget(session, actor, wanted.monthly_cap_usd)
        return await budget_of(session, actor, everything.settings)

    return run_in_transaction(step, lambda found: _print(found, as_json=as_json))


def _number(text: str) -> Decimal:
    try:
        return Decimal(text.strip().lstrip("$"))
    except InvalidOperation:
        raise InvalidInput(f"{text!r} is not an amount of money; write 50 or 12.50.") from None


def _print(budget: BudgetOut, *, as_json: bool) -> None:
    if as_json:
        print_json(budget)
        return
    cap = dollars(budget.monthly_cap_usd)
    out.print(
        f"{dollars(budget.spent_usd)} of {cap} are spent in {budget.month:%B %Y}, "
        f"{dollars(budget.left_usd)} are left. The month ends at {when(budget.month_ends_at)}.",
        soft_wrap=True,
        highlight=False,
    )
    if budget.waiting:
        out.print(f"Waiting for money: {budget.waiting:,}.", highlight=False)
    out.print()
    _print_free(budget.free_tier)
    out.print()
    _print_today(budget.today)
    out.print(f"Prices as of {budget.prices_as_of}.", highlight=False)


def _print_free(kinds: list[SkuUsed]) -> None:
    made = table("Request", "This month", "Free", "Left", "Next costs", right=("This month",))
    for each in kinds:
        free, left = ("all" if n is None else f"{n:,}" for n in (each.free, each.left))
        made.add_row(each.sku, f"{each.used:,}", free, left, dollars(each.next_usd))
    print_table(made)


def _print_today(methods: list[MethodToday]) -> None:
    made = table("Method", "Today", "A day", "Paused until", "Because", right=("Today", "A day"))
    for each in methods:
        until = when(each.paused_until) if each.paused_until else ""
        said = (each.method, f"{each.used:,}", f"{each.quota:,}", until, each.paused_because or "")
        made.add_row(*map(escape, said))
    print_table(made)
