"""`scrapersky audit`: who changed what and when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts.audit import Wanted, entries
from scrapersky.accounts.schemas import AuditEntryOut
from scrapersky.accounts.tenants import acting_in
from scrapersky.accounts.users import user_known_as
from scrapersky.cli.options import AsJson, Limit, OfTenant
from scrapersky.cli.output import out, print_json, print_table, table, when
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.models import AuditEntry

By = Annotated[str | None, typer.Option("--actor", help="Only by this user, by name or id.")]
Action = Annotated[str | None, typer.Option(help="Only this, for example job.cancel.")]
Since = Annotated[datetime | None, typer.Option(help="Only from then on, in UTC.")]


def audit(
    actor: By = None,
    action: Action = None,
    since: Since = None,
    tenant: OfTenant = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> int:
    """Show who changed what and when, newest first."""

    async def step(session: AsyncSession, everything: Opened) -> Sequence[AuditEntry]:
        reader = await acting_in(session, everything.actor, tenant)
        by = None if actor is None else await user_known_as(session, everything.actor, actor)
        wanted = Wanted(actor_id=by, action=action, since=since)
        found, _ = await entries(session, reader, wanted, limit=limit)
        return found

    def show(found: Sequence[AuditEntry]) -> None:
        if as_json:
            print_json([AuditEntryOut.model_validate(each) for each in found])
        else:
            _print_entries(found)

    return run_in_transaction(step, show)


def _print_entries(found: Sequence[AuditEntry]) -> None:
    if not found:
        out.print("Nothing was changed.")
        return
    made = table("When", "Who", "Via", "Action", "Subject", "Details")
    for each in found:
        details = json.dumps(each.details, ensure_ascii=False) if each.details else ""
        words = (str(each.actor_id), each.via, each.action, escape(each.subject_id or ""))
        made.add_row(when(each.at), *words, escape(details))
    print_table(made)
