"""`scrapersky dead-letter`: rows that were given up; look, replay, discard."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.exits import Exit
from scrapersky.cli.failures import complain
from scrapersky.cli.options import AsJson, Limit
from scrapersky.cli.output import counted, out, print_json, print_table, status, table, when
from scrapersky.cli.session import Opened, run_in_transaction, run_opened
from scrapersky.errors import InvalidInput, ScraperSkyError
from scrapersky.operations import service
from scrapersky.operations.schemas import DeadLetterDetail, DeadLetterOut
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState
from scrapersky.stages import STAGES

app = typer.Typer(help="See, replay or discard rows that were given up.", no_args_is_help=True)

LetterId = Annotated[UUID, typer.Argument(help="See `scrapersky dead-letter list`.")]
LetterIds = Annotated[list[UUID] | None, typer.Argument(help="One or several.")]
OfStage = Annotated[str | None, typer.Option("--stage", help="Only of this stage.")]
OfState = Annotated[
    DeadLetterState | None, typer.Option("--state", help="Only letters in this state.")
]
Every = Annotated[bool, typer.Option("--all", help="All open ones, of --stage if given.")]
Note = Annotated[str | None, typer.Option(help="Why, for whoever wonders later.")]
Deed = Callable[[AsyncSession, Opened, UUID], Awaitable[DeadLetter]]


@app.command("list")
def list_letters(
    stage: OfStage = None,
    state: OfState = DeadLetterState.OPEN,
    every: Annotated[bool, typer.Option("--all", help="Closed ones too.")] = False,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> int:
    """List rows that were given up, newest first."""

    async def step(session: AsyncSession, everything: Opened) -> Sequence[DeadLetter]:
        wanted = service.letters_of(everything.actor)
        if not every:
            wanted = wanted.where(DeadLetter.state == state)
        if stage is not None:
            wanted = wanted.where(DeadLetter.stage == service.find_stage(STAGES, stage).name)
        newest_first = wanted.order_by(DeadLetter.died_at.desc(), DeadLetter.id.desc())
        return (await session.scalars(newest_first.limit(limit))).all()

    def show(letters: Sequence[DeadLetter]) -> None:
        if as_json:
            print_json([DeadLetterOut.model_validate(each) for each in letters])
        else:
            _print_letters(letters)

    return run_in_transaction(step, show)


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
def replay(ids: LetterIds = None, every: Every = False, stage: OfStage = None) -> int:
    """Give rows a new start, with all their attempts."""

    async def deed(session: AsyncSession, everything: Opened, letter_id: UUID) -> DeadLetter:
        return await service.replay(session, everything.actor, letter_id, STAGES)

    return _do_to_each(deed, "replayed", ids or [], every=every, stage=stage)


@app.command()
def discard(
    ids: LetterIds = None, every: Every = False, stage: OfStage = None, why: Note = None
) -> int:
    """Close dead letters; their rows stay failed."""

    async def deed(session: AsyncSession, everything: Opened, letter_id: UUID) -> DeadLetter:
        return await service.discard(session, everything.actor, letter_id, note=why)

    return _do_to_each(deed, "discarded", ids or [], every=every, stage=stage)


def _do_to_each(
    deed: Deed, done: str, ids: Sequence[UUID], *, every: bool, stage: str | None
) -> int:
    """Each in its own transaction: one that cannot be does not keep the others from it."""
    if bool(ids) == every:
        raise InvalidInput("Name dead letters by their ids, or all open ones with --all.")

    async def command(everything: Opened) -> int:
        wanted = ids or await _open_letters(everything, stage)
        refused = [each for each in wanted if not await _did(deed, everything, each)]
        out.print(f"{counted(len(wanted) - len(refused), 'dead letter')} {done}.", highlight=False)
        return Exit.FAILED if refused else Exit.OK

    return run_opened(command)


async def _open_letters(everything: Opened, stage: str | None) -> Sequence[UUID]:
    wanted = service.letters_of(everything.actor).where(DeadLetter.state == DeadLetterState.OPEN)
    if stage is not None:
        wanted = wanted.where(DeadLetter.stage == service.find_stage(STAGES, stage).name)
    ids = wanted.with_only_columns(DeadLetter.id).order_by(DeadLetter.died_at, DeadLetter.id)
    async with everything.database.reading() as session:
        return (await session.scalars(ids)).all()


async def _did(deed: Deed, everything: Opened, letter_id: UUID) -> bool:
    try:
        async with everything.database.transaction() as session:
            await deed(session, everything, letter_id)
    except ScraperSkyError as error:
        complain(str(error), Exit.FAILED)
        return False
    return True
