"""`scrapersky dead-letter`: list, show, replay and discard dead letters."""

from __future__ import annotations

from collections.abc import Callable
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
    format_count,
    out,
    print_json,
)
from scrapersky.cli.rows import list_rows
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
    query = ListQuery({**given, **_resolve_stage_names(given), **every_state}, limit=limit)

    build = DeadLetterOut.model_validate
    return list_rows(DEAD_LETTER_LISTING, query, "dead letter", build, as_json=as_json)


def _resolve_stage_names(filters: FilterValues) -> FilterValues:
    """Resolve stage names. An unknown stage raises `NotFound` instead of matching no rows."""
    names = [service.find_stage(STAGES, each).name for each in filters.get("stage", ())]
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


@app.command()
def show(letter_id: LetterId, as_json: AsJson = False) -> int:
    """Show a dead letter with the traceback of its last attempt."""

    async def step(session: AsyncSession, context: CommandContext) -> DeadLetterDetail:
        letter = await service.get_dead_letter(session, context.actor, letter_id)
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

    async def one(session: AsyncSession, context: CommandContext, letter_id: UUID) -> DeadLetter:
        return await service.replay_dead_letter(session, context.actor, letter_id, STAGES)

    async def many(
        session: AsyncSession, context: CommandContext, bulk_request: BulkRequest
    ) -> BulkOut:
        return await service.replay_dead_letters(session, context.actor, STAGES, bulk_request)

    filters = _build_letter_filters(stage, error_class, text, older_than, newer_than)
    if has_ids(ids, filters, every=every):
        return run_for_each(one, ids or [], tell_all=_build_count_printer("replayed"))
    bulk_request = BulkRequest(
        build_filters(DEAD_LETTER_LISTING, every=every, **filters), note=why, per_minute=per_minute
    )
    return run_bulk(
        many, bulk_request, BulkCommandOptions("replayed", "dead letter", yes=yes, dry_run=dry_run)
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

    async def one(session: AsyncSession, context: CommandContext, letter_id: UUID) -> DeadLetter:
        return await service.discard_dead_letter(session, context.actor, letter_id, note=why)

    async def many(
        session: AsyncSession, context: CommandContext, bulk_request: BulkRequest
    ) -> BulkOut:
        return await service.discard_dead_letters(session, context.actor, bulk_request)

    filters = _build_letter_filters(stage, error_class, text, older_than, newer_than)
    if has_ids(ids, filters, every=every):
        return run_for_each(one, ids or [], tell_all=_build_count_printer("discarded"))
    bulk_request = BulkRequest(build_filters(DEAD_LETTER_LISTING, every=every, **filters), note=why)
    return run_bulk(
        many, bulk_request, BulkCommandOptions("discarded", "dead letter", yes=yes, dry_run=dry_run)
    )


def _build_count_printer(done: str) -> Callable[[int], None]:
    return lambda count: out.print(f"{format_count(count, 'dead letter')} {done}.", highlight=False)
