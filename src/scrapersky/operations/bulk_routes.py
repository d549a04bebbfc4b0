"""Acts on many dead letters, and on many rows of a stage."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from scrapersky.http.auth import Curator
from scrapersky.http.context import Context, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists import BulkAsked, BulkOut, Spread, Working, bulk_asked
from scrapersky.operations import bulk
from scrapersky.operations.listing import ANY_ROWS, LETTERS
from scrapersky.operations.service import find_stage
from scrapersky.pipeline.bulk_acts import CANCEL, REQUEUE, RESET

router = APIRouter(tags=["operations"], responses=problem_responses(400, 401, 403, 409, 415, 422))

REPLAYED = bulk_asked(LETTERS, "Replay", more=[Spread])
DISCARDED = bulk_asked(LETTERS, "Discard")
REQUEUED = bulk_asked(ANY_ROWS, "Requeue", more=[Spread])
CANCELLED = bulk_asked(ANY_ROWS, "Cancel")
STARTED_OVER = bulk_asked(ANY_ROWS, "Reset", more=[Spread, Working])


@router.post("/dead-letters/replay", summary="Give the rows of many dead letters a new start")
async def replay_dead_letters(
    actor: Curator,
    context: Context,
    session: Transaction,
    asked: Annotated[BulkAsked, Depends(REPLAYED)],
) -> BulkOut:
    """By ids or by the filters of the list. Each row is taken once, whoever else replays it; with
    `per_minute` the rows become due one after the other."""
    return await bulk.replay_letters(session, actor, context.stages, asked)


@router.post("/dead-letters/discard", summary="Close many dead letters; their rows stay failed")
async def discard_dead_letters(
    actor: Curator, session: Transaction, asked: Annotated[BulkAsked, Depends(DISCARDED)]
) -> BulkOut:
    return await bulk.discard_letters(session, actor, asked)


@router.post(
    "/stages/{name}/rows/requeue",
    summary="Queue failed rows of a stage again",
    responses=problem_responses(404),
)
async def requeue_rows(
    actor: Curator,
    context: Context,
    session: Transaction,
    name: str,
    asked: Annotated[BulkAsked, Depends(REQUEUED)],
) -> BulkOut:
    stage = find_stage(context.stages, name)
    return await bulk.act_on_rows(session, actor, stage, REQUEUE, asked, context.settings)


@router.post(
    "/stages/{name}/rows/cancel",
    summary="Take queued rows of a stage out of the queue",
    responses=problem_responses(404),
)
async def cancel_rows(
    actor: Curator,
    context: Context,
    session: Transaction,
    name: str,
    asked: Annotated[BulkAsked, Depends(CANCELLED)],
) -> BulkOut:
    """They are cancelled where the stage has a word for that, else failed, with the note."""
    stage = find_stage(context.stages, name)
    return await bulk.act_on_rows(session, actor, stage, CANCEL, asked, context.settings)


@router.post(
    "/stages/{name}/rows/reset",
    summary="Have ended rows of a stage worked again, from the start",
    responses=problem_responses(404),
)
async def reset_rows(
    actor: Curator,
    context: Context,
    session: Transaction,
    name: str,
    asked: Annotated[BulkAsked, Depends(STARTED_OVER)],
) -> BulkOut:
    """Rows that are being worked lose their claim only with `also_processing`."""
    stage = find_stage(context.stages, name)
    return await bulk.act_on_rows(session, actor, stage, RESET, asked, context.settings)
