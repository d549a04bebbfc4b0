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


def has_ids(ids: Sequence[UUID] | None, given: Mapping[str, Any], *, every: bool) -> bool:
    """Return whether rows were given by id. Raise `InvalidInput` if filters were given as well."""
    if ids and (every or any(given.values())):
        raise InvalidInput("Select rows either by id or by filter options, not both.")
    return bool(ids)


def build_filters(listing: Listing, *, every: bool, **given: Any) -> dict[str, Any]:
    """Validate options as filters of the listing. An empty selection requires `every` (--all)."""
    wanted = {name: value for name, value in given.items() if value not in (None, [], ())}
    if not wanted and not every:
        raise InvalidInput("No rows selected. Give ids, a filter option, or --all.")
    try:
        return dict(listing.filter_model(**wanted).get_values())
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0]) if first["loc"] else "The filter"
        raise InvalidInput(f"{option} is invalid: {first['msg']}.") from None


def run_for_each(
    deed: RowStep[T],
    ids: Sequence[UUID],
    *,
    tell: Callable[[T], None] = lambda _: None,
    tell_all: Callable[[int], None] = lambda _: None,
) -> int:
    """Run the operation for each id in a separate transaction, so that one failure does not roll
    back the others.
    """

    async def command(everything: CommandContext) -> int:
        done = 0
        for each in ids:
            try:
                async with everything.database.transaction() as session:
                    result = await deed(session, everything, each)
            except ScraperSkyError as error:
                print_error(str(error), ExitCode.FAILED)
            else:
                done += 1
                tell(result)
        tell_all(done)
        return ExitCode.OK if done == len(ids) else ExitCode.FAILED

    return run_with_context(command)


def run_bulk(deed: BulkStep, asked: BulkRequest, way: BulkCommandOptions) -> int:
    """Count the matching rows, confirm, then process them in batches.

    The count bounds the run: rows that fail again in the meantime are not processed twice.
    """
    tried: list[BulkOut] = []
    run_in_transaction(_build_step(deed, replace(asked, dry_run=True)), tried.append)
    found = tried[0].matched_count
    if way.dry_run or not found:
        return _print_matches(tried[0], way)
    if not way.yes:
        _confirm_bulk(tried[0], way)
    return run_with_context(lambda everything: _run_batches(everything, deed, asked, found, way))


def _build_step(
    deed: BulkStep, asked: BulkRequest
) -> Callable[[AsyncSession, CommandContext], Awaitable[BulkOut]]:
    async def step(session: AsyncSession, everything: CommandContext) -> BulkOut:
        return await deed(session, everything, asked)

    return step


async def _run_batches(
    everything: CommandContext,
    deed: BulkStep,
    asked: BulkRequest,
    found: int,
    way: BulkCommandOptions,
) -> int:
    """Process batches in separate transactions: finished batches persist, and locks are held
    briefly.
    """
    updated, going_on = 0, True
    while going_on:
        part = replace(asked, limit=min(MAX_BULK_ROWS, found - updated))
        async with everything.database.transaction() as session:
            done = await deed(session, everything, part)
        updated += done.updated_count
        going_on = bool(done.updated_count) and updated < found
        asked = replace(asked, starting_at=done.last_due_at or asked.starting_at)
        if going_on:
            note(f"{updated:,} of {found:,} {way.done}.")
    out.print(f"{format_count(updated, way.noun)} {way.done}.", highlight=False)
    if updated < found:
        note(f"{found - updated:,} skipped: changed in the meantime, or not eligible.")
    return ExitCode.OK


def _print_matches(found: BulkOut, way: BulkCommandOptions) -> int:
    _print_groups(found)
    out.print(f"{format_count(found.matched_count, way.noun)} will be {way.done}.", highlight=False)
    return ExitCode.OK


def _print_groups(found: BulkOut) -> None:
    if found.groups:
        made = build_table("Stage", "Kind", "Rows", right=["Rows"])
        for each in found.groups:
            made.add_row(each.stage, each.error_class or each.status or "", f"{each.count:,}")
        print_table(made)


def _confirm_bulk(found: BulkOut, way: BulkCommandOptions) -> None:
    confirm(
        f"{format_count(found.matched_count, way.noun)} will be {way.done}.",
        show=lambda: _print_groups(found),
    )


def confirm(sentence: str, *, show: Callable[[], None] = lambda: None) -> None:
    """Show details and ask for confirmation. Raise `InvalidInput` without a terminal."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"{sentence} Standard input is not a terminal; add --yes to confirm.")
    show()
    typer.confirm(f"{sentence} Continue?", abort=True, err=True)
