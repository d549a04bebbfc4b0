"""`scrapersky suppression`: whom not to write to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts.tenants import acting_in
from scrapersky.cli.exits import Exit
from scrapersky.cli.line_lists import lines_of
from scrapersky.cli.list_options import AGES, narrowed_by
from scrapersky.cli.many import do_to_each
from scrapersky.cli.options import AsJson, Limit, OfTenant
from scrapersky.cli.output import counted, note, out, print_json, print_table, table, when
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.cli.typed import as_asked
from scrapersky.contacts.listing import SUPPRESSIONS
from scrapersky.contacts.suppression_schemas import (
    SuppressedOut,
    SuppressionIn,
    SuppressionOut,
    suppressed_out,
)
from scrapersky.contacts.suppressions import Outcome, lift, suppress
from scrapersky.http.lists import Asked
from scrapersky.http.lists.filters import Given
from scrapersky.models import Suppression, SuppressionKind

app = typer.Typer(help="Say whom not to write to.", no_args_is_help=True)

OfKind = Annotated[
    SuppressionKind | None, typer.Option("--kind", help="Left out: what each looks like.")
]
Reason = Annotated[str | None, typer.Option(help="Why, for whoever wonders later.")]
Values = Annotated[
    list[str],
    typer.Argument(help="Addresses, domains (acme.com, @acme.com), numbers with their country."),
]
ListFile = Annotated[
    str, typer.Argument(metavar="FILE", help="One per line; - reads standard input.")
]


@app.command()
def add(
    values: Values,
    kind: OfKind = None,
    reason: Reason = None,
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> int:
    """Keep addresses, domains or numbers out of every lead and export."""
    return _suppress(values, kind, reason, tenant, as_json=as_json)


@app.command("import")
def import_list(
    file: ListFile,
    kind: OfKind = None,
    reason: Reason = None,
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> int:
    """The same for a list in a text file; empty lines and those that begin with # are none."""
    return _suppress(lines_of(file), kind, reason, tenant, as_json=as_json)


def _suppress(
    values: Sequence[str],
    kind: SuppressionKind | None,
    reason: str | None,
    tenant: str | None,
    *,
    as_json: bool,
) -> int:
    asked = [as_asked(SuppressionIn, value=each, kind=kind, reason=reason) for each in values]

    async def step(session: AsyncSession, everything: Opened) -> SuppressedOut:
        actor = await acting_in(session, everything.actor, tenant)
        return suppressed_out(await suppress(session, actor, [each.wanted() for each in asked]))

    def show(done: SuppressedOut) -> int:
        print_json(done) if as_json else _print_done(done)
        if not done.refused:
            return Exit.OK
        return Exit.PARTIAL if done.refused < len(done.lines) else Exit.FAILED

    return run_in_transaction(step, show)


def _print_done(done: SuppressedOut) -> None:
    for line in done.lines:
        if line.outcome is Outcome.REFUSED:
            note(f"{line.given}: {line.error}")
    facts = [f"{counted(done.added, 'suppression')} added"]
    facts += [f"{done.already_there:,} there already"] if done.already_there else []
    facts += [f"{done.refused:,} refused"] if done.refused else []
    out.print(f"{', '.join(facts)}.", highlight=False)


@app.command("list")
@narrowed_by(SUPPRESSIONS, **AGES)
def list_suppressions(
    given: Given, tenant: OfTenant = None, limit: Limit = 50, as_json: AsJson = False
) -> int:
    """List them, newest first."""
    asked = Asked(given, limit=limit)

    async def step(session: AsyncSession, everything: Opened) -> list[SuppressionOut]:
        actor = await acting_in(session, everything.actor, tenant)
        rows = (await SUPPRESSIONS.show(session, actor, asked)).rows
        return [SuppressionOut.model_validate(each) for each in rows]

    return run_in_transaction(
        step, lambda found: print_json(found) if as_json else _print_suppressions(found)
    )


def _print_suppressions(found: Sequence[SuppressionOut]) -> None:
    if not found:
        out.print("Nobody is suppressed.")
        return
    made = table("Suppression", "Kind", "Value", "Reason", "Made")
    for each in found:
        words = (escape(each.value or "(erased)"), escape(each.reason or ""))
        made.add_row(str(each.id), each.kind, *words, when(each.created_at))
    print_table(made)


@app.command()
def remove(
    suppression_ids: Annotated[list[UUID], typer.Argument(help="See `suppression list`.")],
    tenant: OfTenant = None,
) -> int:
    """What they name is in leads and exports again."""

    async def one(session: AsyncSession, everything: Opened, named: UUID) -> Suppression:
        actor = await acting_in(session, everything.actor, tenant)
        return await lift(session, actor, named)

    def tell(lifted: Suppression) -> None:
        note(f"{lifted.value or 'An erased person'} is suppressed no more.")

    return do_to_each(one, suppression_ids, tell=tell)
