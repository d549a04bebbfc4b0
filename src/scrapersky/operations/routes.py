"""Stages, workers and dead letters."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends
from sqlalchemy import select

from scrapersky.http.auth import (
    Curator,
    OperatorAdmin,
    OperatorCurator,
    OperatorViewer,
    Viewer,
)
from scrapersky.http.context import Context, Overview, Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists import Asked, Listed
from scrapersky.operations import service
from scrapersky.operations.listing import LETTERS
from scrapersky.operations.schemas import (
    Accepted,
    DeadLetterDetail,
    DeadLetterOut,
    NoteIn,
    StageOut,
    WorkerOut,
)
from scrapersky.pipeline.report import live_workers, report_stage, report_stages
from scrapersky.pipeline.tables import Worker

NO_TRACEBACK = {"traceback": None}

router = APIRouter(tags=["operations"], responses=problem_responses(401, 403, 422))


@router.get("/stages", summary="Every stage, in the order rows travel")
async def list_stages(actor: Viewer, context: Context, session: Overview) -> list[StageOut]:
    reports = await report_stages(session, context.stages, context.settings)
    return [StageOut.model_validate(each) for each in reports]


@router.get("/stages/{name}", summary="One stage", responses=problem_responses(404))
async def get_stage(actor: Viewer, context: Context, session: Overview, name: str) -> StageOut:
    stage = service.find_stage(context.stages, name)
    return StageOut.model_validate(await report_stage(session, stage, context.settings))


@router.post(
    "/stages/{name}/run",
    status_code=202,
    summary="Look at the stage's queue now, everywhere",
    responses=problem_responses(404),
)
async def run_stage(
    actor: OperatorCurator, context: Context, session: Transaction, name: str
) -> Accepted:
    stage = service.find_stage(context.stages, name)
    service.run_now(session, actor, stage)
    return Accepted(stage=stage.name, status="woken")


@router.post(
    "/stages/{name}/pause",
    summary="Stop claiming, in every process; rows being worked go on",
    responses=problem_responses(404),
)
async def pause_stage(
    actor: OperatorAdmin,
    context: Context,
    session: Transaction,
    name: str,
    wanted: NoteIn | None = None,
) -> Accepted:
    stage = service.find_stage(context.stages, name)
    note = wanted.note if wanted else None
    await service.set_paused(session, actor, stage, paused=True, note=note)
    return Accepted(stage=stage.name, status="paused")


@router.post("/stages/{name}/resume", summary="Claim again", responses=problem_responses(404))
async def resume_stage(
    actor: OperatorAdmin, context: Context, session: Transaction, name: str
) -> Accepted:
    stage = service.find_stage(context.stages, name)
    await service.set_paused(session, actor, stage, paused=False)
    return Accepted(stage=stage.name, status="resumed")


@router.get("/workers", summary="Who works the queues, longest-running first")
async def list_workers(
    actor: OperatorViewer, context: Context, session: Reading
) -> list[WorkerOut]:
    alive = {each.id for each in await live_workers(session, context.settings)}
    known = await session.scalars(select(Worker).order_by(Worker.started_at, Worker.id))
    return [WorkerOut.model_validate({**_plain(each), "alive": each.id in alive}) for each in known]


def _plain(worker: Worker) -> dict[str, object]:
    return {name: getattr(worker, name) for name in WorkerOut.model_fields if name != "alive"}


@router.get("/dead-letters", summary="Rows that were given up, newest first")
async def list_dead_letters(
    actor: Viewer, session: Reading, asked: Annotated[Asked, Depends(LETTERS.asked)]
) -> Listed[DeadLetterOut]:
    return (await LETTERS.show(session, actor, asked)).listed(DeadLetterOut.model_validate)


@router.get(
    "/dead-letters/{letter_id}",
    summary="One dead letter, with its traceback",
    responses=problem_responses(404),
)
async def get_dead_letter(actor: Viewer, session: Reading, letter_id: UUID) -> DeadLetterDetail:
    found = DeadLetterDetail.model_validate(await service.get_letter(session, actor, letter_id))
    return found if service.can_read_traceback(actor) else found.model_copy(update=NO_TRACEBACK)


@router.post(
    "/dead-letters/{letter_id}/replay",
    status_code=202,
    summary="Give the row a new start",
    responses=problem_responses(404, 409),
)
async def replay_dead_letter(
    actor: Curator, context: Context, session: Transaction, letter_id: UUID
) -> DeadLetterOut:
    letter = await service.replay(session, actor, letter_id, context.stages)
    return DeadLetterOut.model_validate(letter)


@router.post(
    "/dead-letters/{letter_id}/discard",
    summary="Close the letter; the row stays failed",
    responses=problem_responses(404, 409),
)
async def discard_dead_letter(
    actor: Curator, session: Transaction, letter_id: UUID, wanted: NoteIn | None = None
) -> DeadLetterOut:
    note = wanted.note if wanted else None
    return DeadLetterOut.model_validate(await service.discard(session, actor, letter_id, note=note))
