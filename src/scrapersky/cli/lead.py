"""`scrapersky leads` and `scrapersky lead`: list, show and curate leads."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth.tenants import switch_tenant
from scrapersky.cli.options import (
    AGE_OPTIONS,
    AsJson,
    Limit,
    TenantOption,
    add_filter_options,
    check_sort,
)
from scrapersky.cli.output import build_table, note, out, print_json, print_table
from scrapersky.cli.rows import list_rows, print_rows
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.leads import service
from scrapersky.leads.listing import LEADS
from scrapersky.leads.schemas import LeadDetail, LeadOut
from scrapersky.lists import ListQuery
from scrapersky.lists.filters import FilterValues
from scrapersky.models import Lead, LeadCuration

app = typer.Typer(help="Show a lead, or set its curation status.", no_args_is_help=True)

LeadId = Annotated[UUID, typer.Argument(help="Lead id; see `scrapersky leads`.")]
Sort = Annotated[
    str, typer.Option(help=f"Sort by {', '.join(LEADS.sorts)}; prefix with - for descending.")
]


@add_filter_options(LEADS, lead_curation_status="--status", **AGE_OPTIONS)
def leads(
    given: FilterValues,
    sort: Sort = "-created_at",
    tenant: TenantOption = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> int:
    """List leads, newest first, with the best contact or the reason there is none."""
    return list_rows(
        LEADS,
        ListQuery(given, sort=check_sort(LEADS, sort), limit=limit),
        "lead",
        LeadOut.model_validate,
        as_json=as_json,
        tenant=tenant,
    )


@app.command()
def show(lead_id: LeadId, tenant: TenantOption = None, as_json: AsJson = False) -> int:
    """Show a lead with all its contacts."""

    async def step(session: AsyncSession, context: CommandContext) -> LeadDetail:
        actor = await switch_tenant(session, context.actor, tenant)
        return await service.get_detail(session, await service.get_lead(session, actor, lead_id))

    return run_in_transaction(
        step, lambda result: print_json(result) if as_json else _print_lead(result)
    )


def _print_lead(lead: LeadDetail) -> None:
    print_rows(LEADS, "lead", [lead])
    for line in (lead.address, lead.best_email_why, lead.why_empty_detail):
        if line:
            out.print(escape(line), highlight=False)
    if not lead.contact_list:
        return
    table = build_table("Contact", "Kind", "Value", "Type", "Name", "Role", "Method", "Status")
    for each in lead.contact_list:
        value = f"{each.value} (suppressed)" if each.suppressed else each.value
        whose = (each.email_type or "", escape(each.name or ""), escape(each.role or ""))
        last = (each.method, each.contact_curation_status)
        table.add_row(str(each.id), each.kind, escape(value), *whose, *last)
    out.print()
    print_table(table)


@app.command("set-status")
def set_status(
    lead_id: LeadId,
    status: Annotated[LeadCuration, typer.Argument(help="New curation status.")],
    tenant: TenantOption = None,
) -> int:
    """Set the curation status of a lead."""

    async def step(session: AsyncSession, context: CommandContext) -> Lead:
        actor = await switch_tenant(session, context.actor, tenant)
        return await service.update_curation(session, actor, lead_id, status)

    return run_in_transaction(
        step, lambda lead: note(f"Lead {lead.id} is {lead.lead_curation_status}.")
    )
