"""`scrapersky leads` and `scrapersky lead`: list, show and curate leads."""

from __future__ import annotations

from collections.abc import Sequence
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
    asked = ListQuery(given, sort=check_sort(LEADS, sort), limit=limit)

    async def step(session: AsyncSession, everything: CommandContext) -> list[LeadOut]:
        actor = await switch_tenant(session, everything.actor, tenant)
        rows = (await LEADS.show(session, actor, asked)).rows
        return [LeadOut.model_validate(each) for each in rows]

    return run_in_transaction(
        step, lambda found: print_json(found) if as_json else _print_leads(found)
    )


def _print_leads(found: Sequence[LeadOut]) -> None:
    if not found:
        out.print("No leads.")
        return
    made = build_table(
        "Lead", "Name", "Category", "Phone", "E-mail", "Website", "Others", "Status", "Empty reason"
    )
    for each in found:
        others = len(each.other_emails) + len(each.other_phones) + len(each.profiles)
        words = (each.name, each.category, each.phone, each.best_email, each.website)
        last = (str(others), each.lead_curation_status, each.why_empty or "")
        made.add_row(str(each.id), *(escape(word or "") for word in words), *last)
    print_table(made)


@app.command()
def show(lead_id: LeadId, tenant: TenantOption = None, as_json: AsJson = False) -> int:
    """Show a lead with all its contacts."""

    async def step(session: AsyncSession, everything: CommandContext) -> LeadDetail:
        actor = await switch_tenant(session, everything.actor, tenant)
        return await service.get_detail(session, await service.get_lead(session, actor, lead_id))

    return run_in_transaction(
        step, lambda found: print_json(found) if as_json else _print_lead(found)
    )


def _print_lead(lead: LeadDetail) -> None:
    _print_leads([lead])
    for said in (lead.address, lead.best_email_why, lead.why_empty_detail):
        if said:
            out.print(escape(said), highlight=False)
    if not lead.contact_list:
        return
    made = build_table("Contact", "Kind", "Value", "Type", "Name", "Role", "Method", "Status")
    for each in lead.contact_list:
        value = f"{each.value} (suppressed)" if each.suppressed else each.value
        whose = (each.email_type or "", escape(each.name or ""), escape(each.role or ""))
        last = (each.method, each.contact_curation_status)
        made.add_row(str(each.id), each.kind, escape(value), *whose, *last)
    out.print()
    print_table(made)


@app.command("set-status")
def set_status(
    lead_id: LeadId,
    status: Annotated[LeadCuration, typer.Argument(help="New curation status.")],
    tenant: TenantOption = None,
) -> int:
    """Set the curation status of a lead."""

    async def step(session: AsyncSession, everything: CommandContext) -> Lead:
        actor = await switch_tenant(session, everything.actor, tenant)
        return await service.update_curation(session, actor, lead_id, status)

    return run_in_transaction(
        step, lambda lead: note(f"Lead {lead.id} is {lead.lead_curation_status}.")
    )
