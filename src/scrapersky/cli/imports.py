"""`scrapersky import`: import files of domains, sitemaps, pages and places."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from scrapersky.cli.errors import ExitCode
from scrapersky.cli.options import AsJson
from scrapersky.cli.output import format_count, note, out
from scrapersky.cli.session import CommandContext, run_with_context
from scrapersky.domains import service as domain_intake
from scrapersky.errors import InvalidInput
from scrapersky.lists.imports import (
    Importer,
    ImportResult,
    ImportRow,
    ImportRowStatus,
    InputRow,
    import_rows,
)
from scrapersky.lists.imports.rows import ImportContext, read_csv_rows
from scrapersky.lists.imports.schemas import encode_result
from scrapersky.pages import service as page_intake
from scrapersky.places.search.imports import import_places
from scrapersky.sitemaps import service

app = typer.Typer(
    help="Import domains, sitemaps, pages or businesses from a file.", no_args_is_help=True
)

STANDARD_INPUT = "-"
ROWS_PER_TRANSACTION = 50_000
MAX_ERRORS_SHOWN = 20

TableFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV file (any delimiter, header optional) or one value per line; "
        "- reads standard input.",
    ),
]
Queue = Annotated[
    bool, typer.Option("--queue/--no-queue", help="Queue the imported rows, or only store them.")
]
ColumnName = Annotated[
    str | None,
    typer.Option("--column", help="Column to read, by name or number. Default: detected."),
]


@app.command()
def domains(
    file: TableFile, queue: Queue = True, column: ColumnName = None, as_json: AsJson = False
) -> int:
    """Import domains: read their home pages and find their sitemaps."""
    return _import_file(domain_intake.DOMAIN_IMPORT, file, column, queue=queue, as_json=as_json)


@app.command()
def sitemaps(
    file: TableFile, queue: Queue = True, column: ColumnName = None, as_json: AsJson = False
) -> int:
    """Import sitemap URLs: fetch each sitemap and turn its URLs into pages."""
    return _import_file(service.SITEMAP_IMPORT, file, column, queue=queue, as_json=as_json)


@app.command()
def pages(
    file: TableFile, queue: Queue = True, column: ColumnName = None, as_json: AsJson = False
) -> int:
    """Import page URLs: read each page for contacts."""
    return _import_file(page_intake.PAGE_IMPORT, file, column, queue=queue, as_json=as_json)


@app.command()
def places(
    file: TableFile,
    queue: Queue = True,
    region: Annotated[
        str | None, typer.Option(help="Two-letter country of phone numbers without a country code.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Import businesses from a CSV file with named columns. Each becomes a lead."""

    async def command(context: CommandContext) -> int:
        where = region or context.settings.places_region or None
        with _open_file(file) as source:
            async with context.database.transaction() as session:
                import_context = ImportContext(session, context.actor, context.settings, queue)
                imported = await import_places(import_context, source, region=where)
        _print_json(imported.rows) if as_json else _print_summary(imported.rows, "place")
        return _get_exit_code(imported.rows)

    return run_with_context(command)


def _import_file(
    trade: Importer, file: str, column: str | None, *, queue: bool, as_json: bool
) -> int:
    async def command(context: CommandContext) -> int:
        with _open_file(file) as source:
            rows = await _store_rows(
                context, trade, read_csv_rows(source, trade.kind, column), queue
            )
        _print_json(rows) if as_json else _print_summary(rows, trade.kind.noun)
        return _get_exit_code(rows)

    return run_with_context(command)


def _open_file(file: str) -> AbstractContextManager[BinaryIO]:
    if file == STANDARD_INPUT:
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise InvalidInput(f"Cannot read {file}: {error.strerror}.") from error


async def _store_rows(
    context: CommandContext, trade: Importer, input_rows: Iterator[InputRow], queue: bool
) -> list[ImportRow]:
    """Store a file of any length in batches, each in a separate transaction, so that stored rows
    persist.
    """
    rows: list[ImportRow] = []
    seen: dict[Any, int] = {}
    while part := list(islice(input_rows, ROWS_PER_TRANSACTION)):
        async with context.database.transaction() as session:
            import_context = ImportContext(session, context.actor, context.settings, queue)
            rows += (await import_rows(import_context, trade, part, seen)).rows
        if len(part) == ROWS_PER_TRANSACTION:
            note(f"{format_count(len(rows), 'row')} imported so far.")
    return rows


def _print_json(rows: Sequence[ImportRow]) -> None:
    for part in encode_result(ImportResult(rows)):
        sys.stdout.write(part)


def _print_summary(rows: Sequence[ImportRow], noun: str) -> None:
    bad = [row for row in rows if row.status is ImportRowStatus.INVALID]
    for row in bad[:MAX_ERRORS_SHOWN]:
        note(f"line {row.line}: {row.input}: {row.error}")
    if len(bad) > MAX_ERRORS_SHOWN:
        note(f"{len(bad) - MAX_ERRORS_SHOWN:,} more rows were invalid; --json lists all of them.")
    by_status = Counter(row.status for row in rows)
    facts = [f"{format_count(by_status[ImportRowStatus.CREATED], noun)} added"]
    for status, words in (
        (ImportRowStatus.EXISTS, "already stored"),
        (ImportRowStatus.DUPLICATE, "duplicate"),
        (ImportRowStatus.INVALID, "invalid"),
    ):
        facts += [f"{by_status[status]:,} {words}"] if by_status[status] else []
    out.print(f"{', '.join(facts)}; {_format_queued(rows)}.", highlight=False)


def _format_queued(rows: Sequence[ImportRow]) -> str:
    queued = sum(row.queued for row in rows)
    return f"{queued:,} queued" if queued else "none queued"


def _get_exit_code(rows: Sequence[ImportRow]) -> ExitCode:
    invalid = sum(row.status is ImportRowStatus.INVALID for row in rows)
    if invalid == len(rows):
        return ExitCode.FAILED
    return ExitCode.PARTIAL if invalid else ExitCode.OK
