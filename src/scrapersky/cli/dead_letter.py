"""`scrapersky dead-letter`: rows that were given up; look, replay, discard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.list_options import narrowed_by
from scrapersky.cli.many import (
    DryRun,
    Every,
    NewerThan,
    OlderThan,
    PerMinute,
    Way,
    Why,
    Yes,
    are_named,
    do_to_each,
    do_to_many,
    narrowed,
)
from scrapersky.cli.options import AsJson, Limit
from scrapersky.cli.output import counted, out, print_json, print_table, status, table, when
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.http.lists import Asked, BulkAsked, BulkOut
from scrapersky.http.lists.filters import Given
from scrapersky.operations import bulk, service
from scrapersky.operations.listing import LETTERS
from scrapersky.operations.schemas import DeadLetterDetail, DeadLetterOut
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState
from scrapersky.stages import STAGES

app = typer.Typer(help="See, replay or discard rows that were given up.", no_args_is_help=True)

LetterId = Annotated[UUID, typer.Argument(help="See `scrapersky dead-letter list`.")]
LetterIds = Annotated[list[UUID] | None, typer.Argument(help="One or several.")]
OfStages = Annotated[
    list[str] | None, typer.Option("--stage", help="Only of this stage; several may be given.")
]
OfErrorClass = Annotated[
    list[str] | None, typer.Option(help="Only of this class; several may be given.")
]
OfText = Annotated[str | None, typer.Option(help="Only with this in the error or the note.")]
Closed = Annotated[bool, typer.Option("--all", help="Closed ones too.")]


@app.command("list")
@narrowed_by(LETTERS, died_until="--older-than", died_since="--newer-than")
def list_letters(
    given: Given, every: Closed = False, limit: Limit = 50, as_json: AsJson = False
) -> int:
    """List rows that were given up, newest first."""
    every_state = {"state": [each.value for each in DeadLetterState]} if every else {}
    asked = Asked({**given, **_known_stages(given), **every_state}, limit=limit)

    async def step(session: AsyncSession, everything: Opened) -> Sequence[DeadLetter]:
        return (await LETTERS.show(session, everything.actor, asked)).rows

    def show(letters: Sequence[DeadLetter]) -> None:
        if as_json:
            print_json([DeadLetterOut.model_validate(each) for each in letters])
        else:
            _print_letters(letters)

    return run_in_transaction(step, show)


def _known_stages(given: Given) -> Given:
    """One that there is not is said to be a mistake, and not to have no letters."""
    names = [service.find_stage(STAGES, each).name for each in given.get("stage", ())]
    return {"stage": names} if names else {}


def _given(
    stages: list[str] | None,
    error_class: list[str] | None,
    text: str | None,
    older_than: str | None,
    newer_than: str | None,
) -> dict[str, Any]:
    """What was typed, as the list's filters are called."""
    return {
        **_known_stages({"stage": stages or ()}),
        "error_class": error_class,
        "text": text,
        "died_until": older_than,
        "died_since": newer_than,
    }


def _print_letters(letters: Sequence[DeadLetter]) -> None:
    if not letters:
        out.print("No dead letters.")
        return
    made = table("Letter", "Stage", "State", "Attempts", "Died", "Error")
    for each in letters:
        words = (str(each.id), each.stage, status(each.state), str(each.attempts))
        made.add_row(*words, when(each.died_at), escape(each.error))
    print_table(made)


@app.command()
def show(letter_id: LetterId, as_json: AsJson = False) -> int:
    """Show one dead letter, with the traceback of the last attempt."""

    async def step(session: AsyncSession, everything: Opened) -> DeadLetterDetail:
        letter = await service.get_letter(session, everything.actor, letter_id)
        return DeadLetterDetail.model_validate(letter)

    def shown(letter: DeadLetterDetail) -> None:
        if as_json:
            print_json(letter)
            return
        for name, value in letter.model_dump(exclude_none=True).items():
            out.print(f"[bold]{name}[/bold] {escape(str(value))}", highlight=False, soft_wrap=True)

    return run_in_transaction(step, shown)


@app.command()
def replay(
    ids: LetterIds = None,
    every: Every = False,
    stage: OfStages = None,
    error_class: OfErrorClass = None,
    text: OfText = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    per_minute: PerMinute = None,
    why: Why = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Give rows a new start, with all their attempts."""

    async def one(session: AsyncSession, everything: Opened, letter_id: UUID) -> DeadLetter:
        return await service.replay(session, everything.actor, letter_id, STAGES)

    async def many(session: AsyncSession, everything: Opened, asked: BulkAsked) -> BulkOut:
        return await bulk.replay_letters(session, everything.actor, STAGES, asked)

    given = _given(stage, error_class, text, older_than, newer_than)
    if are_named(ids, given, every=every):
        return do_to_each(one, ids or [], tell_all=_print_count("replayed"))
    asked = BulkAsked(narrowed(LETTERS, every=every, **given), note=why, per_minute=per_minute)
    return do_to_many(many, asked, Way("replayed", "dead letter", yes=yes, dry_run=dry_run))


@app.command()
def discard(
    ids: LetterIds = None,
    every: Every = False,
    stage: OfStages = None,
    error_class: OfErrorClass = None,
    text: OfText = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    why: Why = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Close dead letters; their rows stay failed."""

    async def one(session: AsyncSession, everything: Opened, letter_id: UUID) -> DeadLetter:
        return await service.discard(session, everything.actor, letter_id, note=why)

    async def many(session: AsyncSession, everything: Opened, asked: BulkAsked) -> BulkOut:
        return await bulk.discard_letters(session, everything.actor, asked)

    given = _given(stage, error_class, text, older_than, newer_than)
    if are_named(ids, given, every=every):
        return do_to_each(one, ids or [], tell_all=_print_count("discarded"))
    asked = BulkAsked(narrowed(LETTERS, every=every, **given), note=why)
    return do_to_many(many, asked, Way("discarded", "dead letter", yes=yes, dry_run=dry_run))


def _print_count(done: str) -> Callable[[int], None]:
    return lambda count: out.print(f"{counted(count, 'dead letter')} {done}.", highlight=False)
