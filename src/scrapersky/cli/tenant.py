"""`scrapersky tenant`: who shares this installation without seeing each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts import tenants
from scrapersky.accounts.schemas import TenantOut
from scrapersky.cli.options import AsJson
from scrapersky.cli.output import note, out, print_json, print_table, table, when
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.models import Tenant

app = typer.Typer(help="Make or list tenants.", no_args_is_help=True)


@app.command()
def create(name: Annotated[str, typer.Argument(help="To know it by.")]) -> int:
    """Make a tenant and print its id."""

    async def step(session: AsyncSession, everything: Opened) -> Tenant:
        return await tenants.create_tenant(session, everything.actor, name)

    def show(made: Tenant) -> None:
        out.print(str(made.id), highlight=False)
        note(f"Next: `scrapersky user create --tenant {made.name} --name NAME --role admin`.")

    return run_in_transaction(step, show)


@app.command("list")
def list_tenants(as_json: AsJson = False) -> int:
    """List tenants, oldest first."""

    async def step(session: AsyncSession, everything: Opened) -> Sequence[Tenant]:
        return await tenants.list_tenants(session)

    def show(found: Sequence[Tenant]) -> None:
        if as_json:
            print_json([TenantOut.model_validate(each) for each in found])
            return
        made = table("Tenant", "Name", "Made")
        for each in found:
            made.add_row(str(each.id), escape(each.name), when(each.created_at))
        print_table(made)

    return run_in_transaction(step, show)
