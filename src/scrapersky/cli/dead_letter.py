"""`scrapersky dead-letter`: list, show, replay and discard dead letters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.bulk import (
    AllOption,
    BulkCommandOptions,
    DryRun,
    NewerThan,
    NoteOption,
    OlderThan,
    PerMinute,
    Yes,
    build_filters,
    has_ids,
    run_bulk,
    run_for_each,
)
from scrapersky.cli.options import AsJson, Limit, add_filter_options
from scrapersky.cli.output import (
    build_table,
    format_count,
    format_status,
    format_time,
    out,
    print_json,
    print_table,
)
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.lists import BulkOut, BulkRequest, ListQuery
from scrapersky.lists.filters import FilterValues
from scrapersky.operations import service
from scrapersky.operations.listing import DEAD_LETTER_LISTING
from scrapersky.operations.schemas import DeadLetterDetail, DeadLetterOut
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState
from scrapersky.stages import STAGES

app = typer.Typer(help="List, replay and discard dead letters.", no_args_is_help=True)

LetterId = Annotated[
    UUID, typer.Argument(help="Dead letter id; see `scrapersky dead-letter list`.")
]
LetterIds = Annotated[list[UUID] | None, typer.Argument(help="Dead letter ids.")]
OfStages = Annotated[list[str] | None, typer.Option("--stage", help="Only this stage. Repeatable.")]
OfErrorClass = Annotated[list[str] | None, typer.Option(help="Only this error class. Repeatable.")]
OfText = Annotated[str | None, typer.Option(help="Only rows with this text in the error or note.")]
Closed = Annotated[bool, typer.Option("--all", help="Include closed dead letters.")]


@app.command("list")
@add_filter_options(DEAD_LETTER_LISTING, died_until="--older-than", died_since="--newer-than")
def list_letters(
    given: FilterValues, every: Closed = False, limit: Limit = 50, as_json: AsJson = False
) -> int:
    """List dead letters, newest first."""
    every_state = {"state": [each.value for each in DeadLetterState]} if every else {}
    asked = ListQuery({**given, **_resolve_stage_names(given), **every_state}, limit=limit)

    async def step(session: AsyncSession, everything: CommandContext) -> Sequence[DeadLetter]:
        return (await DEAD_LETTER_LISTING.show(session, everything.actor, asked)).rows

    def show(letters: Sequence[DeadLetter]) -> None:
        if as_json:
            print_json([DeadLetterOut.model_validate(each) for each in letters])
        else:
            _print_letters(letters)

    return run_in_transaction(step, show)


def _resolve_stage_names(given: FilterValues) -> FilterValues:
    """Resolve stage names. An unknown stage raises `NotFound` instead of matching no rows."""
    names = [service.find_stage(STAGES, each).name for each in given.get("stage", ())]
    return {"stage": names} if names else {}


def _build_letter_filters(
    stages: list[str] | None,
    error_class: list[str] | None,
    text: str | None,
    older_than: str | None,
    newer_than: str | None,
) -> dict[str, Any]:
    return {
        **_resolve_stage_names({"stage": stages or ()}),
        "error_class": error_class,
        "text": text,
        "died_until": older_than,
        "died_since": newer_than,
    }


def _print_letters(letters: Sequence[DeadLetter]) -> None:
    if not letters:
        out.print("No dead letters.")
        return
    made = build_table("Letter", "Stage", "State", "Attempts", "Died", "Error")
    for each in letters:
        words = (str(each.id), each.stage, format_status(each.state), str(each.attempts))
        made.add_row(*words, format_time(each.died_at), escape(each.error))
    print_table(made)


@app.command()
def show(letter_id: LetterId, as_json: AsJson = False) -> int:
    """Show a dead letter with the traceback of its last attempt."""

    async def step(session: AsyncSession, everything: CommandContext) -> DeadLetterDetail:
        letter = await service.get_dead_letter(session, everything.actor, letter_id)
        return DeadLetterDetail.model_validate(letter)

    def print_result(letter: DeadLetterDetail) -> None:
        if as_json:
            print_json(letter)
            return
        for name, value in letter.model_dump(exclude_none=True).items():
            out.print(f"[bold]{name}[/bold] {escape(str(value))}", highlight=False, soft_wrap=True)

    return run_in_transaction(step, print_result)


@app.command()
def replay(
    ids: LetterIds = None,
    every: AllOption = False,
    stage: OfStages = None,
    error_class: OfErrorClass = None,
    text: OfText = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    per_minute: PerMinute = None,
    why: NoteOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Replay dead letters: queue their rows again with all attempts restored."""

    async def one(session: AsyncSession, everything: CommandContext, letter_id: UUID) -> DeadLetter:
        return await service.replay_dead_letter(session, everything.actor, letter_id, STAGES)

    async def many(
        session: AsyncSession, everything: CommandContext, asked: BulkRequest
    ) -> BulkOut:
        return await service.replay_dead_letters(session, everything.actor, STAGES, asked)

    given = _build_letter_filters(stage, error_class, text, older_than, newer_than)
    if has_ids(ids, given, every=every):
        return run_for_each(one, ids or [], tell_all=_build_count_printer("replayed"))
    asked = BulkRequest(
        build_filters(DEAD_LETTER_LISTING, every=every, **given), note=why, per_minute=per_minute
    )
    return run_bulk(
        many, asked, BulkCommandOptions("replayed", "dead letter", yes=yes, dry_run=dry_run)
    )


@app.command()
def discard(
    ids: LetterIds = None,
    every: AllOption = False,
    stage: OfStages = None,
    error_class: OfErrorClass = None,
    text: OfText = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    why: NoteOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Discard dead letters. Their rows stay failed."""

    async def one(session: AsyncSession, everything: CommandContext, letter_id: UUID) -> DeadLetter:
        return await service.discard_dead_letter(session, everything.actor, letter_id, note=why)

    async def many(
        session: AsyncSession, everything: CommandContext, asked: BulkRequest
    ) -> BulkOut:
        return await service.discard_dead_letters(session, everything.actor, asked)

    given = _build_letter_filters(stage, error_class, text, older_than, newer_than)
    if has_ids(ids, given, every=every):
        return run_for_each(one, ids or [], tell_all=_build_count_printer("discarded"))
    asked = BulkRequest(build_filters(DEAD_LETTER_LISTING, every=every, **given), note=why)
    return run_bulk(
        many, asked, BulkCommandOptions("discarded", "dead letter", yes=yes, dry_run=dry_run)
    )


def _build_count_printer(done: str) -> Callable[[int], None]:
    return lambda count: out.print(f"{format_count(count, 'dead letter')} {done}.", highlight=False)
