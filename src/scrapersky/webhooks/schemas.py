"""Bodies of webhook endpoints and deliveries. The secret is shown only once."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from scrapersky.lists import RowSchema
from scrapersky.models import Actor, Role, WebhookDelivery, WebhookEndpoint, WebhookEvent
from scrapersky.webhooks.listing import DELIVERIES, ENDPOINTS, EXAMPLE_URL

SubscribableEvent = Literal[
    WebhookEvent.LEAD_COMPLETED,
    WebhookEvent.CONTACT_CREATED,
    WebhookEvent.DOMAIN_COMPLETED,
    WebhookEvent.SITEMAP_CHANGED,
    WebhookEvent.JOB_FINISHED,
]
"""All events but `test`, which is sent to any endpoint, and alerts, which are the operator's."""
SubscribedEvents = Annotated[
    list[SubscribableEvent],
    Field(min_length=1, max_length=len(WebhookEvent)),
    AfterValidator(lambda given: list(dict.fromkeys(given))),
]
WebhookUrl = Annotated[str, Field(min_length=1, max_length=2_000, examples=[EXAMPLE_URL])]
WebhookDescription = Annotated[
    str, Field(min_length=1, max_length=200, examples=["Leads to our CRM"])
]


class WebhookIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: WebhookUrl = Field(description="URL that receives the events (http or https).")
    events: SubscribedEvents = Field(description="Events to send.", examples=[["lead.completed"]])
    description: WebhookDescription | None = None
    is_active: bool = True


class WebhookChange(BaseModel):
    """Changes to a webhook; omitted fields stay unchanged."""

    model_config = ConfigDict(extra="forbid")

    url: WebhookUrl | None = None
    events: SubscribedEvents | None = None
    description: WebhookDescription | None = Field(
        default=None, description="Null removes the description."
    )
    is_active: bool | None = Field(
        default=None,
        description="While false, no events are sent and pending deliveries are skipped.",
    )

    def changes(self) -> dict[str, Any]:
        """Return the given fields; null is ignored for fields that are required."""
        given = self.model_dump(exclude_unset=True)
        return {k: v for k, v in given.items() if v is not None or k == "description"}


class WebhookOut(RowSchema, columns=ENDPOINTS.all_columns):
    pass


class NewWebhook(WebhookOut):
    secret: str = Field(
        description="The signing secret. It is shown only once.",
        examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="],
    )
    previous_secret_expires_at: datetime | None = Field(
        description="Until then, deliveries are signed with the previous secret too."
    )


class DeliveryOut(RowSchema, columns=DELIVERIES.all_columns):
    next_attempt_at: datetime | None = Field(
        description="When the next attempt is due. Only while it is pending."
    )


class DeliveryDetail(DeliveryOut):
    data: dict[str, Any] = Field(description="The `data` of the event.")


def webhook_out(endpoint: WebhookEndpoint, actor: Actor) -> WebhookOut:
    shown = WebhookOut.model_validate(endpoint)
    if actor.role.includes(Role.ADMIN):
        return shown
    return shown.model_copy(update={"url": mask_url(endpoint.url)})


def new_webhook(endpoint: WebhookEndpoint, secret: str) -> NewWebhook:
    return NewWebhook(
        **WebhookOut.model_validate(endpoint).model_dump(),
        secret=secret,
        previous_secret_expires_at=endpoint.previous_secret_expires_at,
    )


def mask_url(url: str) -> str:
    """Return `https://hooks.example.com/…`: the path of many receivers is itself the credential."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/…"


def delivery_out(delivery: WebhookDelivery) -> DeliveryOut:
    return DeliveryOut(**_build_delivery_fields(delivery))


def delivery_detail(delivery: WebhookDelivery) -> DeliveryDetail:
    return DeliveryDetail(**_build_delivery_fields(delivery), data=delivery.payload)


def _build_delivery_fields(delivery: WebhookDelivery) -> dict[str, Any]:
    same = set(DeliveryOut.model_fields) - {"next_attempt_at"}
    waits = delivery.status == "pending"
    return {
        **{name: getattr(delivery, name) for name in same},
        "next_attempt_at": delivery.due_at if waits else None,
    }
