"""API schemas of stages, workers and dead letters."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field


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
        description="Its number in the design documents; null where they give none.",
        examples=["WF4"],
    )
    paused: bool
    paused_seconds: float | None = Field(description="For how long, if it is.")
    note: str | None = Field(description="Why it is paused, as given when it was.")
    held_back: str | None = Field(
        description="Why it claims less or nothing because of what waits behind it."
    )
    pace: PaceOut
    counts: dict[str, int] = Field(description="Rows by status.", examples=[{"complete": 12}])
    estimated: list[str] = Field(description="The statuses whose count is an estimate.")
    queued: int
    due: int = Field(description="Queued rows whose time has come.")
    oldest_due_seconds: float | None
    oldest_ready_seconds: float | None = Field(
        description="The same of rows that could be worked now, and do not wait for their host."
    )
    next_due_at: datetime | None
    in_flight: int = Field(description="Rows being worked.")
    overdue: int = Field(description="Of those, rows past the stage's timeout.")
    stuck: int = Field(
        description="Of those, rows past their lease or of a dead worker, which none will finish."
    )
    dead_letters: int = Field(description="Open ones.")
    last_hour: dict[str, int] = Field(description="Ended attempts of the last hour, by kind.")
    p50_ms: float | None = Field(description="Half of the last hour's attempts took no longer.")
    p95_ms: float | None
    consumers: int = Field(description="Live workers that run this stage.")
    last_tick: datetime | None
    failing: bool = Field(description="The last run failed, in some process.")
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


class DeadLetterOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    stage: str
    row_id: UUID
    attempts: int
    error_class: str = Field(examples=["Rejected"])
    error: str = Field(examples=["nowhere.example does not resolve."])
    first_failed_at: datetime
    died_at: datetime
    worker: str
    state: str = Field(examples=["open"])
    note: str | None
    closed_at: datetime | None
    closed_by: UUID | None


class DeadLetterDetail(DeadLetterOut):
    traceback: str | None = Field(
        description="For curators and admins of the default tenant; null for others."
    )
