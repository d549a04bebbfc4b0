"""`scrapersky suppression`: add, import, list and remove suppressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth.tenants import switch_tenant
from scrapersky.cli.bulk import run_for_each
from scrapersky.cli.errors import ExitCode
from scrapersky.cli.files import read_lines
from scrapersky.cli.options import (
    AGE_OPTIONS,
    AsJson,
    Limit,
    TenantOption,
    add_filter_options,
    validate_input,
)
from scrapersky.cli.output import (
    format_count,
    note,
    out,
    print_json,
)
from scrapersky.cli.rows import list_rows
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.contacts.listing import SUPPRESSIONS
from scrapersky.contacts.schemas import (
    SuppressedOut,
    SuppressionIn,
    SuppressionOut,
    build_suppressed_out,
)
from scrapersky.contacts.suppression import SuppressionOutcome, delete_suppression, suppress
from scrapersky.lists import ListQuery
from scrapersky.lists.filters import FilterValues
from scrapersky.models import Suppression, SuppressionKind

app = typer.Typer(help="Manage the suppression list (do not contact).", no_args_is_help=True)

OfKind = Annotated[
    SuppressionKind | None, typer.Option("--kind", help="Default: detected from each value.")
]
Reason = Annotated[str | None, typer.Option(help="Reason, stored with the suppression.")]
Values = Annotated[
    list[str],
    typer.Argument(
        help="E-mail addresses, domains (acme.com, @acme.com) or phone numbers with country code."
    ),
]
ListFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="Text file with one value per line; - reads standard input."
    ),
]


@app.command()
def add(
    values: Values,
    kind: OfKind = None,
    reason: Reason = None,
    tenant: TenantOption = None,
    as_json: AsJson = False,
) -> int:
    """Exclude addresses, domains or phone numbers from all leads and exports."""
    return _suppress(values, kind, reason, tenant, as_json=as_json)


@app.command("import")
def import_list(
    file: ListFile,
    kind: OfKind = None,
    reason: Reason = None,
    tenant: TenantOption = None,
    as_json: AsJson = False,
) -> int:
    """Import suppressions from a text file. Empty lines and # comments are skipped."""
    return _suppress(read_lines(file), kind, reason, tenant, as_json=as_json)


def _suppress(
    values: Sequence[str],
    kind: SuppressionKind | None,
    reason: str | None,
    tenant: str | None,
    *,
    as_json: bool,
) -> int:
    requests = [
        validate_input(SuppressionIn, value=each, kind=kind, reason=reason) for each in values
    ]

    async def step(session: AsyncSession, context: CommandContext) -> SuppressedOut:
        actor = await switch_tenant(session, context.actor, tenant)
        return build_suppressed_out(
            await suppress(session, actor, [each.to_request() for each in requests])
        )

    def show(done: SuppressedOut) -> int:
        print_json(done) if as_json else _print_done(done)
        if not done.refused:
            return ExitCode.OK
        return ExitCode.PARTIAL if done.refused < len(done.lines) else ExitCode.FAILED

    return run_in_transaction(step, show)


def _print_done(done: SuppressedOut) -> None:
    for line in done.lines:
        if line.outcome is SuppressionOutcome.REFUSED:
            note(f"{line.given}: {line.error}")
    facts = [f"{format_count(done.added, 'suppression')} added"]
    facts += [f"{done.already_there:,} already listed"] if done.already_there else []
    facts += [f"{done.refused:,} refused"] if done.refused else []
    out.print(f"{', '.join(facts)}.", highlight=False)


@app.command("list")
@add_filter_options(SUPPRESSIONS, **AGE_OPTIONS)
def list_suppressions(
    given: FilterValues, tenant: TenantOption = None, limit: Limit = 50, as_json: AsJson = False
) -> int:
    """List suppressions, newest first."""
    return list_rows(
        SUPPRESSIONS,
        ListQuery(given, limit=limit),
        "suppression",
        SuppressionOut.model_validate,
        as_json=as_json,
        tenant=tenant,
        formats={"value": lambda row: row.value or "(erased)"},
    )


@app.command()
def remove(
    suppression_ids: Annotated[
        list[UUID], typer.Argument(help="Suppression ids; see `suppression list`.")
    ],
    tenant: TenantOption = None,
) -> int:
    """Remove suppressions. Their values appear in leads and exports again."""

    async def one(session: AsyncSession, context: CommandContext, named: UUID) -> Suppression:
        actor = await switch_tenant(session, context.actor, tenant)
        return await delete_suppression(session, actor, named)

    def tell(lifted: Suppression) -> None:
        note(f"{lifted.value or 'An erased person'} is no longer suppressed.")

    return run_for_each(one, suppression_ids, tell=tell)
