"""The page of one endpoint: how it does, and everything it was told as a table."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse

from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import HEADERS, Showing
from scrapersky.dashboard.tables.address import Address
from scrapersky.dashboard.tables.asking import Wanted, view_asked
from scrapersky.dashboard.tables.kinds.webhook_deliveries import deliveries_table
from scrapersky.dashboard.tables.view import view_of
from scrapersky.dashboard.webhooks.shown import EVENTS, Shown
from scrapersky.http.auth import Admin
from scrapersky.http.context import Reading
from scrapersky.integrations import service
from scrapersky.integrations.listing import DELIVERIES, deliveries_of

router = APIRouter(route_class=PageRoute)
asked = view_asked(deliveries_table(DELIVERIES))


@router.get("/webhooks/{webhook_id}")
async def webhook_page(
    actor: Admin,
    session: Reading,
    show: Showing,
    webhook_id: UUID,
    wanted: Annotated[Wanted, Depends(asked)],
) -> HTMLResponse:
    endpoint = await service.get(session, actor, webhook_id)
    address = Address.of(f"/webhooks/{endpoint.id}", show.request.query_params.multi_items())
    table = deliveries_table(deliveries_of(endpoint.id))
    view = await view_of(table, session, actor, wanted, address)
    if wanted.only_rows:
        return HTMLResponse(show.part("tables/rows.html", view=view), headers=HEADERS)
    title = endpoint.description or endpoint.url
    shown = Shown(endpoint)
    return show.page("webhooks/endpoint.html", title=title, view=view, shown=shown, events=EVENTS)
