"""The workers page: live workers and those without a heartbeat."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.live import LiveContext, LiveView, Parts
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.views.health import build_health_line
from scrapersky.http.application import AppContext
from scrapersky.http.auth import OperatorViewer
from scrapersky.http.context import Overview
from scrapersky.pipeline.report import load_status
from scrapersky.pipeline.tables import Worker

router = APIRouter(route_class=PageRoute)


@dataclass(frozen=True)
class WorkerLine:
    worker: Worker
    alive: bool

    @property
    def in_flight(self) -> int:
        return sum(int(each.get("in_flight") or 0) for each in self.worker.stages.values())

    @property
    def hears(self) -> str:
        """Whether it receives push wake-ups for new rows."""
        labels = {"up": "yes", "down": "no", "off": "not needed"}
        return labels.get(str(self.worker.vitals.get("listener")), "")

    @property
    def deaf_since(self) -> datetime | None:
        since = self.worker.vitals.get("deaf_since")
        return datetime.fromtimestamp(since, UTC) if since else None

    @property
    def free_disk(self) -> str:
        free = self.worker.vitals.get("disk_free_bytes")
        return "" if free is None else f"{free / 1024**3:,.1f} GiB"


@router.get("/workers")
async def workers_page(actor: OperatorViewer, show: Renderer, session: Overview) -> HTMLResponse:
    values = await _load_values(show.context, session)
    return show.page("control/workers.html", title="Workers", **values)


async def _load_values(context: AppContext, session: AsyncSession) -> dict[str, Any]:
    now = await load_status(session, context.stages, context.settings)
    alive = {each.id for each in now.workers}
    known = await session.scalars(select(Worker).order_by(Worker.started_at, Worker.id))
    lines = [WorkerLine(each, each.id in alive) for each in known]
    return {
        "health": build_health_line(context, now),
        "workers": sorted(lines, key=lambda each: not each.alive),
        "dead_after": context.settings.worker_dead_after_seconds,
    }


async def _render_parts(live: LiveContext) -> Parts:
    if not live.actor.is_operator:
        return {}
    values = await _load_values(live.show.context, live.session)
    return {
        "health": live.show.part("control/health.html", **values),
        "workers": live.show.part("control/worker_list.html", **values),
    }


WORKERS_VIEW = LiveView("workers", _render_parts, operator=True)
