"""`scrapersky curate`: decide about many rows at once, and take it back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID

import typer
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.exits import Exit
from scrapersky.cli.filters import Filters, read_filters
from scrapersky.cli.many import DryRun, Every, Why, Yes, are_named, confirm, narrowed
from scrapersky.cli.output import counted, note, out
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.curation.service import undo_action
from scrapersky.curations import CURATIONS
from scrapersky.http.lists import BulkAsked, Curation
from scrapersky.http.lists.curating import ROWS_AT_ONCE, CurateOut, curate, refuse_unknown
from scrapersky.http.lists.curation_undo import UndoOut

app = typer.Typer(help="Decide about many rows at once, and take it back.", no_args_is_help=True)

Status = Annotated[str, typer.Option("--status", help="What was decided, such as Selected.")]
RowIds = Annotated[list[UUID] | None, typer.Option("--id", help="This row; several may be given.")]
ActionId = Annotated[
    UUID | None, typer.Option("--action", help="This one; left out: your last one.")
]


def _deciding(curation: Curation) -> Callable[..., int]:
    """The command for rows of one kind."""

    def decide(
        status: Status,
        ids: RowIds = None,
        filters: Filters = None,
        every: Every = False,
        why: Why = None,
        dry_run: DryRun = False,
        yes: Yes = False,
    ) -> int:
        refuse_unknown(curation, status)
        rows = _rows(curation, ids, read_filters(filters or ()), every=every, note=why)
        matched = _try(curation, status, rows).matched_count
        sentence = f"{counted(matched, _noun(curation))} to be {status}."
        if dry_run or not matched:
            out.print(sentence, highlight=False)
            return Exit.OK
        if not yes:
            confirm(sentence)
        return _do(curation, status, rows)

    return decide


def _rows(
    curation: Curation, ids: list[UUID] | None, given: dict[str, Any], *, every: bool, **how: Any
) -> BulkAsked:
    if are_named(ids, given, every=every):
        return BulkAsked(ids=tuple(ids or ()), limit=ROWS_AT_ONCE, **how)
    chosen = narrowed(curation.listing, every=every, **given)
    return BulkAsked(chosen, limit=ROWS_AT_ONCE, **how)


def _noun(curation: Curation) -> str:
    return curation.kind.replace("_", " ")


def _try(curation: Curation, status: str, rows: BulkAsked) -> CurateOut:
    tried: list[CurateOut] = []
    as_trial = replace(rows, dry_run=True)

    async def step(session: AsyncSession, everything: Opened) -> CurateOut:
        return await curate(session, everything.actor, curation, status, as_trial)

    run_in_transaction(step, tried.append)
    return tried[0]


def _do(curation: Curation, status: str, rows: BulkAsked) -> int:
    """In one transaction, so that one undo takes all of it back."""

    async def step(session: AsyncSession, everything: Opened) -> CurateOut:
        return await curate(session, everything.actor, curation, status, rows)

    def show(done: CurateOut) -> None:
        queued = f", {done.queued_count:,} of them queued" if done.queued_count else ""
        changed = counted(done.updated_count, _noun(curation))
        out.print(f"{changed} set to {status}{queued}.", highlight=False)
        if done.message:
            note(done.message)
        if done.remaining_count:
            note(f"{done.remaining_count:,} more fit; ask again for them.")
        if done.action_id is not None:
            note(f"Taken back with: scrapersky curate undo --action {done.action_id}")

    return run_in_transaction(step, show)


@app.command()
def undo(action: ActionId = None) -> int:
    """Give rows their former status back, unless somebody changed them since."""

    async def step(session: AsyncSession, everything: Opened) -> UndoOut:
        return await undo_action(session, everything.actor, CURATIONS, action)

    return run_in_transaction(step, _show_undone)


def _show_undone(done: UndoOut) -> None:
    noun = done.kind.replace("_", " ")
    restored = counted(done.restored_count, noun)
    out.print(f"{restored} not {done.to_status} any more.", highlight=False)
    if done.unqueued_count:
        note(f"{done.unqueued_count:,} of them left their stage's queue.")
    if done.left_alone_count:
        note(f"{done.left_alone_count:,} left alone: they were changed or begun meanwhile.")


for each in CURATIONS:
    app.command(each.rows, help=f"Decide about {_noun(each)}s.")(_deciding(each))
