"""The lists of endpoints and of deliveries: how they can be narrowed and sorted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from scrapersky.http.lists import Contains, Has, Is, Listing, OneOf, When
from scrapersky.http.lists.filters import Conditions, Given, Parameters
from scrapersky.models import (
    DELIVERY_WORDS,
    Actor,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookEvent,
)

ENDPOINTS = Listing(
    name="Webhook",
    model=WebhookEndpoint,
    filters=(
        Is("is_active", WebhookEndpoint.is_active),
        Contains("search", (WebhookEndpoint.description,), says="In the description."),
        OneOf("created_by", WebhookEndpoint.created_by),
        When("created", WebhookEndpoint.created_at),
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
        OneOf("status", WebhookDelivery.status, words=DELIVERY_WORDS.all),
        OneOf("event", WebhookDelivery.event, words=tuple(each.value for each in WebhookEvent)),
        OneOf(
            "subject_id",
            WebhookDelivery.subject_id,
            says="Only about this lead, contact, domain or job.",
        ),
        When("created", WebhookDelivery.created_at),
        Contains("error", (WebhookDelivery.error,)),
        Has("has_error", WebhookDelivery.error),
    ),
    sorts={
        "created_at": WebhookDelivery.created_at,
        "delivered_at": WebhookDelivery.delivered_at,
        "attempts": WebhookDelivery.attempts,
    },
)


@dataclass(frozen=True)
class OfEndpoint:
    """Fixed by where the list stands, so nobody has to ask for it."""

    endpoint_id: UUID

    def parameters(self) -> Parameters:
        return {}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        yield WebhookDelivery.endpoint_id == self.endpoint_id


def deliveries_of(endpoint_id: UUID) -> Listing:
    """Its name makes its cursors good for this endpoint only."""
    return replace(
        DELIVERIES,
        name=f"{DELIVERIES.name} {endpoint_id}",
        filters=(*DELIVERIES.filters, OfEndpoint(endpoint_id)),
    )
