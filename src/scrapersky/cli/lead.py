"""`scrapersky leads` and `scrapersky lead`: one row per business."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts.tenants import acting_in
from scrapersky.cli.list_options import AGES, narrowed_by
from scrapersky.cli.options import AsJson, Limit, OfTenant
from scrapersky.cli.output import note, out, print_json, print_table, table
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.cli.typed import order_of
from scrapersky.http.lists import Asked
from scrapersky.http.lists.filters import Given
from scrapersky.leads import service
from scrapersky.leads.listing import LEADS
from scrapersky.leads.schemas import LeadDetail, LeadOut
from scrapersky.models import Lead, LeadCuration

app = typer.Typer(help="Look at a lead, or decide about it.", no_args_is_help=True)

LeadId = Annotated[UUID, typer.Argument(help="See `scrapersky leads`.")]
Sort = Annotated[str, typer.Option(help=f"By {', '.join(LEADS.sorts)}; - turns it round.")]


@narrowed_by(LEADS, lead_curation_status="--status", **AGES)
def leads(
    given: Given,
    sort: Sort = "-created_at",
    tenant: OfTenant = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> int:
    """List leads, newest first: whom to write to, or why nobody is known."""
    asked = Asked(given, sort=order_of(LEADS, sort), limit=limit)

    async def step(session: AsyncSession, everything: Opened) -> list[LeadOut]:
        actor = await acting_in(session, everything.actor, tenant)
        rows = (await LEADS.show(session, actor, asked)).rows
        return [LeadOut.model_validate(each) for each in rows]

    return run_in_transaction(
        step, lambda found: print_json(found) if as_json else _print_leads(found)
    )


def _print_leads(found: Sequence[LeadOut]) -> None:
    if not found:
        out.print("No leads.")
        return
    made = table(
        "Lead", "Name", "Category", "Phone", "E-mail", "Website", "Others", "Status", "Why empty"
    )
    for each in found:
        others = len(each.other_emails) + len(each.other_phones) + len(each.profiles)
        words = (each.name, each.category, each.phone, each.best_email, each.website)
        last = (str(others), each.lead_curation_status, each.why_empty or "")
        made.add_row(str(each.id), *(escape(word or "") for word in words), *last)
    print_table(made)


@app.command()
def show(lead_id: LeadId, tenant: OfTenant = None, as_json: AsJson = False) -> int:
    """Show a lead with all its contacts."""

    async def step(session: AsyncSession, everything: Opened) -> LeadDetail:
        actor = await acting_in(session, everything.actor, tenant)
        return await service.detail(session, await service.lead_of(session, actor, lead_id))

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
    made = table("Contact", "Kind", "Value", "Type", "Name", "Role", "Found by", "Status")
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
    status: Annotated[LeadCuration, typer.Argument(help="What was decided.")],
    tenant: OfTenant = None,
) -> int:
    """Decide about a lead."""

    async def step(session: AsyncSession, everything: Opened) -> Lead:
        actor = await acting_in(session, everything.actor, tenant)
        return await service.decide(session, actor, lead_id, status)

    return run_in_transaction(
        step, lambda lead: note(f"Lead {lead.id} is {lead.lead_curation_status}.")
    )
