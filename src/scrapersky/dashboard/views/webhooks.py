"""Webhook endpoints, the page of one endpoint with its deliveries, and the page of one delivery."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from sqlalchemy import select

from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row
from scrapersky.dashboard.details import find_open_dead_letter, list_events
from scrapersky.dashboard.filters import ViewUrl
from scrapersky.dashboard.formats import EMPTY_VALUE, format_time, render_badge
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import PAGE_HEADERS, Renderer
from scrapersky.dashboard.table import EmptyState, Table, TableAction, TableColumn
from scrapersky.dashboard.table_view import ViewRequest, build_view_dependency, load_view
from scrapersky.http.auth import Admin
from scrapersky.http.context import Reading
from scrapersky.lists import Listing
from scrapersky.models import DELIVERY_STATUSES, WebhookEndpoint, WebhookEvent
from scrapersky.models.stage_names import DELIVERY_STAGE
from scrapersky.webhooks import service
from scrapersky.webhooks.listing import DELIVERIES, build_delivery_listing
from scrapersky.webhooks.schemas import delivery_detail
from scrapersky.webhooks.service import MAX_ENDPOINTS

REDELIVER_PATH = f"/stages/{DELIVERY_STAGE}/rows/reset"
ENDED_STATUSES = (DELIVERY_STATUSES.done, DELIVERY_STATUSES.failed, DELIVERY_STATUSES.skipped)
SUBJECT_KINDS = {
    WebhookEvent.LEAD_COMPLETED: "leads",
    WebhookEvent.CONTACT_CREATED: "contacts",
    WebhookEvent.DOMAIN_COMPLETED: "domains",
    WebhookEvent.SITEMAP_CHANGED: "domains",
    WebhookEvent.JOB_FINISHED: "jobs",
}


def build_subject_path(event: str, subject_id: UUID | None) -> str:
    """Return the path of the event's subject; None if it has no page."""
    kind = SUBJECT_KINDS.get(WebhookEvent(event))
    return f"/{kind}/{subject_id}" if kind and subject_id else ""


def _subject_cell(row: Row, _: bool) -> Markup:
    path = build_subject_path(row.event, row.subject_id)
    if not path:
        return EMPTY_VALUE
    return Markup('<a href="{}">the {}</a>').format(path, path.split("/")[1].removesuffix("s"))


def _state_cell(row: Row, _: bool) -> Markup:
    cell = render_badge(row.status) + cells.subtext(row.error)
    if row.status != DELIVERY_STATUSES.queued or not row.attempts:
        return cell
    return cell + Markup('<div class="why">retry {}</div>').format(format_time(row.due_at))


def _redeliver_cell(row: Row, may_change: bool) -> Markup:
    if row.status not in ENDED_STATUSES or not may_change:
        return Markup("")
    path = f"/webhook-deliveries/{row.id}/redeliver"
    return cells.row_button(
        row, cells.RowButton("Redeliver", "POST", path, "", "Queued for redelivery")
    )


def build_deliveries_table(listing: Listing) -> Table:
    """Build the table of one endpoint's deliveries."""
    return Table(
        kind="webhook-deliveries",
        title="Deliveries",
        noun="delivery",
        says="",
        listing=listing,
        search="",
        segments="status",
        acts=(
            TableAction(
                "Redeliver", REDELIVER_PATH, "queued for redelivery", key="r", by_filter=False
            ),
        ),
        labels={"error": "Error contains"},
        order="event status response_status attempts about",
        cells={
            "event": cells.row_link("webhook-deliveries", cells.attribute("event")),
            "status": _state_cell,
        },
        extra=(
            TableColumn("about", "Subject", _subject_cell),
            TableColumn("again", "Redeliver", _redeliver_cell),
        ),
        nothing=EmptyState(
            "No deliveries yet. Send a test, or wait: deliveries appear here as soon as one of its "
            "events happens."
        ),
    )


delivery_router = APIRouter(route_class=PageRoute)

MAX_PAYLOAD_LENGTH = 20_000


@delivery_router.get("/webhook-deliveries/{delivery_id}")
async def delivery_page(
    actor: Admin, session: Reading, show: Renderer, delivery_id: UUID
) -> HTMLResponse:
    delivery = await service.get_delivery(session, actor, delivery_id)
    endpoint_id = delivery.endpoint_id
    endpoint = await service.get(session, actor, endpoint_id) if endpoint_id else None
    receiver = (endpoint.description or endpoint.url) if endpoint else "ALERT_WEBHOOK_URL"
    payload = json.dumps(delivery.payload, ensure_ascii=False, indent=2)
    return show.page(
        "webhooks/delivery.html",
        title=f"{delivery.event} to {receiver}",
        delivery=delivery_detail(delivery),
        endpoint=endpoint,
        receiver=receiver,
        subject=build_subject_path(delivery.event, delivery.subject_id),
        told=payload[:MAX_PAYLOAD_LENGTH],
        has_ended=delivery.status in ENDED_STATUSES,
        events=await list_events(session, DELIVERY_STAGE, delivery.id),
        letter_id=await find_open_dead_letter(session, DELIVERY_STAGE, delivery.id),
    )


EVENT_LABELS = {
    WebhookEvent.LEAD_COMPLETED: "All pages of a lead were read.",
    WebhookEvent.CONTACT_CREATED: "A new e-mail address, phone number or profile was found.",
    WebhookEvent.DOMAIN_COMPLETED: "A site's home page was read.",
    WebhookEvent.SITEMAP_CHANGED: "A site's sitemaps list other pages than before.",
    WebhookEvent.JOB_FINISHED: "A search or scan finished or failed.",
}
"""Descriptions of the events."""


@dataclass(frozen=True)
class EndpointLine:
    endpoint: WebhookEndpoint

    @property
    def state(self) -> str:
        if not self.endpoint.is_active:
            return "disabled"
        if self.endpoint.failures:
            return "failing"
        return "working" if self.endpoint.last_delivery_at else "not used yet"

    @property
    def tone(self) -> str:
        tones = {"failing": "bad", "working": "good", "disabled": "poor"}
        return tones.get(self.state, "plain")

    @property
    def tries(self) -> str:
        count = self.endpoint.failures
        return "The last attempt failed" if count == 1 else f"The last {count:,} attempts failed"

    @property
    def events_json(self) -> str:
        """Events for the edit form."""
        return json.dumps(self.endpoint.events)


endpoint_router = APIRouter(route_class=PageRoute)
parse_deliveries_request = build_view_dependency(build_deliveries_table(DELIVERIES))


@endpoint_router.get("/webhooks/{webhook_id}")
async def webhook_page(
    actor: Admin,
    session: Reading,
    show: Renderer,
    webhook_id: UUID,
    wanted: Annotated[ViewRequest, Depends(parse_deliveries_request)],
) -> HTMLResponse:
    endpoint = await service.get(session, actor, webhook_id)
    address = ViewUrl.of(f"/webhooks/{endpoint.id}", show.request.query_params.multi_items())
    table = build_deliveries_table(build_delivery_listing(endpoint.id))
    view = await load_view(table, session, actor, wanted, address)
    if wanted.only_rows:
        return HTMLResponse(show.part("tables/rows.html", view=view), headers=PAGE_HEADERS)
    title = endpoint.description or endpoint.url
    line = EndpointLine(endpoint)
    return show.page(
        "webhooks/endpoint.html", title=title, view=view, shown=line, events=EVENT_LABELS
    )


endpoints_router = APIRouter(route_class=PageRoute)


@endpoints_router.get("/webhooks")
async def webhooks_page(actor: Admin, session: Reading, show: Renderer) -> HTMLResponse:
    rows = await session.scalars(
        select(WebhookEndpoint)
        .where(WebhookEndpoint.tenant_id == actor.tenant_id)
        .order_by(WebhookEndpoint.created_at.desc(), WebhookEndpoint.id.desc())
        .limit(MAX_ENDPOINTS)
    )
    return show.page(
        "webhooks/endpoints.html",
        title="Webhooks",
        endpoints=[EndpointLine(each) for each in rows],
        events=EVENT_LABELS,
    )
