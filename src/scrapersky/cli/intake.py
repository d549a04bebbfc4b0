"""`scrapersky import`: hand in files of domains, sitemaps, pages and businesses."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from scrapersky.cli.exits import Exit
from scrapersky.cli.options import AsJson
from scrapersky.cli.output import counted, note, out
from scrapersky.cli.session import Opened, run_opened
from scrapersky.domains import intake as domain_intake
from scrapersky.errors import InvalidInput
from scrapersky.http.intake import Given, Row, RowStatus, Taken, Trade, take
from scrapersky.http.intake.answers import written
from scrapersky.http.intake.rows import rows_in
from scrapersky.http.intake.taking import Asker
from scrapersky.pages import intake as page_intake
from scrapersky.places.importing import import_places
from scrapersky.sitemaps import handing_in

app = typer.Typer(
    help="Hand in files of domains, sitemaps, pages or businesses.", no_args_is_help=True
)

STANDARD_INPUT = "-"
ROWS_OF_A_TRANSACTION = 50_000
MOST_SHOWN = 20

TableFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A CSV file with any delimiter, with a header or without, or one per line; "
        "- reads standard input.",
    ),
]
Queue = Annotated[
    bool, typer.Option("--queue/--no-queue", help="Begin the work on them, or only store them.")
]
ColumnName = Annotated[
    str | None,
    typer.Option(
        "--column", help="The column to read: its name, or its number. Left out: the usual one."
    ),
]


@app.command()
def domains(
    file: TableFile, queue: Queue = True, column: ColumnName = None, as_json: AsJson = False
) -> int:
    """Domains: their home pages are read and their sitemaps looked for."""
    return _import(domain_intake.HAND_IN, file, column, queue=queue, as_json=as_json)


@app.command()
def sitemaps(
    file: TableFile, queue: Queue = True, column: ColumnName = None, as_json: AsJson = False
) -> int:
    """Sitemaps by their addresses: fetched, and their URLs become pages."""
    return _import(handing_in.HAND_IN, file, column, queue=queue, as_json=as_json)


@app.command()
def pages(
    file: TableFile, queue: Queue = True, column: ColumnName = None, as_json: AsJson = False
) -> int:
    """Pages by their addresses: read for contacts."""
    return _import(page_intake.HAND_IN, file, column, queue=queue, as_json=as_json)


@app.command()
def places(
    file: TableFile,
    queue: Queue = True,
    region: Annotated[
        str | None, typer.Option(help="The country, in two letters, of numbers without a code.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Businesses with their columns known by name: each becomes a lead."""

    async def command(everything: Opened) -> int:
        where = region or everything.settings.places_region or None
        with _opened_file(file) as source:
            async with everything.database.transaction() as session:
                asker = Asker(session, everything.actor, everything.settings, queue)
                taken = await import_places(asker, source, region=where)
        _print_json(taken.rows) if as_json else _print(taken.rows, "place")
        return _exit_code(taken.rows)

    return run_opened(command)


def _import(trade: Trade, file: str, column: str | None, *, queue: bool, as_json: bool) -> int:
    async def command(everything: Opened) -> int:
        with _opened_file(file) as source:
            rows = await _take(everything, trade, rows_in(source, trade.kind, column), queue)
        _print_json(rows) if as_json else _print(rows, trade.kind.noun)
        return _exit_code(rows)

    return run_opened(command)


def _opened_file(file: str) -> AbstractContextManager[BinaryIO]:
    if file == STANDARD_INPUT:
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error


async def _take(everything: Opened, trade: Trade, given: Iterator[Given], queue: bool) -> list[Row]:
    """However long the file is: each part in a transaction of its own, so that what is stored
    stays stored."""
    rows: list[Row] = []
    seen: dict[Any, int] = {}
    while part := list(islice(given, ROWS_OF_A_TRANSACTION)):
        async with everything.database.transaction() as session:
            asker = Asker(session, everything.actor, everything.settings, queue)
            rows += (await take(asker, trade, part, seen)).rows
        if len(part) == ROWS_OF_A_TRANSACTION:
            note(f"{len(rows):,} rows so far.")
    return rows


def _print_json(rows: Sequence[Row]) -> None:
    for part in written(Taken(rows)):
        sys.stdout.write(part)


def _print(rows: Sequence[Row], noun: str) -> None:
    bad = [row for row in rows if row.status is RowStatus.INVALID]
    for row in bad[:MOST_SHOWN]:
        note(f"line {row.line}: {row.input}: {row.error}")
    if len(bad) > MOST_SHOWN:
        note(f"{len(bad) - MOST_SHOWN:,} more rows could not be taken; --json tells of each.")
    found = Counter(row.status for row in rows)
    facts = [f"{counted(found[RowStatus.CREATED], noun)} added"]
    for status, words in (
        (RowStatus.EXISTS, "there already"),
        (RowStatus.DUPLICATE, "repeated"),
        (RowStatus.INVALID, "not taken"),
    ):
        facts += [f"{found[status]:,} {words}"] if found[status] else []
    out.print(f"{', '.join(facts)}; {_queued(rows)}.", highlight=False)


def _queued(rows: Sequence[Row]) -> str:
    queued = sum(row.queued for row in rows)
    return f"{queued:,} queued" if queued else "none queued"


def _exit_code(rows: Sequence[Row]) -> Exit:
    invalid = sum(row.status is RowStatus.INVALID for row in rows)
    if invalid == len(rows):
        return Exit.FAILED
    return Exit.PARTIAL if invalid else Exit.OK
