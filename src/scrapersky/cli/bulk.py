"""Run an operation on rows given by id, or on all matching rows in batches after confirmation."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar
from uuid import UUID

import typer
from pydantic import ValidationError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.errors import ExitCode, print_error
from scrapersky.cli.output import build_table, format_count, note, out, print_table
from scrapersky.cli.session import CommandContext, run_in_transaction, run_with_context
from scrapersky.errors import InvalidInput, ScraperSkyError
from scrapersky.lists import BulkOut, BulkRequest, Listing
from scrapersky.lists.bulk import MAX_PER_MINUTE
from scrapersky.pipeline.bulk import MAX_BULK_ROWS

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count the matching rows.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation prompt.")]
AllOption = Annotated[bool, typer.Option("--all", help="Select all rows when no filter is given.")]
NoteOption = Annotated[
    str | None,
    typer.Option(
        "--note", "--why", help="Reason, stored with the change. `--why` is the older name."
    ),
]
OlderThan = Annotated[
    str | None, typer.Option(help="Only rows older than an age (90m, 2d) or a time.")
]
NewerThan = Annotated[str | None, typer.Option(help="Only rows newer than an age or a time.")]
PerMinute = Annotated[
    float | None,
    typer.Option(min=0.01, max=MAX_PER_MINUTE, help="Spread the rows: N become due per minute."),
]

T = TypeVar("T")
BulkStep = Callable[[AsyncSession, CommandContext, BulkRequest], Awaitable[BulkOut]]
RowStep = Callable[[AsyncSession, CommandContext, UUID], Awaitable[T]]


@dataclass(frozen=True)
class BulkCommandOptions:
    """Options of a bulk command."""

    done: str
    """Past participle for messages: `replayed`."""
    noun: str
    yes: bool
    dry_run: bool


def has_ids(ids: Sequence[UUID] | None, values: Mapping[str, Any], *, every: bool) -> bool:
    """Return whether rows were given by id. Raise `InvalidInput` if filters were given as well."""
    if ids and (every or any(values.values())):
        raise InvalidInput("Select rows either by id or by filter options, not both.")
    return bool(ids)


def build_filters(listing: Listing, *, every: bool, **values: Any) -> dict[str, Any]:
    """Validate options as filters of the listing. An empty selection requires `every` (--all)."""
    filters = {name: value for name, value in values.items() if value not in (None, [], ())}
    if not filters and not every:
        raise InvalidInput("No rows selected. Give ids, a filter option, or --all.")
    try:
        return dict(listing.filter_model(**filters).get_values())
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0]) if first["loc"] else "The filter"
        raise InvalidInput(f"{option} is invalid: {first['msg']}.") from None


def run_for_each(
    operation: RowStep[T],
    ids: Sequence[UUID],
    *,
    tell: Callable[[T], None] = lambda _: None,
    tell_all: Callable[[int], None] = lambda _: None,
) -> int:
    """Run the operation for each id in a separate transaction, so that one failure does not roll
    back the others.
    """

    async def command(context: CommandContext) -> int:
        done = 0
        for each in ids:
            try:
                async with context.database.transaction() as session:
                    result = await operation(session, context, each)
            except ScraperSkyError as error:
                print_error(str(error), ExitCode.FAILED)
            else:
                done += 1
                tell(result)
        tell_all(done)
        return ExitCode.OK if done == len(ids) else ExitCode.FAILED

    return run_with_context(command)


def run_bulk(operation: BulkStep, bulk_request: BulkRequest, way: BulkCommandOptions) -> int:
    """Count the matching rows, confirm, then process them in batches.

    The count bounds the run: rows that fail again in the meantime are not processed twice.
    """
    tried: list[BulkOut] = []
    run_in_transaction(_build_step(operation, replace(bulk_request, dry_run=True)), tried.append)
    total = tried[0].matched_count
    if way.dry_run or not total:
        return _print_matches(tried[0], way)
    if not way.yes:
        _confirm_bulk(tried[0], way)
    return run_with_context(
        lambda context: _run_batches(context, operation, bulk_request, total, way)
    )


def _build_step(
    operation: BulkStep, bulk_request: BulkRequest
) -> Callable[[AsyncSession, CommandContext], Awaitable[BulkOut]]:
    async def step(session: AsyncSession, context: CommandContext) -> BulkOut:
        return await operation(session, context, bulk_request)

    return step


async def _run_batches(
    context: CommandContext,
    operation: BulkStep,
    bulk_request: BulkRequest,
    total: int,
    way: BulkCommandOptions,
) -> int:
    """Process batches in separate transactions: finished batches persist, and locks are held
    briefly.
    """
    updated, going_on = 0, True
    while going_on:
        part = replace(bulk_request, limit=min(MAX_BULK_ROWS, total - updated))
        async with context.database.transaction() as session:
            done = await operation(session, context, part)
        updated += done.updated_count
        going_on = bool(done.updated_count) and updated < total
        bulk_request = replace(
            bulk_request, starting_at=done.last_due_at or bulk_request.starting_at
        )
        if going_on:
            note(f"{updated:,} of {total:,} {way.done}.")
    out.print(f"{format_count(updated, way.noun)} {way.done}.", highlight=False)
    if updated < total:
        note(f"{total - updated:,} skipped: changed in the meantime, or not eligible.")
    return ExitCode.OK


def _print_matches(result: BulkOut, way: BulkCommandOptions) -> int:
    _print_groups(result)
    out.print(
        f"{format_count(result.matched_count, way.noun)} will be {way.done}.", highlight=False
    )
    return ExitCode.OK


def _print_groups(result: BulkOut) -> None:
    if result.groups:
        table = build_table("Stage", "Kind", "Rows", right=["Rows"])
        for each in result.groups:
            table.add_row(each.stage, each.error_class or each.status or "", f"{each.count:,}")
        print_table(table)


def _confirm_bulk(result: BulkOut, way: BulkCommandOptions) -> None:
    confirm(
        f"{format_count(result.matched_count, way.noun)} will be {way.done}.",
        show=lambda: _print_groups(result),
    )


def confirm(sentence: str, *, show: Callable[[], None] = lambda: None) -> None:
    """Show details and ask for confirmation. Raise `InvalidInput` without a terminal."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"{sentence} Standard input is not a terminal; add --yes to confirm.")
    show()
    typer.confirm(f"{sentence} Continue?", abort=True, err=True)
