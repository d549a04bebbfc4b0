"""What is wrong right now, what was, and whether it was told."""

from __future__ import annotations

from collections import defaultdict
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.control.health_line import health_line
from scrapersky.dashboard.live import LiveView, Looked, Parts
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.http.auth import OperatorViewer
from scrapersky.http.context import AppContext, Overview
from scrapersky.operations.alert_routes import AlertsOut, alerts_out
from scrapersky.operations.alerts import firing_now, recent
from scrapersky.pipeline.report import full_standing
from scrapersky.pipeline.tables import AlertPost
from scrapersky.redaction import redact

router = APIRouter(route_class=PageRoute)


@router.get("/alerts")
async def alerts_page(actor: OperatorViewer, show: Showing, session: Overview) -> HTMLResponse:
    values = await _values(show.context, session)
    return show.page("control/alerts.html", title="Alerts", **values)


async def _values(context: AppContext, session: AsyncSession) -> dict[str, Any]:
    now = await full_standing(session, context.stages, context.settings)
    firing = await firing_now(session, now)
    alerts = alerts_out(firing, await recent(session))
    return {
        "health": health_line(context, now),
        "alerts": alerts,
        "told": await _told(session, alerts),
        "webhook": bool(context.settings.alert_webhook_url),
        "stage_names": [each.name for each in context.stages],
    }


async def _told(session: AsyncSession, alerts: AlertsOut) -> dict[UUID, str]:
    """What became of each alert's posts to the webhook, in words."""
    noted = [each.id for each in alerts.firing if each.id]
    ids = [*noted, *(each.id for each in alerts.recent)]
    found = await session.scalars(
        select(AlertPost).where(AlertPost.alert_id.in_(ids)).order_by(AlertPost.id)
    )
    said = defaultdict[UUID, list[str]](list)
    for each in found:
        said[each.alert_id].append(f"{each.event}: {_ended(each)}")
    return {alert: "; ".join(words) for alert, words in said.items()}


def _ended(post: AlertPost) -> str:
    if post.ended_at is None:
        why = f", {redact(post.error)}" if post.error else ""
        return f"waiting, {post.attempts} tries{why}"
    return "taken" if post.error is None else f"given up, {redact(post.error)}"


async def _parts(looked: Looked) -> Parts:
    if not looked.actor.is_operator:
        return {}
    values = await _values(looked.show.context, looked.session)
    return {
        "health": looked.show.part("control/health.html", **values),
        "firing": looked.show.part("control/firing.html", **values),
        "past": looked.show.part("control/past_alerts.html", **values),
    }


ALERTS_VIEW = LiveView("alerts", _parts, operator=True)
