"""Routes of stages, workers, hosts, dead letters and alerts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from scrapersky.http.application import Context
from scrapersky.http.auth import Curator, OperatorAdmin, OperatorCurator, OperatorViewer, Viewer
from scrapersky.http.context import Overview, Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists import (
    BulkOut,
    BulkRequest,
    ListPage,
    ListQuery,
    ProcessingOptions,
    SpreadOptions,
    build_bulk_dependency,
)
from scrapersky.operations import service
from scrapersky.operations import service as bulk
from scrapersky.operations import service as flow
from scrapersky.operations.alert_rules import RULES
from scrapersky.operations.alerts import FiringAlert, list_firing_alerts, list_recent_alerts
from scrapersky.operations.listing import DEAD_LETTER_LISTING, STAGE_ROWS
from scrapersky.operations.schemas import (
    Accepted,
    DeadLetterDetail,
    DeadLetterOut,
    NoteIn,
    PaceOut,
    StageOut,
    WorkerOut,
)
from scrapersky.operations.service import find_stage
from scrapersky.pipeline.bulk import CANCEL, REQUEUE, RESET
from scrapersky.pipeline.flow import apply_pace_changes
from scrapersky.pipeline.report import (
    list_live_workers,
    load_full_status,
    report_stage,
    report_stages,
)
from scrapersky.pipeline.tables import Alert, Host, Worker

alert_router = APIRouter(tags=["operations"], responses=problem_responses(401, 403, 422))

RULE_MEANINGS = {rule.name: rule.means for rule in RULES}


class FiringOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    rule: str = Field(examples=["oldest_due_too_old"])
    subject: str = Field(
        description=(
            "Stage, process or machine concerned; empty if it concerns the whole installation."
        ),
        examples=["process_pending_sitemaps"],
    )
    sentence: str = Field(
        examples=["The oldest claimable row has waited for 912 seconds. The limit is 600."]
    )
    means: str = Field(examples=["A claimable row has waited for too long."])
    since: datetime | None = Field(description="Null if the alert has not been recorded yet.")
    id: UUID | None


class PastAlertOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    rule: str = Field(examples=["listener_down"])
    subject: str
    sentence: str
    began_at: datetime
    cleared_at: datetime


class AlertsOut(BaseModel):
    firing: list[FiringOut]
    recent: list[PastAlertOut] = Field(description="Cleared alerts, most recently begun first.")


def alerts_out(firing: Sequence[FiringAlert], past: Sequence[Alert]) -> AlertsOut:
    return AlertsOut(
        firing=[FiringOut(**vars(each), means=RULE_MEANINGS[each.rule]) for each in firing],
        recent=[PastAlertOut.model_validate(each) for each in past],
    )


@alert_router.get("/alerts", summary="List firing and recent alerts")
async def list_alerts(actor: OperatorViewer, context: Context, session: Overview) -> AlertsOut:
    """Evaluated when requested, by the same rules as `/health/schedulers`."""
    status = await load_full_status(session, context.stages, context.settings)
    firing = await list_firing_alerts(session, status)
    return alerts_out(firing, await list_recent_alerts(session))


bulk_router = APIRouter(
    tags=["operations"], responses=problem_responses(400, 401, 403, 409, 415, 422)
)

REPLAY_REQUEST = build_bulk_dependency(DEAD_LETTER_LISTING, "Replay", more=[SpreadOptions])
DISCARD_REQUEST = build_bulk_dependency(DEAD_LETTER_LISTING, "Discard")
REQUEUE_REQUEST = build_bulk_dependency(STAGE_ROWS, "Requeue", more=[SpreadOptions])
CANCEL_REQUEST = build_bulk_dependency(STAGE_ROWS, "Cancel")
RESET_REQUEST = build_bulk_dependency(STAGE_ROWS, "Reset", more=[SpreadOptions, ProcessingOptions])


@bulk_router.post("/dead-letters/replay", summary="Replay dead letters")
async def replay_dead_letters(
    actor: Curator,
    context: Context,
    session: Transaction,
    bulk_request: Annotated[BulkRequest, Depends(REPLAY_REQUEST)],
) -> BulkOut:
    """Select by ids or by the filters of the list. Concurrent replays take each row once. With
    `per_minute`, rows become due gradually.
    """
    return await bulk.replay_dead_letters(session, actor, context.stages, bulk_request)


@bulk_router.post("/dead-letters/discard", summary="Discard dead letters")
async def discard_dead_letters(
    actor: Curator,
    session: Transaction,
    bulk_request: Annotated[BulkRequest, Depends(DISCARD_REQUEST)],
) -> BulkOut:
    return await bulk.discard_dead_letters(session, actor, bulk_request)


@bulk_router.post(
    "/stages/{name}/rows/requeue",
    summary="Requeue failed rows",
    responses=problem_responses(404),
)
async def requeue_rows(
    actor: Curator,
    context: Context,
    session: Transaction,
    name: str,
    bulk_request: Annotated[BulkRequest, Depends(REQUEUE_REQUEST)],
) -> BulkOut:
    stage = find_stage(context.stages, name)
    return await bulk.act_on_rows(session, actor, stage, REQUEUE, bulk_request, context.settings)


@bulk_router.post(
    "/stages/{name}/rows/cancel",
    summary="Cancel queued rows",
    responses=problem_responses(404),
)
async def cancel_rows(
    actor: Curator,
    context: Context,
    session: Transaction,
    name: str,
    bulk_request: Annotated[BulkRequest, Depends(CANCEL_REQUEST)],
) -> BulkOut:
    """Rows become cancelled if the stage has such a status, otherwise failed, with the note as
    error.
    """
    stage = find_stage(context.stages, name)
    return await bulk.act_on_rows(session, actor, stage, CANCEL, bulk_request, context.settings)


@bulk_router.post(
    "/stages/{name}/rows/reset",
    summary="Reset finished rows",
    responses=problem_responses(404),
)
async def reset_rows(
    actor: Curator,
    context: Context,
    session: Transaction,
    name: str,
    bulk_request: Annotated[BulkRequest, Depends(RESET_REQUEST)],
) -> BulkOut:
    """Queue finished rows from the start, with all their attempts. Rows in processing lose their
    claim only with `also_processing`.
    """
    stage = find_stage(context.stages, name)
    return await bulk.act_on_rows(session, actor, stage, RESET, bulk_request, context.settings)


flow_router = APIRouter(tags=["operations"], responses=problem_responses(401, 403, 422))


class PaceIn(BaseModel):
    """The fields to change. Null restores the value from the settings; omitted fields stay
    unchanged.
    """

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"concurrency": 2, "batch_size": None}]}
    )

    interval_minutes: Annotated[float, Field(gt=0, le=1440)] | None = None
    batch_size: Annotated[int, Field(ge=1, le=10_000, strict=True)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=1_000, strict=True)] | None = None
    high_water: Annotated[int, Field(ge=1, le=100_000_000, strict=True)] | None = None


class PaceChanged(BaseModel):
    stage: str = Field(examples=["process_pending_sitemaps"])
    pace: PaceOut
    changed: dict[str, Any] = Field(
        description="Values that differ from the settings.", examples=[{"concurrency": 2}]
    )


class HostOut(BaseModel):
    host: str = Field(examples=["example.com"])
    in_flight: int = Field(description="Requests in flight, across all workers.")
    next_slot_at: datetime = Field(description="Earliest start of the next request.")
    max_concurrency: int | None
    crawl_delay_seconds: float | None
    failures: int = Field(description="In a row.")
    circuit_open_until: datetime | None = Field(
        description="End of the backoff. Null if the circuit is closed."
    )
    circuit_reason: str | None


class Hosts(BaseModel):
    items: list[HostOut]
    next_cursor: str | None


@flow_router.patch(
    "/stages/{name}/pace",
    summary="Change a stage's pace",
    responses=problem_responses(404),
)
async def change_pace(
    actor: OperatorAdmin, context: Context, session: Transaction, name: str, body: PaceIn
) -> PaceChanged:
    """Every process applies the change within one heartbeat interval. It stays in effect until
    restored.
    """
    stage = find_stage(context.stages, name)
    changes = body.model_dump(exclude_unset=True)
    changed = await flow.change_pace(session, actor, stage, changes)
    pace = apply_pace_changes(stage.get_pace(context.settings), changed)
    return PaceChanged(stage=stage.name, pace=PaceOut.model_validate(pace), changed=changed)


@flow_router.get("/hosts", summary="List hosts")
async def list_hosts(
    actor: OperatorViewer,
    session: Reading,
    left_alone: bool = False,
    cursor: Annotated[str, Query(max_length=300)] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Hosts:
    """Hosts that requests were sent to, by name. With `left_alone=true`, only hosts whose circuit
    is open, with the reason and the time it closes.
    """
    hosts = await flow.list_hosts(session, left_alone=left_alone, after=cursor, limit=limit + 1)
    page = hosts[:limit]
    more = page[-1][0].host if len(hosts) > limit else None
    return Hosts(items=[host_out(*each) for each in page], next_cursor=more)


@flow_router.post(
    "/hosts/{host}/ask-again",
    summary="Reset a host's circuit breaker",
    responses=problem_responses(404),
)
async def ask_again(actor: OperatorAdmin, session: Transaction, host: str) -> HostOut:
    """Clears the host's failures. The next request is sent immediately."""
    return host_out(*await flow.reset_host(session, actor, host))


def host_out(host: Host, in_flight: int) -> HostOut:
    own = set(HostOut.model_fields) - {"in_flight"}
    return HostOut(in_flight=in_flight, **{name: getattr(host, name) for name in own})


NO_TRACEBACK = {"traceback": None}

router = APIRouter(tags=["operations"], responses=problem_responses(401, 403, 422))


@router.get("/stages", summary="List stages in pipeline order")
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
    summary="Run a stage now, in every process",
    responses=problem_responses(404),
)
async def run_stage(
    actor: OperatorCurator, context: Context, session: Transaction, name: str
) -> Accepted:
    stage = service.find_stage(context.stages, name)
    service.wake_stage(session, actor, stage)
    return Accepted(stage=stage.name, status="woken")


@router.post(
    "/stages/{name}/pause",
    summary="Pause a stage in every process; rows in processing continue",
    responses=problem_responses(404),
)
async def pause_stage(
    actor: OperatorAdmin,
    context: Context,
    session: Transaction,
    name: str,
    body: NoteIn | None = None,
) -> Accepted:
    stage = service.find_stage(context.stages, name)
    note = body.note if body else None
    await service.set_paused(session, actor, stage, paused=True, note=note)
    return Accepted(stage=stage.name, status="paused")


@router.post("/stages/{name}/resume", summary="Claim again", responses=problem_responses(404))
async def resume_stage(
    actor: OperatorAdmin, context: Context, session: Transaction, name: str
) -> Accepted:
    stage = service.find_stage(context.stages, name)
    await service.set_paused(session, actor, stage, paused=False)
    return Accepted(stage=stage.name, status="resumed")


@router.get("/workers", summary="List workers, longest-running first")
async def list_workers(
    actor: OperatorViewer, context: Context, session: Reading
) -> list[WorkerOut]:
    alive = {each.id for each in await list_live_workers(session, context.settings)}
    known = await session.scalars(select(Worker).order_by(Worker.started_at, Worker.id))
    return [
        WorkerOut.model_validate({**_build_worker_fields(each), "alive": each.id in alive})
        for each in known
    ]


def _build_worker_fields(worker: Worker) -> dict[str, object]:
    return {name: getattr(worker, name) for name in WorkerOut.model_fields if name != "alive"}


@router.get("/dead-letters", summary="List dead letters, newest first")
async def list_dead_letters(
    actor: Viewer,
    session: Reading,
    query: Annotated[ListQuery, Depends(DEAD_LETTER_LISTING.parse_query)],
) -> ListPage[DeadLetterOut]:
    return (await DEAD_LETTER_LISTING.show(session, actor, query)).to_page(
        DeadLetterOut.model_validate
    )


@router.get(
    "/dead-letters/{letter_id}",
    summary="Get a dead letter with its traceback",
    responses=problem_responses(404),
)
async def get_dead_letter(actor: Viewer, session: Reading, letter_id: UUID) -> DeadLetterDetail:
    detail = DeadLetterDetail.model_validate(
        await service.get_dead_letter(session, actor, letter_id)
    )
    return detail if service.can_read_traceback(actor) else detail.model_copy(update=NO_TRACEBACK)


@router.post(
    "/dead-letters/{letter_id}/replay",
    status_code=202,
    summary="Replay a dead letter",
    responses=problem_responses(404, 409),
)
async def replay_dead_letter(
    actor: Curator, context: Context, session: Transaction, letter_id: UUID
) -> DeadLetterOut:
    letter = await service.replay_dead_letter(session, actor, letter_id, context.stages)
    return DeadLetterOut.model_validate(letter)


@router.post(
    "/dead-letters/{letter_id}/discard",
    summary="Discard a dead letter; its row stays failed",
    responses=problem_responses(404, 409),
)
async def discard_dead_letter(
    actor: Curator, session: Transaction, letter_id: UUID, body: NoteIn | None = None
) -> DeadLetterOut:
    note = body.note if body else None
    return DeadLetterOut.model_validate(
        await service.discard_dead_letter(session, actor, letter_id, note=note)
    )
