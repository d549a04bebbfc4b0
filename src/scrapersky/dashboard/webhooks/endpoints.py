"""All endpoints of a tenant. There are at most a few dozen."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import select

from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.dashboard.webhooks.shown import EVENTS, Shown
from scrapersky.http.auth import Admin
from scrapersky.http.context import Reading
from scrapersky.integrations.service import MOST_ENDPOINTS
from scrapersky.models import WebhookEndpoint

router = APIRouter(route_class=PageRoute)


@router.get("/webhooks")
async def webhooks_page(actor: Admin, session: Reading, show: Showing) -> HTMLResponse:
    found = await session.scalars(
        select(WebhookEndpoint)
        .where(WebhookEndpoint.tenant_id == actor.tenant_id)
        .order_by(WebhookEndpoint.created_at.desc(), WebhookEndpoint.id.desc())
        .limit(MOST_ENDPOINTS)
    )
    return show.page(
        "webhooks/endpoints.html",
        title="Webhooks",
        endpoints=[Shown(each) for each in found],
        events=EVENTS,
    )
