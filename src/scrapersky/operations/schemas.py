"""API schemas of stages, workers and dead letters."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from scrapersky.lists import RowSchema
from scrapersky.operations.listing import DEAD_LETTER_LISTING


class PaceOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    interval_minutes: float
    batch_size: int
    max_instances: int
    concurrency: int
    timeout_seconds: float
    max_attempts: int
    high_water: int


class StageOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    name: str = Field(examples=["process_pending_sitemaps"])
    does: str
    workflow: str | None = Field(
        description="Number in the design documents; null if it has none.",
        examples=["WF4"],
    )
    paused: bool
    paused_seconds: float | None = Field(
        description="Seconds since it was paused; null if it is not paused."
    )
    note: str | None = Field(description="Note given when it was paused.")
    held_back: str | None = Field(
        description="Why backpressure from downstream stages limits its claims."
    )
    pace: PaceOut
    counts: dict[str, int] = Field(description="Rows by status.", examples=[{"complete": 12}])
    estimated: list[str] = Field(description="Statuses whose count is an estimate.")
    queued: int
    due: int = Field(description="Queued rows that are due.")
    oldest_due_seconds: float | None
    oldest_ready_seconds: float | None = Field(
        description="Age of the oldest due row that is not waiting for its host."
    )
    next_due_at: datetime | None
    in_flight: int = Field(description="Rows in processing.")
    overdue: int = Field(description="Rows in processing past the stage's timeout.")
    stuck: int = Field(
        description=(
            "Rows in processing past their lease or of a dead worker; they wait for a rescue."
        )
    )
    dead_letters: int = Field(description="Open ones.")
    last_hour: dict[str, int] = Field(description="Attempts that ended in the last hour, by kind.")
    p50_ms: float | None = Field(description="Median duration of the last hour's attempts.")
    p95_ms: float | None
    consumers: int = Field(description="Live workers that run this stage.")
    last_tick: datetime | None
    failing: bool = Field(description="Whether the last run failed in any process.")
    problems: list[str]


class NoteIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    note: str | None = Field(default=None, max_length=1000, examples=["Site owner asked us to."])


class Accepted(BaseModel):
    stage: str
    status: str = Field(examples=["woken"])


class WorkerOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    hostname: str
    pid: int
    version: str
    alive: bool
    started_at: datetime
    beat_at: datetime
    stages: dict[str, Any]


class DeadLetterOut(RowSchema, columns=DEAD_LETTER_LISTING.all_columns):
    pass


class DeadLetterDetail(DeadLetterOut):
    traceback: str | None = Field(
        description="Visible to curators and admins of the default tenant; null for others."
    )
