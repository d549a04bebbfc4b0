"""`scrapersky curate`: set the curation status of many rows, and undo it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID

import typer
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.bulk import AllOption, DryRun, NoteOption, Yes, build_filters, confirm, has_ids
from scrapersky.cli.errors import ExitCode
from scrapersky.cli.options import FilterOption, parse_filters
from scrapersky.cli.output import format_count, note, out
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.kinds import CURATIONS
from scrapersky.lists import BulkRequest, Curation
from scrapersky.lists.curation import MAX_CURATED_ROWS, CurateOut, curate, validate_status
from scrapersky.lists.undo import UndoOut
from scrapersky.lists.undo_routes import undo_action
from scrapersky.plurals import pluralise

app = typer.Typer(help="Set the curation status of many rows, and undo it.", no_args_is_help=True)

Status = Annotated[str, typer.Option("--status", help="New curation status, for example Selected.")]
RowIds = Annotated[list[UUID] | None, typer.Option("--id", help="Row id. Repeatable.")]
ActionId = Annotated[
    UUID | None, typer.Option("--action", help="Bulk action id. Default: your last one.")
]


def _build_command(curation: Curation) -> Callable[..., int]:

    def decide(
        status: Status,
        ids: RowIds = None,
        filters: FilterOption = None,
        every: AllOption = False,
        why: NoteOption = None,
        dry_run: DryRun = False,
        yes: Yes = False,
    ) -> int:
        validate_status(curation, status)
        rows = _build_request(curation, ids, parse_filters(filters or ()), every=every, note=why)
        matched = _count_matches(curation, status, rows).matched_count
        sentence = f"{format_count(matched, _get_noun(curation))} will be set to {status}."
        if dry_run or not matched:
            out.print(sentence, highlight=False)
            return ExitCode.OK
        if not yes:
            confirm(sentence)
        return _curate_rows(curation, status, rows)

    return decide


def _build_request(
    curation: Curation, ids: list[UUID] | None, values: dict[str, Any], *, every: bool, **how: Any
) -> BulkRequest:
    if has_ids(ids, values, every=every):
        return BulkRequest(ids=tuple(ids or ()), limit=MAX_CURATED_ROWS, **how)
    chosen = build_filters(curation.listing, every=every, **values)
    return BulkRequest(chosen, limit=MAX_CURATED_ROWS, **how)


def _get_noun(curation: Curation) -> str:
    return curation.kind.replace("_", " ")


def _count_matches(curation: Curation, status: str, rows: BulkRequest) -> CurateOut:
    tried: list[CurateOut] = []
    as_trial = replace(rows, dry_run=True)

    async def step(session: AsyncSession, context: CommandContext) -> CurateOut:
        return await curate(session, context.actor, curation, status, as_trial)

    run_in_transaction(step, tried.append)
    return tried[0]


def _curate_rows(curation: Curation, status: str, rows: BulkRequest) -> int:
    """Update all rows in one transaction, so that one undo reverts all of them."""

    async def step(session: AsyncSession, context: CommandContext) -> CurateOut:
        return await curate(session, context.actor, curation, status, rows)

    def show(done: CurateOut) -> None:
        queued = f", {done.queued_count:,} of them queued" if done.queued_count else ""
        changed = format_count(done.updated_count, _get_noun(curation))
        out.print(f"{changed} set to {status}{queued}.", highlight=False)
        if done.message:
            note(done.message)
        if done.remaining_count:
            note(f"{done.remaining_count:,} more match. Run the command again to update them.")
        if done.action_id is not None:
            note(f"Undo with: scrapersky curate undo --action {done.action_id}")

    return run_in_transaction(step, show)


@app.command()
def undo(action: ActionId = None) -> int:
    """Restore the previous status of rows that were not changed since."""

    async def step(session: AsyncSession, context: CommandContext) -> UndoOut:
        return await undo_action(session, context.actor, CURATIONS, action)

    return run_in_transaction(step, _print_undone)


def _print_undone(done: UndoOut) -> None:
    noun = done.kind.replace("_", " ")
    restored = format_count(done.restored_count, noun)
    out.print(f"Undone: {restored} no longer {done.to_status}.", highlight=False)
    if done.unqueued_count:
        note(f"{done.unqueued_count:,} removed from the stage's queue.")
    if done.left_alone_count:
        note(f"{done.left_alone_count:,} skipped: changed or started in the meantime.")


for each in CURATIONS:
    app.command(each.rows, help=f"Set the curation status of {pluralise(_get_noun(each))}.")(
        _build_command(each)
    )
