"""`scrapersky tenant`: create and list tenants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth import tenants
from scrapersky.auth.schemas import TenantOut
from scrapersky.cli.options import AsJson
from scrapersky.cli.output import build_table, format_time, note, out, print_json, print_table
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.models import Tenant

app = typer.Typer(help="Create and list tenants.", no_args_is_help=True)


@app.command()
def create(name: Annotated[str, typer.Argument(help="Name of the tenant.")]) -> int:
    """Create a tenant and print its id."""

    async def step(session: AsyncSession, context: CommandContext) -> Tenant:
        return await tenants.create_tenant(session, context.actor, name)

    def show(tenant: Tenant) -> None:
        out.print(str(tenant.id), highlight=False)
        note(f"Next: `scrapersky user create --tenant {tenant.name} --name NAME --role admin`.")

    return run_in_transaction(step, show)


@app.command("list")
def list_tenants(as_json: AsJson = False) -> int:
    """List tenants, oldest first."""

    async def step(session: AsyncSession, context: CommandContext) -> Sequence[Tenant]:
        return await tenants.list_tenants(session)

    def show(tenants: Sequence[Tenant]) -> None:
        if as_json:
            print_json([TenantOut.model_validate(each) for each in tenants])
            return
        table = build_table("Tenant", "Name", "Created")
        for each in tenants:
            table.add_row(str(each.id), escape(each.name), format_time(each.created_at))
        print_table(table)

    return run_in_transaction(step, show)
