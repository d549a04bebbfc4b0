"""Liveness, readiness and scheduler health."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from scrapersky import __version__
from scrapersky.db.migrate import require_current, require_writable
from scrapersky.errors import DatabaseRefused
from scrapersky.http.application import AppContext, Context
from scrapersky.http.auth import PUBLIC, Viewer
from scrapersky.http.context import Overview
from scrapersky.http.problems import problem_responses
from scrapersky.pipeline.queue_stats import MAX_COUNTED
from scrapersky.pipeline.report import PipelineStatus, StageReport, load_status
from scrapersky.pipeline.vitals import find_exhausted_resource

router = APIRouter(tags=["health"])


class Alive(BaseModel):
    status: str = Field(examples=["alive"])
    version: str = Field(examples=["0.2.0"])


class Ready(BaseModel):
    status: str = Field(examples=["ready"])
    problem: str | None = None


class StageHealth(BaseModel):
    stage: str
    healthy: bool
    paused: bool
    due: int = Field(
        description=f"Due rows, counted up to {MAX_COUNTED:,}. "
        "`/api/v3/stages` and `/metrics` have the exact number."
    )
    oldest_due_seconds: float | None
    oldest_ready_seconds: float | None = Field(
        description="Age of the oldest due row that is not waiting for its host."
    )
    stuck: int = Field(
        description="Rows in processing whose lease has expired or whose worker is dead."
    )
    consumers: int
    last_tick: datetime | None
    problems: list[str]


class SchedulersHealth(BaseModel):
    status: str = Field(examples=["healthy"])
    scheduler_here: str = Field(description="State in this process: running, stopped or disabled.")
    own_limits: list[str] = Field(
        default_factory=list,
        description="Resources exhausted in some process in the last five minutes: file "
        "descriptors, database connections or disk space.",
    )
    stages: list[StageHealth]
    problems: list[str] = Field(
        description="Problems outside the stages: failing chores, jobs that no stage handles, "
        "resource limits that a process has reached."
    )


@router.get("/health", dependencies=[PUBLIC], summary="Check liveness")
async def alive() -> Alive:
    return Alive(status="alive", version=__version__)


@router.get(
    "/health/ready",
    dependencies=[PUBLIC],
    summary="Check readiness",
    description="Checks that the database responds, is writable and has the expected revision.",
    responses={503: {"model": Ready, "description": "Not ready; `problem` has the reason."}},
)
async def ready(context: Context, response: Response) -> Ready:
    try:
        await require_current(context.database)
        await require_writable(context.database)
    except DatabaseRefused as error:
        response.status_code = 503
        return Ready(status="not ready", problem=str(error))
    except Exception as error:
        response.status_code = 503
        problem = str(find_exhausted_resource(error) or "The database is not responding.")
        return Ready(status="not ready", problem=problem)
    return Ready(status="ready")


@router.get(
    "/health/schedulers",
    summary="Check the schedulers",
    responses={
        503: {"model": SchedulersHealth, "description": "A stage has a problem."},
        **problem_responses(401, 403),
    },
)
async def schedulers(
    actor: Viewer, context: Context, session: Overview, response: Response
) -> SchedulersHealth:
    """Returns 503 if a queue's oldest due row is too old, rows wait without a consumer, rows are
    stuck in processing, a consumer has stopped ticking, a stage could not be registered, the
    last run of a stage or chore failed, jobs wait that no stage handles, or a process has run
    out of file descriptors, database connections or disk space.
    """
    now = await load_status(session, context.stages, context.settings)
    health = build_schedulers_health(context, now)
    if health.status != "healthy":
        response.status_code = 503
    return health


def build_schedulers_health(context: AppContext, now: PipelineStatus) -> SchedulersHealth:
    """Build the health report for probes and the dashboard."""
    stages = [
        _build_stage_health(each, _get_registration_failure(context, each.name))
        for each in now.reports
    ]
    problems = [each.sentence for _, each in now.other_troubles]
    here = _get_scheduler_state(context)
    healthy = here != "stopped" and not problems and all(each.healthy for each in stages)
    return SchedulersHealth(
        status="healthy" if healthy else "unhealthy",
        scheduler_here=here,
        own_limits=now.own_limits,
        stages=stages,
        problems=problems,
    )


def _get_registration_failure(context: AppContext, stage: str) -> str | None:
    """Return the failure known in this process, before the next heartbeat reports it."""
    return context.scheduler.failures.get(stage) if context.scheduler else None


def _build_stage_health(report: StageReport, failure: str | None) -> StageHealth:
    problems = list(report.problems)
    if failure and not any(failure in each for each in problems):
        problems.insert(0, f"The stage could not be registered: {failure}")
    return StageHealth(
        stage=report.name,
        healthy=not problems,
        paused=report.paused,
        due=report.due,
        oldest_due_seconds=report.oldest_due_seconds,
        oldest_ready_seconds=report.oldest_ready_seconds,
        stuck=report.stuck,
        consumers=report.consumers,
        last_tick=report.last_tick,
        problems=problems,
    )


def _get_scheduler_state(context: AppContext) -> str:
    if context.scheduler is None:
        return "disabled"
    return "running" if context.scheduler.is_running else "stopped"
