"""Lists of webhook endpoints and deliveries: columns and filters."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from scrapersky.lists import (
    SHOWN,
    CellKind,
    ChoiceFilter,
    Column,
    FixedFilter,
    Listing,
    PresenceFilter,
    TextFilter,
)
from scrapersky.models import DELIVERY_STATUSES, WebhookDelivery, WebhookEndpoint, WebhookEvent

EXAMPLE_URL = "https://hooks.example.com/catch/4711"

ENDPOINTS = Listing(
    name="Webhook",
    model=WebhookEndpoint,
    columns=(
        Column(WebhookEndpoint.id),
        Column(
            WebhookEndpoint.url,
            "URL",
            cli=True,
            says="Admins see the full URL, others only the host: the path may hold a secret.",
            example=EXAMPLE_URL,
        ),
        Column(WebhookEndpoint.events, cli=True, example=["lead.completed"]),
        Column(WebhookEndpoint.description),
        Column(WebhookEndpoint.is_active, "Active", filter=True, cli=True),
        Column(WebhookEndpoint.failures, sort=True, cli=True, says="Consecutive failed attempts."),
        Column(WebhookEndpoint.last_error, cli=True),
        Column(
            WebhookEndpoint.last_delivery_at,
            "Last delivered",
            sort=True,
            cli=True,
            says="Time of the last successful delivery.",
        ),
        Column(WebhookEndpoint.created_by, filter=True),
        Column(WebhookEndpoint.created_at, "Created", filter=True, sort=True),
        Column(WebhookEndpoint.updated_at),
    ),
    filters=(
        TextFilter(
            "search", WebhookEndpoint.description, says="Text to search for in the description."
        ),
    ),
)

DELIVERIES = Listing(
    name="WebhookDelivery",
    model=WebhookDelivery,
    columns=(
        Column(
            WebhookDelivery.id,
            says="The same for every attempt; receivers use it to detect duplicates.",
        ),
        Column(WebhookDelivery.endpoint_id, says="Null for operator alerts (ALERT_WEBHOOK_URL)."),
        Column(
            WebhookDelivery.event,
            filter=WebhookEvent,
            table=SHOWN,
            cli=True,
            example="lead.completed",
        ),
        Column(
            WebhookDelivery.subject_id,
            filter=ChoiceFilter(
                says="Only deliveries about this lead, contact, domain, job or alert."
            ),
            says="Id of the lead, contact, domain, job or alert.",
        ),
        Column(
            WebhookDelivery.status,
            label="State",
            filter=ChoiceFilter(words=DELIVERY_STATUSES.all),
            table=SHOWN,
            cell=CellKind.STATUS,
            cli=True,
            example="delivered",
        ),
        Column(
            WebhookDelivery.response_status,
            "HTTP status",
            table=SHOWN,
            cli=True,
            says="HTTP status of the last response.",
            example=200,
        ),
        Column(WebhookDelivery.attempts, sort=True, table=SHOWN, cli=True),
        Column(
            WebhookDelivery.created_at, "Created", filter=True, sort=True, table=SHOWN, cli=True
        ),
        Column(WebhookDelivery.delivered_at, "Delivered", sort=True, table=SHOWN),
        Column(
            WebhookDelivery.error,
            filter=(TextFilter(), PresenceFilter("has_error")),
            cli=True,
            says="Why the delivery failed or was skipped.",
        ),
    ),
)


def build_delivery_listing(endpoint_id: UUID) -> Listing:
    """Build the list of one endpoint's deliveries. Its name ties the cursors to this endpoint."""
    return replace(
        DELIVERIES,
        name=f"{DELIVERIES.name} {endpoint_id}",
        filters=(*DELIVERIES.filters, FixedFilter(WebhookDelivery.endpoint_id == endpoint_id)),
    )
