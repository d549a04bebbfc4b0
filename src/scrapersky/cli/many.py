"""Acts on rows that were named, one by one; on many: say how many, ask, then do it in parts."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar
from uuid import UUID

import typer
from pydantic import ValidationError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.exits import Exit
from scrapersky.cli.failures import complain
from scrapersky.cli.output import counted, note, out, print_table, table
from scrapersky.cli.session import Opened, run_in_transaction, run_opened
from scrapersky.errors import InvalidInput, ScraperSkyError
from scrapersky.http.lists import BulkAsked, BulkOut, Listing
from scrapersky.http.lists.bulk import MAX_PER_MINUTE
from scrapersky.pipeline.bulk_acts import AT_ONCE

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say how many there are.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Every = Annotated[bool, typer.Option("--all", help="All there are, if nothing else narrows it.")]
Why = Annotated[
    str | None,
    typer.Option(
        "--note", "--why", help="Why, for whoever wonders later. `--why` is the older name."
    ),
]
OlderThan = Annotated[
    str | None, typer.Option(help="Only older than this: an age such as 90m or 2d, or a moment.")
]
NewerThan = Annotated[str | None, typer.Option(help="Only newer than this.")]
PerMinute = Annotated[
    float | None,
    typer.Option(min=0.01, max=MAX_PER_MINUTE, help="Spread them: so many become due in a minute."),
]

T = TypeVar("T")
Deed = Callable[[AsyncSession, Opened, BulkAsked], Awaitable[BulkOut]]
OneDeed = Callable[[AsyncSession, Opened, UUID], Awaitable[T]]


@dataclass(frozen=True)
class Way:
    """How somebody wants it done."""

    done: str
    """What the rows are afterwards: `replayed`."""
    noun: str
    yes: bool
    dry_run: bool


def are_named(ids: Sequence[UUID] | None, given: Mapping[str, Any], *, every: bool) -> bool:
    """Whether they were named by their ids; then nothing else may choose them."""
    if ids and (every or any(given.values())):
        raise InvalidInput("Name them by their ids, or choose them by options; not both.")
    return bool(ids)


def narrowed(listing: Listing, *, every: bool, **given: Any) -> dict[str, Any]:
    """What was typed, as the list's filters take it; nothing at all must be meant."""
    wanted = {name: value for name, value in given.items() if value not in (None, [], ())}
    if not wanted and not every:
        raise InvalidInput("Name them by their ids, narrow them down, or mean all with --all.")
    try:
        return dict(listing.filter_model(**wanted).given())
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0]) if first["loc"] else "It"
        raise InvalidInput(f"{option} does not fit: {first['msg']}.") from None


def do_to_each(
    deed: OneDeed[T],
    ids: Sequence[UUID],
    *,
    tell: Callable[[T], None] = lambda _: None,
    tell_all: Callable[[int], None] = lambda _: None,
) -> int:
    """Each in its own transaction: one that cannot be does not keep the others from it."""

    async def command(everything: Opened) -> int:
        done = 0
        for each in ids:
            try:
                async with everything.database.transaction() as session:
                    result = await deed(session, everything, each)
            except ScraperSkyError as error:
                complain(str(error), Exit.FAILED)
            else:
                done += 1
                tell(result)
        tell_all(done)
        return Exit.OK if done == len(ids) else Exit.FAILED

    return run_opened(command)


def do_to_many(deed: Deed, asked: BulkAsked, way: Way) -> int:
    """Count first. What is asked for after that is bounded by it: rows that fail again meanwhile
    are not taken twice."""
    tried: list[BulkOut] = []
    run_in_transaction(_step(deed, replace(asked, dry_run=True)), tried.append)
    found = tried[0].matched_count
    if way.dry_run or not found:
        return _print_found(tried[0], way)
    if not way.yes:
        _ask(tried[0], way)
    return run_opened(lambda everything: _do(everything, deed, asked, found, way))


def _step(deed: Deed, asked: BulkAsked) -> Callable[[AsyncSession, Opened], Awaitable[BulkOut]]:
    async def step(session: AsyncSession, everything: Opened) -> BulkOut:
        return await deed(session, everything, asked)

    return step


async def _do(everything: Opened, deed: Deed, asked: BulkAsked, found: int, way: Way) -> int:
    """Each part in a transaction of its own: what is done stays done, and locks are short."""
    updated, going_on = 0, True
    while going_on:
        part = replace(asked, limit=min(AT_ONCE, found - updated))
        async with everything.database.transaction() as session:
            done = await deed(session, everything, part)
        updated += done.updated_count
        going_on = bool(done.updated_count) and updated < found
        asked = replace(asked, starting_at=done.last_due_at or asked.starting_at)
        if going_on:
            note(f"{updated:,} of {found:,} {way.done}.")
    out.print(f"{counted(updated, way.noun)} {way.done}.", highlight=False)
    if updated < found:
        note(f"{found - updated:,} left alone: somebody else was faster, or they cannot be.")
    return Exit.OK


def _print_found(found: BulkOut, way: Way) -> int:
    _print_groups(found)
    out.print(f"{counted(found.matched_count, way.noun)} to be {way.done}.", highlight=False)
    return Exit.OK


def _print_groups(found: BulkOut) -> None:
    if found.groups:
        made = table("Stage", "Kind", "Rows", right=["Rows"])
        for each in found.groups:
            made.add_row(each.stage, each.error_class or each.status or "", f"{each.count:,}")
        print_table(made)


def _ask(found: BulkOut, way: Way) -> None:
    confirm(
        f"{counted(found.matched_count, way.noun)} to be {way.done}.",
        show=lambda: _print_groups(found),
    )


def confirm(sentence: str, *, show: Callable[[], None] = lambda: None) -> None:
    """Go on only if somebody says so, who may want to see more before."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"{sentence} Nobody is here to be asked; add --yes if that is meant.")
    show()
    typer.confirm(f"{sentence} Go on?", abort=True, err=True)
