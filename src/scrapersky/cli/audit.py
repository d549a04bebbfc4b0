"""`scrapersky audit`: list audit log entries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth.audit import AuditQuery, list_audit_entries
from scrapersky.auth.schemas import AuditEntryOut
from scrapersky.auth.service import find_user_id
from scrapersky.auth.tenants import switch_tenant
from scrapersky.cli.options import AsJson, Limit, TenantOption
from scrapersky.cli.output import build_table, format_time, out, print_json, print_table
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.models import AuditEntry

ActorOption = Annotated[
    str | None, typer.Option("--actor", help="Only entries of this user (name or id).")
]
Action = Annotated[str | None, typer.Option(help="Only this action, for example job.cancel.")]
Since = Annotated[datetime | None, typer.Option(help="Only entries since this time (UTC).")]


def audit(
    actor: ActorOption = None,
    action: Action = None,
    since: Since = None,
    tenant: TenantOption = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> int:
    """List audit log entries, newest first."""

    async def step(session: AsyncSession, context: CommandContext) -> Sequence[AuditEntry]:
        reader = await switch_tenant(session, context.actor, tenant)
        by = None if actor is None else await find_user_id(session, context.actor, actor)
        query = AuditQuery(actor_id=by, action=action, since=since)
        entries, _ = await list_audit_entries(session, reader, query, limit=limit)
        return entries

    def show(entries: Sequence[AuditEntry]) -> None:
        if as_json:
            print_json([AuditEntryOut.model_validate(each) for each in entries])
        else:
            _print_entries(entries)

    return run_in_transaction(step, show)


def _print_entries(entries: Sequence[AuditEntry]) -> None:
    if not entries:
        out.print("No audit log entries.")
        return
    table = build_table("Time", "User", "Via", "Action", "Subject", "Details")
    for each in entries:
        details = json.dumps(each.details, ensure_ascii=False) if each.details else ""
        words = (str(each.actor_id), each.via, each.action, escape(each.subject_id or ""))
        table.add_row(format_time(each.at), *words, escape(details))
    print_table(table)
