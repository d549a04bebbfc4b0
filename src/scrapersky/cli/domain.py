"""`scrapersky domain`: refresh or delete a domain."""

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

app = typer.Typer(help="Look at a domain again, or delete it.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A domain that is stored.")]


@app.command()
def refresh(name: Name) -> int:
    """Queue its home page and its sitemaps now, however short ago the last look was."""

    async def step(session: AsyncSession, everything: CommandContext) -> DomainRefresh:
        key = parse_site(name, everything.settings).key
        domain_id = await get_domain_id(session, everything.actor, key)
        return await refresh_domain(session, everything.actor, domain_id)

    return run_in_transaction(step, _print_refreshed)


def _print_refreshed(refreshed: DomainRefresh) -> None:
    metadata = "queued" if refreshed.metadata_queued else "being read already"
    sitemaps = "queued" if refreshed.sitemaps_queued else "being looked for already"
    job = f" by job {refreshed.active_job_id}" if refreshed.active_job_id else ""
    out.print(f"Home page: {metadata}. Sitemaps: {sitemaps}{job}.", highlight=False)


@app.command()
def delete(name: Name, yes: Yes = False) -> int:
    """Delete it with its sitemaps, URLs, pages, contacts and jobs."""

    async def command(everything: CommandContext) -> None:
        key = parse_site(name, everything.settings).key
        async with everything.database.reading() as session:
            domain_id = await get_domain_id(session, everything.actor, key)
        if not yes:
            _confirm_delete(key)
        rows, finished = 0, False
        while not finished:
            async with everything.database.transaction() as session:
                deleted = await delete_domain(session, everything.actor, domain_id)
            rows, finished = rows + deleted.deleted_rows, deleted.finished
            if not finished:
                note(f"{rows:,} rows so far.")
        below = format_count(rows, "row")
        out.print(f"{key} is deleted, with {below} below it.", highlight=False)

    return run_with_context(command)


def _confirm_delete(key: str) -> None:
    sentence = f"{key} and all that is known of it is to be deleted."
    if not sys.stdin.isatty():
        raise InvalidInput(f"{sentence} Nobody is here to be asked; add --yes if that is meant.")
    typer.confirm(f"{sentence} Go on?", abort=True, err=True)
