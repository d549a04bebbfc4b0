"""The stages page and the page of one stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.live import LiveContext, LiveView, Parts
from scrapersky.dashboard.navigation import ROW_PATHS
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import PageRenderer, Renderer
from scrapersky.dashboard.views.health import build_health_line, get_operator_permissions
from scrapersky.dashboard.views.settings import get_origin_label, get_startup_source
from scrapersky.http.application import AppContext
from scrapersky.http.auth import OperatorViewer
from scrapersky.http.context import Overview
from scrapersky.operations.configuration import format_value
from scrapersky.operations.service import INTEGER_FIELDS, MAX_PACE, find_stage
from scrapersky.pipeline.flow import CHANGEABLE_FIELDS
from scrapersky.pipeline.report import PipelineStatus, StageReport, load_full_status
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import StageEvent
from scrapersky.settings import Settings

PACE_LABELS = {
    "interval_minutes": "Interval (minutes)",
    "batch_size": "Batch size",
    "max_instances": "Concurrent runs",
    "concurrency": "Concurrency",
    "timeout_seconds": "Timeout (seconds)",
    "max_attempts": "Maximum attempts",
    "high_water": "Backpressure limit",
}


@dataclass(frozen=True)
class PaceLine:
    """One value of a pace and its origin."""

    name: str
    says: str
    value: str
    """The effective value."""
    changed: str
    """The operator's override; empty if there is none."""
    by_settings: str
    origin: str
    variable: str
    changeable: bool
    step: str
    most: float | None


@dataclass(frozen=True)
class StageCard:
    stage: AnyStage
    report: StageReport
    note: str | None
    """Reason for the pause, if given."""
    pace: Sequence[PaceLine]

    @property
    def state(self) -> str:
        if self.report.paused:
            return "paused"
        if self.report.problems:
            return "unhealthy"
        return "held back" if self.report.held_back else "healthy"

    @property
    def list_path(self) -> str | None:
        return ROW_PATHS.get(self.stage.model.__tablename__)


def build_stage_cards(status: PipelineStatus, stages: Sequence[AnyStage]) -> list[StageCard]:
    return [build_stage_card(status, each) for each in stages]


def build_stage_card(status: PipelineStatus, stage: AnyStage) -> StageCard:
    control = status.controls.get(stage.name)
    changes = (control.pace if control else None) or {}
    note = control.note if control and control.paused else None
    lines = build_pace_lines(stage, status.settings, changes)
    return StageCard(stage, status.report(stage), note, lines)


def build_pace_lines(
    stage: AnyStage, settings: Settings, changes: Mapping[str, Any]
) -> tuple[PaceLine, ...]:
    defaults = asdict(stage.get_pace(settings))
    return tuple(
        _build_pace_line(stage, settings, name, defaults[name], changes.get(name))
        for name in defaults
    )


def _build_pace_line(
    stage: AnyStage, settings: Settings, name: str, default: Any, change: Any
) -> PaceLine:
    variable = f"{stage.prefix}_{name.upper()}"
    changeable = name in CHANGEABLE_FIELDS
    changed = format_value(change) if changeable else ""
    by_settings = format_value(default)
    origin = get_origin_label(get_startup_source(settings).get_origin(variable))
    return PaceLine(
        name=name,
        says=PACE_LABELS.get(name, name.replace("_", " ")),
        value=changed or by_settings,
        changed=changed,
        by_settings=by_settings,
        origin=origin,
        variable=variable,
        changeable=changeable,
        step="1" if name in INTEGER_FIELDS else "any",
        most=MAX_PACE.get(name),
    )


MAX_EVENTS = 50

router = APIRouter(route_class=PageRoute)


@router.get("/stages")
async def stages_page(actor: OperatorViewer, show: Renderer, session: Overview) -> HTMLResponse:
    values = await _load_stages(show.context, session)
    return show.page(
        "control/stages.html", title="Stages", powers=get_operator_permissions(actor), **values
    )


@router.get("/stages/{name}")
async def stage_page(
    actor: OperatorViewer, show: Renderer, session: Overview, name: str
) -> HTMLResponse:
    stage = find_stage(show.context.stages, name)
    values = await _load_stage(show.context, session, stage)
    fed_by = [each for each in show.context.stages if stage.name in each.feeds]
    return show.page(
        "control/stage.html",
        title=stage.name,
        powers=get_operator_permissions(actor),
        fed_by=fed_by,
        **values,
    )


async def _load_stages(context: AppContext, session: AsyncSession) -> dict[str, Any]:
    status = await load_full_status(session, context.stages, context.settings)
    return {
        "cards": build_stage_cards(status, context.stages),
        "health": build_health_line(context, status),
    }


async def _load_stage(
    context: AppContext, session: AsyncSession, stage: AnyStage
) -> dict[str, Any]:
    """Load all stages, because the health line covers all of them."""
    status = await load_full_status(session, context.stages, context.settings)
    return {
        "card": build_stage_card(status, stage),
        "health": build_health_line(context, status),
        "events": await list_recent_events(session, stage),
    }


async def list_recent_events(session: AsyncSession, stage: AnyStage) -> Sequence[StageEvent]:
    rows = await session.scalars(
        select(StageEvent)
        .where(StageEvent.stage == stage.name)
        .order_by(StageEvent.at.desc(), StageEvent.id.desc())
        .limit(MAX_EVENTS)
    )
    return rows.all()


async def _render_stages_parts(live: LiveContext) -> Parts:
    if not live.actor.is_operator:
        return {}
    values = await _load_stages(live.show.context, live.session)
    figures = {
        f"stage-{each.report.name}": live.show.part("control/stage_now.html", card=each)
        for each in values["cards"]
    }
    return {"health": _render_health(live.show, values), **figures}


async def _render_stage_parts(live: LiveContext) -> Parts:
    if not live.actor.is_operator:
        return {}
    stage = find_stage(live.show.context.stages, live.subject)
    values = await _load_stage(live.show.context, live.session, stage)
    return {
        "health": _render_health(live.show, values),
        f"stage-{stage.name}": live.show.part("control/stage_now.html", **values),
        "pace": live.show.part("control/pace.html", **values),
        "events": live.show.part("control/events.html", **values),
    }


def _render_health(show: PageRenderer, values: dict[str, Any]) -> str:
    return show.part("control/health.html", health=values["health"])


STAGES_VIEW = LiveView("stages", _render_stages_parts, operator=True)
STAGE_VIEW = LiveView("stage", _render_stage_parts, operator=True)
