"""`scrapersky batch`: request scans of many sites and show their progress."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.errors import ExitCode
from scrapersky.cli.files import read_lines
from scrapersky.cli.options import AsJson, Limit
from scrapersky.cli.output import (
    build_table,
    format_count,
    format_status,
    format_time,
    note,
    out,
    print_json,
    print_table,
)
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.sitemaps.batches import (
    BatchMember,
    BatchProgress,
    StoredBatch,
    list_batch_members,
    load_batch_progress,
    request_batch,
)
from scrapersky.sitemaps.schemas import batch_out, batch_status
from scrapersky.sitemaps.service import MAX_PAGES_LIMIT

app = typer.Typer(help="Scan many sites in one batch.", no_args_is_help=True)

ListFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="Text file with one domain or URL per line; - reads standard input."
    ),
]
MaxPages = Annotated[
    int | None,
    typer.Option(min=1, max=MAX_PAGES_LIMIT, help="Maximum number of URLs to store per site."),
]
BatchId = Annotated[UUID, typer.Argument(help="Batch id, as printed by `scrapersky batch create`.")]


@app.command()
def create(file: ListFile, max_pages: MaxPages = None, as_json: AsJson = False) -> int:
    """Queue a scan of every site in a file. Workers or `scrapersky serve` run the scans."""
    lines = read_lines(file)

    async def step(session: AsyncSession, context: CommandContext) -> StoredBatch:
        return await request_batch(session, context.actor, context.settings, lines, max_pages)

    def show(requested: StoredBatch) -> int:
        print_json(batch_out(requested)) if as_json else _print_requested(requested)
        return _get_exit_code(requested)

    return run_in_transaction(step, show)


def _print_requested(requested: StoredBatch) -> None:
    batch = requested.batch
    for line in requested.lines:
        if line.error is not None:
            note(f"{line.text}: {line.error}")
    active = sum(each.already_active for each in requested.lines)
    facts = [f"{format_count(batch.accepted, 'domain')} accepted"]
    facts += [f"{active:,} already being scanned"] if active else []
    facts += [f"{batch.rejected:,} rejected"] if batch.rejected else []
    facts += (
        [f"{format_count(requested.duplicates, 'duplicate line')}"] if requested.duplicates else []
    )
    out.print(f"Batch {batch.id}: {', '.join(facts)}.", highlight=False)


def _get_exit_code(requested: StoredBatch) -> ExitCode:
    if not requested.batch.accepted:
        return ExitCode.FAILED
    return ExitCode.PARTIAL if requested.batch.rejected else ExitCode.OK


@app.command("status")
def show_status(batch_id: BatchId, limit: Limit = 100, as_json: AsJson = False) -> int:
    """Show the progress of a batch and of each of its domains."""

    async def step(
        session: AsyncSession, context: CommandContext
    ) -> tuple[BatchProgress, list[BatchMember]]:
        progress = await load_batch_progress(session, context.actor, batch_id)
        return progress, await list_batch_members(session, batch_id, after=0, limit=limit + 1)

    def show(result: tuple[BatchProgress, list[BatchMember]]) -> None:
        progress, members = result
        if as_json:
            print_json(batch_status(progress, members, limit=limit))
        else:
            _print_progress(progress, members[:limit], more=len(members) > limit)

    return run_in_transaction(step, show)


def _print_progress(progress: BatchProgress, members: Iterable[BatchMember], *, more: bool) -> None:
    counts = ", ".join(f"{count:,} {word}" for word, count in sorted(progress.counts.items()))
    state = "finished" if progress.finished else f"{progress.progress:.0%} done"
    created = format_time(progress.batch.created_at)
    out.print(f"Batch {progress.batch.id}, created {created}: {state}.", highlight=False)
    out.print(f"{counts or 'no domains'}.", highlight=False)
    table = build_table(
        "Domain", "Status", "Progress", "Sitemaps", "URLs", "Job", "Error", right=["Progress"]
    )
    for each in members:
        totals = (f"{each.progress:.0%}", f"{each.sitemaps:,}", f"{each.urls:,}")
        last = (str(each.job_id or ""), escape(each.error or ""))
        table.add_row(escape(each.domain), format_status(each.status), *totals, *last)
    print_table(table)
    if more:
        note("More domains exist; raise --limit to see them.")
