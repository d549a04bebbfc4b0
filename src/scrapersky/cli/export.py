"""`scrapersky export`: export all matching rows of a list to a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import typer

from scrapersky.auth.tenants import switch_tenant
from scrapersky.cli.bulk import build_filters
from scrapersky.cli.files import choose_format, note_written, replace_atomically
from scrapersky.cli.options import FilterOption, TenantOption, check_sort, parse_filters
from scrapersky.cli.session import CommandContext, run_with_context
from scrapersky.contacts.listing import EXPORT as CONTACTS
from scrapersky.domains.listing import EXPORT as DOMAINS
from scrapersky.errors import InvalidInput
from scrapersky.jobs.listing import EXPORT as JOBS
from scrapersky.leads.listing import EXPORT as LEADS
from scrapersky.lists import Export
from scrapersky.lists.export import ExportCounts
from scrapersky.lists.exports import ByteStream, ExportFormat, ExportRequest, stream_export
from scrapersky.pages.listing import EXPORT as PAGES
from scrapersky.sitemaps.listing import EXPORT as SITEMAP_FILES

EXPORTS = (LEADS, CONTACTS, DOMAINS, PAGES, SITEMAP_FILES, JOBS)
STANDARD_OUTPUT = "-"
BINARY_FORMATS = (ExportFormat.XLSX, ExportFormat.PARQUET)

app = typer.Typer(help="Export all matching rows of a list to a file.", no_args_is_help=True)

FormatOption = Annotated[
    ExportFormat | None,
    typer.Option("--format", help="File format. Default: from the file name, else csv."),
]
Columns = Annotated[str | None, typer.Option(help="Comma-separated columns, in this order.")]
Sort = Annotated[
    str | None, typer.Option(help="Sort order of the list; prefix with - for descending.")
]
Bom = Annotated[
    bool, typer.Option("--bom", help="Start CSV files with a byte order mark, for Excel.")
]
Output = Annotated[str, typer.Option("--output", "-o", help="Output file; written atomically.")]


def _build_command(export: Export) -> Callable[..., int]:

    def write(
        format: FormatOption = None,
        columns: Columns = None,
        filters: FilterOption = None,
        sort: Sort = None,
        bom: Bom = False,
        output: Output = STANDARD_OUTPUT,
        tenant: TenantOption = None,
    ) -> int:
        values = build_filters(export.listing, every=True, **parse_filters(filters or ()))
        order = None if sort is None else check_sort(export.listing, sort)
        file = None if output == STANDARD_OUTPUT else Path(output)
        chosen = choose_format(format, file, default=ExportFormat.CSV)
        request = ExportRequest(values, order, chosen, columns, bom)
        export.fields(columns)
        _refuse_terminal(chosen, file)

        async def command(context: CommandContext) -> None:
            async with context.database.reading() as session:
                actor = await switch_tenant(session, context.actor, tenant)
            counts = ExportCounts()
            pieces = await stream_export(context.database, export, actor, request, counts=counts)
            async with aclosing(pieces):
                await _write(pieces, file)
            if file is not None:
                note_written(counts.rows, "row", file)

        return run_with_context(command)

    return write


def _refuse_terminal(format: ExportFormat, file: Path | None) -> None:
    if format in BINARY_FORMATS and file is None and sys.stdout.isatty():
        raise InvalidInput(f"{format} is binary; write it to a file with -o.")


async def _write(pieces: ByteStream, file: Path | None) -> None:
    if file is None:
        async for piece in pieces:
            sys.stdout.buffer.write(piece)
        return
    with replace_atomically(file) as path, path.open("wb") as opened:
        async for piece in pieces:
            opened.write(piece)


for each in EXPORTS:
    noun = each.rows.replace("-", " ")
    app.command(each.rows, help=f"Export {noun}.")(_build_command(each))
