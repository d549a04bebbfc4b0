"""The health line of the operations pages, operator permissions, and the alerts page."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.live import LiveContext, LiveView, Parts
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.http.application import AppContext
from scrapersky.http.auth import OperatorViewer
from scrapersky.http.context import Overview
from scrapersky.http.health import SchedulersHealth, build_schedulers_health
from scrapersky.models import DELIVERY_STATUSES, Actor, Role, WebhookDelivery
from scrapersky.operations.alerts import list_firing_alerts, list_recent_alerts
from scrapersky.operations.routes import AlertsOut, alerts_out
from scrapersky.pipeline.queue_stats import describe_count
from scrapersky.pipeline.report import PipelineStatus, load_full_status
from scrapersky.redaction import redact


@dataclass(frozen=True)
class HealthLine:
    ok: bool
    sentence: str
    problems: tuple[tuple[str, str], ...] = ()
    """Stage and message; the stage is empty for problems of the whole installation."""
    paused: tuple[str, ...] = ()


def build_health_line(context: AppContext, status: PipelineStatus) -> HealthLine:
    health = build_schedulers_health(context, status)
    of_stages = ((each.stage, problem) for each in health.stages for problem in each.problems)
    problems = (*of_stages, *(("", problem) for problem in health.problems))
    paused = tuple(each.stage for each in health.stages if each.paused)
    if health.status == "healthy":
        return HealthLine(True, _describe_healthy(health, len(status.workers)), (), paused)
    return HealthLine(False, _describe_problems(health, problems), problems, paused)


def _describe_healthy(health: SchedulersHealth, workers: int) -> str:
    counts = [each.due for each in health.stages]
    rows = "row" if sum(counts) == 1 else "rows"
    return f"{describe_count(*counts)} {rows} due, {_pluralize(workers, 'worker')}."


def _describe_problems(health: SchedulersHealth, problems: tuple[tuple[str, str], ...]) -> str:
    if health.scheduler_here == "stopped":
        return "The scheduler of this process has stopped."
    more = f" And {len(problems) - 1} more." if len(problems) > 1 else ""
    return f"{problems[0][1]}{more}"


def _pluralize(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


router = APIRouter(route_class=PageRoute)


@router.get("/alerts")
async def alerts_page(actor: OperatorViewer, show: Renderer, session: Overview) -> HTMLResponse:
    values = await _load_values(show.context, session)
    return show.page("control/alerts.html", title="Alerts", **values)


async def _load_values(context: AppContext, session: AsyncSession) -> dict[str, Any]:
    now = await load_full_status(session, context.stages, context.settings)
    firing = await list_firing_alerts(session, now)
    alerts = alerts_out(firing, await list_recent_alerts(session))
    return {
        "health": build_health_line(context, now),
        "alerts": alerts,
        "told": await _load_webhook_outcomes(session, alerts),
        "webhook": bool(context.settings.alert_webhook_url),
        "stage_names": [each.name for each in context.stages],
    }


async def _load_webhook_outcomes(session: AsyncSession, alerts: AlertsOut) -> dict[UUID, str]:
    """Describe the state of each alert's deliveries to ALERT_WEBHOOK_URL."""
    noted = [each.id for each in alerts.firing if each.id]
    ids = [*noted, *(each.id for each in alerts.recent)]
    rows = await session.scalars(
        select(WebhookDelivery)
        .where(WebhookDelivery.endpoint_id.is_(None), WebhookDelivery.subject_id.in_(ids))
        .order_by(WebhookDelivery.created_at)
    )
    outcomes = defaultdict[UUID | None, list[str]](list)
    for each in rows:
        outcomes[each.subject_id].append(f"{each.event.removeprefix('alert.')}: {_describe(each)}")
    return {alert: "; ".join(words) for alert, words in outcomes.items() if alert}


def _describe(delivery: WebhookDelivery) -> str:
    why = f", {redact(delivery.error)}" if delivery.error else ""
    if delivery.status == DELIVERY_STATUSES.queued and delivery.attempts:
        return f"retrying, {_pluralize(delivery.attempts, 'attempt')}{why}"
    return f"{delivery.status}{why}"


async def _render_parts(live: LiveContext) -> Parts:
    if not live.actor.is_operator:
        return {}
    values = await _load_values(live.show.context, live.session)
    return {
        "health": live.show.part("control/health.html", **values),
        "firing": live.show.part("control/firing.html", **values),
        "past": live.show.part("control/past_alerts.html", **values),
    }


ALERTS_VIEW = LiveView("alerts", _render_parts, operator=True)


@dataclass(frozen=True)
class OperatorPermissions:
    run: bool
    """Run queues now."""
    steer: bool
    """Pause and resume stages, change their pace and reset hosts."""


def get_operator_permissions(actor: Actor) -> OperatorPermissions:
    operator = actor.is_operator
    return OperatorPermissions(
        run=operator and actor.role.includes(Role.CURATOR),
        steer=operator and actor.role.includes(Role.ADMIN),
    )
