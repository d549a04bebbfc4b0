"""`scrapersky domain`: rescan or delete a domain."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.bulk import Yes
from scrapersky.cli.output import format_count, note, out
from scrapersky.cli.session import CommandContext, run_in_transaction, run_with_context
from scrapersky.domains.service import DomainRefresh, delete_domain, get_domain_id, refresh_domain
from scrapersky.errors import InvalidInput
from scrapersky.lists.imports.sites import parse_site

app = typer.Typer(help="Rescan or delete a domain.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A stored domain.")]


@app.command()
def refresh(name: Name) -> int:
    """Queue the home page and the sitemaps now, regardless of the last scan."""

    async def step(session: AsyncSession, context: CommandContext) -> DomainRefresh:
        key = parse_site(name, context.settings).key
        domain_id = await get_domain_id(session, context.actor, key)
        return await refresh_domain(session, context.actor, domain_id)

    return run_in_transaction(step, _print_refreshed)


def _print_refreshed(refreshed: DomainRefresh) -> None:
    metadata = "queued" if refreshed.metadata_queued else "already in progress"
    sitemaps = "queued" if refreshed.sitemaps_queued else "already in progress"
    job = f" (job {refreshed.active_job_id})" if refreshed.active_job_id else ""
    out.print(f"Home page: {metadata}. Sitemaps: {sitemaps}{job}.", highlight=False)


@app.command()
def delete(name: Name, yes: Yes = False) -> int:
    """Delete a domain with its sitemaps, URLs, pages, contacts and jobs."""

    async def command(context: CommandContext) -> None:
        key = parse_site(name, context.settings).key
        async with context.database.reading() as session:
            domain_id = await get_domain_id(session, context.actor, key)
        if not yes:
            _confirm_delete(key)
        rows, finished = 0, False
        while not finished:
            async with context.database.transaction() as session:
                deleted = await delete_domain(session, context.actor, domain_id)
            rows, finished = rows + deleted.deleted_rows, deleted.finished
            if not finished:
                note(f"{format_count(rows, 'row')} deleted so far.")
        below = format_count(rows, "row")
        out.print(f"{key} deleted, with {below} below it.", highlight=False)

    return run_with_context(command)


def _confirm_delete(key: str) -> None:
    sentence = f"{key} and everything stored about it will be deleted."
    if not sys.stdin.isatty():
        raise InvalidInput(f"{sentence} Standard input is not a terminal; add --yes to confirm.")
    typer.confirm(f"{sentence} Continue?", abort=True, err=True)
