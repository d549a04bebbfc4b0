"""The stages, all together and one by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.control.cards import card, cards
from scrapersky.dashboard.control.health_line import health_line
from scrapersky.dashboard.control.powers import powers_of
from scrapersky.dashboard.live import LiveView, Looked, Parts
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Show, Showing
from scrapersky.http.auth import OperatorViewer
from scrapersky.http.context import AppContext, Overview
from scrapersky.operations.service import find_stage
from scrapersky.pipeline.report import full_standing
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import StageEvent

EVENTS = 50

router = APIRouter(route_class=PageRoute)


@router.get("/stages")
async def stages_page(actor: OperatorViewer, show: Showing, session: Overview) -> HTMLResponse:
    values = await _all(show.context, session)
    return show.page("control/stages.html", title="Stages", powers=powers_of(actor), **values)


@router.get("/stages/{name}")
async def stage_page(
    actor: OperatorViewer, show: Showing, session: Overview, name: str
) -> HTMLResponse:
    stage = find_stage(show.context.stages, name)
    values = await _one(show.context, session, stage)
    fed_by = [each for each in show.context.stages if stage.name in each.feeds]
    return show.page(
        "control/stage.html", title=stage.name, powers=powers_of(actor), fed_by=fed_by, **values
    )


async def _all(context: AppContext, session: AsyncSession) -> dict[str, Any]:
    standing = await full_standing(session, context.stages, context.settings)
    return {
        "cards": cards(standing, context.stages),
        "health": health_line(context, standing),
    }


async def _one(context: AppContext, session: AsyncSession, stage: AnyStage) -> dict[str, Any]:
    """All stages are asked, for the line about health is about all."""
    standing = await full_standing(session, context.stages, context.settings)
    return {
        "card": card(standing, stage),
        "health": health_line(context, standing),
        "events": await recent_events(session, stage),
    }


async def recent_events(session: AsyncSession, stage: AnyStage) -> Sequence[StageEvent]:
    found = await session.scalars(
        select(StageEvent)
        .where(StageEvent.stage == stage.name)
        .order_by(StageEvent.at.desc(), StageEvent.id.desc())
        .limit(EVENTS)
    )
    return found.all()


async def _stages_parts(looked: Looked) -> Parts:
    if not looked.actor.is_operator:
        return {}
    values = await _all(looked.show.context, looked.session)
    figures = {
        f"stage-{each.report.name}": looked.show.part("control/stage_now.html", card=each)
        for each in values["cards"]
    }
    return {"health": _health_part(looked.show, values), **figures}


async def _stage_parts(looked: Looked) -> Parts:
    if not looked.actor.is_operator:
        return {}
    stage = find_stage(looked.show.context.stages, looked.subject)
    values = await _one(looked.show.context, looked.session, stage)
    return {
        "health": _health_part(looked.show, values),
        f"stage-{stage.name}": looked.show.part("control/stage_now.html", **values),
        "pace": looked.show.part("control/pace.html", **values),
        "events": looked.show.part("control/events.html", **values),
    }


def _health_part(show: Show, values: dict[str, Any]) -> str:
    return show.part("control/health.html", health=values["health"])


STAGES_VIEW = LiveView("stages", _stages_parts, operator=True)
STAGE_VIEW = LiveView("stage", _stage_parts, operator=True)
