"""`scrapersky stage requeue`, `cancel` and `reset`: many rows of one stage at once."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import typer
from sqlalchemy.ext.asyncio import AsyncSession

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
    do_to_many,
    narrowed,
)
from scrapersky.cli.options import StageName
from scrapersky.cli.session import Opened
from scrapersky.http.lists import BulkAsked, BulkOut
from scrapersky.operations import bulk, service
from scrapersky.operations.listing import rows_of
from scrapersky.pipeline.bulk_acts import CANCEL, REQUEUE, RESET, Act
from scrapersky.stages import STAGES

RowIds = Annotated[list[UUID] | None, typer.Option("--id", help="This row; several may be given.")]
OfStatus = Annotated[
    list[str] | None, typer.Option("--status", help="A word of the stage; several may be given.")
]
OfError = Annotated[str | None, typer.Option(help="Only with this in the error.")]
AlsoProcessing = Annotated[
    bool, typer.Option("--also-processing", help="Rows that are being worked lose their claim.")
]


def requeue(
    name: StageName,
    ids: RowIds = None,
    every: Every = False,
    error: OfError = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    per_minute: PerMinute = None,
    why: Why = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Queue failed rows again, with all their attempts."""
    given = {"error": error, "created_until": older_than, "created_since": newer_than}
    asked = _asked(name, ids, every, given, note=why, per_minute=per_minute)
    return _act(name, REQUEUE, asked, Way("queued again", "row", yes=yes, dry_run=dry_run))


def cancel(
    name: StageName,
    ids: RowIds = None,
    every: Every = False,
    error: OfError = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    why: Why = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Take rows that wait out of the queue."""
    given = {"error": error, "created_until": older_than, "created_since": newer_than}
    asked = _asked(name, ids, every, given, note=why)
    return _act(name, CANCEL, asked, Way("cancelled", "row", yes=yes, dry_run=dry_run))


def reset(
    name: StageName,
    ids: RowIds = None,
    every: Every = False,
    of_status: OfStatus = None,
    error: OfError = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    also_processing: AlsoProcessing = False,
    per_minute: PerMinute = None,
    why: Why = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Have ended rows worked again, from the start."""
    given = {
        "status": of_status,
        "error": error,
        "created_until": older_than,
        "created_since": newer_than,
    }
    how = {"note": why, "per_minute": per_minute, "also_processing": also_processing}
    asked = _asked(name, ids, every, given, **how)
    return _act(name, RESET, asked, Way("started over", "row", yes=yes, dry_run=dry_run))


def _asked(
    name: str, ids: list[UUID] | None, every: bool, given: dict[str, Any], **how: Any
) -> BulkAsked:
    if are_named(ids, given, every=every):
        return BulkAsked(ids=tuple(ids or ()), **how)
    listing = rows_of(service.find_stage(STAGES, name))
    return BulkAsked(narrowed(listing, every=every, **given), **how)


def _act(name: str, act: Act, asked: BulkAsked, way: Way) -> int:
    stage = service.find_stage(STAGES, name)

    async def many(session: AsyncSession, everything: Opened, asked: BulkAsked) -> BulkOut:
        actor, settings = everything.actor, everything.settings
        return await bulk.act_on_rows(session, actor, stage, act, asked, settings)

    return do_to_many(many, asked, way)
