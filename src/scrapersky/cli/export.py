"""`scrapersky export`: all rows of a list that fit, as a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import typer

from scrapersky.accounts.tenants import acting_in
from scrapersky.cli.file_formats import choose_format, note_written
from scrapersky.cli.files import replacing
from scrapersky.cli.filters import Filters, read_filters
from scrapersky.cli.many import narrowed
from scrapersky.cli.options import OfTenant
from scrapersky.cli.session import Opened, run_opened
from scrapersky.cli.typed import order_of
from scrapersky.contacts.exporting import EXPORT as CONTACTS
from scrapersky.domains.exporting import EXPORT as DOMAINS
from scrapersky.errors import InvalidInput
from scrapersky.http.exports import Counts
from scrapersky.http.lists import Export
from scrapersky.http.lists.export_files import Pieces, export_file
from scrapersky.http.lists.exporting import ExportAsked, Format
from scrapersky.jobs.exporting import EXPORT as JOBS
from scrapersky.leads.exporting import EXPORT as LEADS
from scrapersky.pages.exporting import EXPORT as PAGES
from scrapersky.sitemaps.exporting import EXPORT as SITEMAP_FILES

EXPORTS = (LEADS, CONTACTS, DOMAINS, PAGES, SITEMAP_FILES, JOBS)
STANDARD_OUTPUT = "-"
FOR_PROGRAMS = (Format.XLSX, Format.PARQUET)

app = typer.Typer(help="All rows of a list that fit, as a file.", no_args_is_help=True)

As = Annotated[
    Format | None,
    typer.Option("--format", help="File format; as the output file is named, else csv."),
]
Columns = Annotated[str | None, typer.Option(help="Which, in this order, with commas between.")]
Sort = Annotated[str | None, typer.Option(help="As in the list; highest first with a minus.")]
Bom = Annotated[bool, typer.Option("--bom", help="For CSV: the mark by which Excel knows UTF-8.")]
Output = Annotated[
    str, typer.Option("--output", "-o", help="Write to this file, whole or not at all.")
]


def _exporting(export: Export) -> Callable[..., int]:
    """The command for rows of one kind."""

    def write(
        format: As = None,
        columns: Columns = None,
        filters: Filters = None,
        sort: Sort = None,
        bom: Bom = False,
        output: Output = STANDARD_OUTPUT,
        tenant: OfTenant = None,
    ) -> int:
        given = narrowed(export.listing, every=True, **read_filters(filters or ()))
        order = None if sort is None else order_of(export.listing, sort)
        file = None if output == STANDARD_OUTPUT else Path(output)
        chosen = choose_format(format, file, default=Format.CSV)
        asked = ExportAsked(given, order, chosen, columns, bom)
        export.fields(columns)
        _refuse_screen(chosen, file)

        async def command(everything: Opened) -> None:
            async with everything.database.reading() as session:
                actor = await acting_in(session, everything.actor, tenant)
            counts = Counts()
            pieces = await export_file(everything.database, export, actor, asked, counts=counts)
            async with aclosing(pieces):
                await _write(pieces, file)
            if file is not None:
                note_written(counts.rows, "row", file)

        return run_opened(command)

    return write


def _refuse_screen(format: Format, file: Path | None) -> None:
    if format in FOR_PROGRAMS and file is None and sys.stdout.isatty():
        raise InvalidInput(f"{format} is binary; write it to a file with -o.")


async def _write(pieces: Pieces, file: Path | None) -> None:
    if file is None:
        async for piece in pieces:
            sys.stdout.buffer.write(piece)
        return
    with replacing(file) as path, path.open("wb") as opened:
        async for piece in pieces:
            opened.write(piece)


for each in EXPORTS:
    noun = each.rows.replace("-", " ")
    app.command(each.rows, help=f"Export {noun}.")(_exporting(each))
