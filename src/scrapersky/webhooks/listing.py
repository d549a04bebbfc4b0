"""Filters and sorting of webhook endpoints and deliveries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from scrapersky.lists import (
    BooleanFilter,
    ChoiceFilter,
    DateRangeFilter,
    Listing,
    PresenceFilter,
    TextFilter,
)
from scrapersky.lists.filters import FilterConditions, FilterParameters, FilterValues
from scrapersky.models import (
    DELIVERY_STATUSES,
    Actor,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookEvent,
)

ENDPOINTS = Listing(
    name="Webhook",
    model=WebhookEndpoint,
    filters=(
        BooleanFilter("is_active", WebhookEndpoint.is_active),
        TextFilter(
            "search", (WebhookEndpoint.description,), says="Text to search for in the description."
        ),
        ChoiceFilter("created_by", WebhookEndpoint.created_by),
        DateRangeFilter("created", WebhookEndpoint.created_at),
    ),
    sorts={
        "created_at": WebhookEndpoint.created_at,
        "last_delivery_at": WebhookEndpoint.last_delivery_at,
        "failures": WebhookEndpoint.failures,
    },
)

DELIVERIES = Listing(
    name="WebhookDelivery",
    model=WebhookDelivery,
    filters=(
        ChoiceFilter("status", WebhookDelivery.status, words=DELIVERY_STATUSES.all),
        ChoiceFilter(
            "event", WebhookDelivery.event, words=tuple(each.value for each in WebhookEvent)
        ),
        ChoiceFilter(
            "subject_id",
            WebhookDelivery.subject_id,
            says="Only deliveries about this lead, contact, domain or job.",
        ),
        DateRangeFilter("created", WebhookDelivery.created_at),
        TextFilter("error", (WebhookDelivery.error,)),
        PresenceFilter("has_error", WebhookDelivery.error),
    ),
    sorts={
        "created_at": WebhookDelivery.created_at,
        "delivered_at": WebhookDelivery.delivered_at,
        "attempts": WebhookDelivery.attempts,
    },
)


@dataclass(frozen=True)
class EndpointFilter:
    """Fixed filter on the endpoint in the path, without a query parameter."""

    endpoint_id: UUID

    def parameters(self) -> FilterParameters:
        return {}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        yield WebhookDelivery.endpoint_id == self.endpoint_id


def build_delivery_listing(endpoint_id: UUID) -> Listing:
    """Build the list of one endpoint's deliveries. Its name ties the cursors to this endpoint."""
    return replace(
        DELIVERIES,
        name=f"{DELIVERIES.name} {endpoint_id}",
        filters=(*DELIVERIES.filters, EndpointFilter(endpoint_id)),
    )
