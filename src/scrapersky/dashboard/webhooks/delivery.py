"""The page of one delivery: what was told, how it went, and telling it once more."""

from __future__ import annotations

import json
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from scrapersky.dashboard.details.looking import events_of, open_letter
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.dashboard.tables.kinds.webhook_deliveries import ENDED, subject_path
from scrapersky.http.auth import Admin
from scrapersky.http.context import Reading
from scrapersky.integrations import service
from scrapersky.integrations.schemas import delivery_detail
from scrapersky.models.stage_names import DELIVERY_STAGE

router = APIRouter(route_class=PageRoute)

MOST_CHARACTERS = 20_000


@router.get("/webhook-deliveries/{delivery_id}")
async def delivery_page(
    actor: Admin, session: Reading, show: Showing, delivery_id: UUID
) -> HTMLResponse:
    delivery = await service.get_delivery(session, actor, delivery_id)
    endpoint = await service.get(session, actor, delivery.endpoint_id)
    told = json.dumps(delivery.payload, ensure_ascii=False, indent=2)
    return show.page(
        "webhooks/delivery.html",
        title=f"{delivery.event} to {endpoint.description or endpoint.url}",
        delivery=delivery_detail(delivery),
        endpoint=endpoint,
        subject=subject_path(delivery.event, delivery.subject_id),
        told=told[:MOST_CHARACTERS],
        has_ended=delivery.status in ENDED,
        events=await events_of(session, DELIVERY_STAGE, delivery.id),
        letter_id=await open_letter(session, DELIVERY_STAGE, delivery.id),
    )
