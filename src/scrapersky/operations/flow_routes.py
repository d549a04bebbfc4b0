"""The pace of stages and the state of hosts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from scrapersky.http.auth import OperatorAdmin, OperatorViewer
from scrapersky.http.context import Context, Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.operations import flow
from scrapersky.operations.schemas import PaceOut
from scrapersky.operations.service import find_stage
from scrapersky.pipeline.flow import changed_pace
from scrapersky.pipeline.tables import Host

router = APIRouter(tags=["operations"], responses=problem_responses(401, 403, 422))


class PaceIn(BaseModel):
    """What to change; null takes a change back, what is left out stays."""

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
        description="What differs from the settings.", examples=[{"concurrency": 2}]
    )


class HostOut(BaseModel):
    host: str = Field(examples=["example.com"])
    in_flight: int = Field(description="Requests under way, over all workers.")
    next_slot_at: datetime = Field(description="No request begins before this.")
    max_concurrency: int | None
    crawl_delay_seconds: float | None
    failures: int = Field(description="In a row.")
    circuit_open_until: datetime | None = Field(description="Left alone until then.")
    circuit_reason: str | None


class Hosts(BaseModel):
    items: list[HostOut]
    next_cursor: str | None


@router.patch(
    "/stages/{name}/pace",
    summary="Change how fast a stage goes, in every process",
    responses=problem_responses(404),
)
async def change_pace(
    actor: OperatorAdmin, context: Context, session: Transaction, name: str, wanted: PaceIn
) -> PaceChanged:
    """Each process takes it with its next heartbeat; it stays until it is taken back."""
    stage = find_stage(context.stages, name)
    changes = wanted.model_dump(exclude_unset=True)
    changed = await flow.change_pace(session, actor, stage, changes)
    pace = changed_pace(stage.paced(context.settings), changed)
    return PaceChanged(stage=stage.name, pace=PaceOut.model_validate(pace), changed=changed)


@router.get("/hosts", summary="Hosts we have made requests to, by name")
async def list_hosts(
    actor: OperatorViewer,
    session: Reading,
    left_alone: bool = False,
    cursor: Annotated[str, Query(max_length=300)] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Hosts:
    """With `left_alone=true` only those whose circuit is open, with the reason and until when."""
    found = await flow.list_hosts(session, left_alone=left_alone, after=cursor, limit=limit + 1)
    shown = found[:limit]
    more = shown[-1][0].host if len(found) > limit else None
    return Hosts(items=[host_out(*each) for each in shown], next_cursor=more)


@router.post(
    "/hosts/{host}/ask-again",
    summary="Stop leaving a host alone",
    responses=problem_responses(404),
)
async def ask_again(actor: OperatorAdmin, session: Transaction, host: str) -> HostOut:
    """Its failures are forgotten and the next request goes out at once."""
    return host_out(*await flow.ask_again(session, actor, host))


def host_out(host: Host, in_flight: int) -> HostOut:
    own = set(HostOut.model_fields) - {"in_flight"}
    return HostOut(in_flight=in_flight, **{name: getattr(host, name) for name in own})
