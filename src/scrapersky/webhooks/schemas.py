"""Webhook endpoints and deliveries in the API. The secret is shown only once."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from scrapersky.models import Actor, Role, WebhookDelivery, WebhookEndpoint, WebhookEvent

EXAMPLE_URL = "https://hooks.example.com/catch/4711"

SubscribableEvent = Literal[
    WebhookEvent.LEAD_COMPLETED,
    WebhookEvent.CONTACT_CREATED,
    WebhookEvent.DOMAIN_COMPLETED,
    WebhookEvent.SITEMAP_CHANGED,
    WebhookEvent.JOB_FINISHED,
]
"""All but `test`, which is sent to whom it is meant for."""
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

    url: WebhookUrl = Field(description="Where events are posted, by http or https.")
    events: SubscribedEvents = Field(
        description="What it is told of.", examples=[["lead.completed"]]
    )
    description: WebhookDescription | None = None
    is_active: bool = True


class WebhookChange(BaseModel):
    """What is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")

    url: WebhookUrl | None = None
    events: SubscribedEvents | None = None
    description: WebhookDescription | None = Field(default=None, description="Null takes it away.")
    is_active: bool | None = Field(
        default=None, description="Switched off, it is told nothing, and what waits is skipped."
    )

    def changes(self) -> dict[str, Any]:
        """Null means nothing where there must be something."""
        given = self.model_dump(exclude_unset=True)
        return {k: v for k, v in given.items() if v is not None or k == "description"}


class WebhookOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    url: str = Field(
        description="Whole for admins; others see the host, for the rest may open something.",
        examples=[EXAMPLE_URL],
    )
    events: list[str] = Field(examples=[["lead.completed"]])
    description: str | None
    is_active: bool
    failures: int = Field(description="Tries in a row that failed.")
    last_error: str | None
    last_delivery_at: datetime | None = Field(description="When something was last taken.")
    created_by: UUID
    created_at: datetime
    updated_at: datetime


class NewWebhook(WebhookOut):
    secret: str = Field(description="Signs what is sent. Shown this once; keep it.")


class DeliveryOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID = Field(description="The same on every try; receivers know a repetition by it.")
    endpoint_id: UUID
    event: str = Field(examples=["lead.completed"])
    subject_id: UUID | None = Field(description="Of the lead, contact, domain or job.")
    status: str = Field(examples=["delivered"])
    attempts: int
    next_attempt_at: datetime | None = Field(description="Only while it waits.")
    response_status: int | None = Field(description="Of the last answer.", examples=[200])
    error: str | None = Field(description="Why it was not taken, or was not sent.")
    created_at: datetime
    delivered_at: datetime | None


class DeliveryDetail(DeliveryOut):
    data: dict[str, Any] = Field(description="What is told, as `data` of the event.")


def webhook_out(endpoint: WebhookEndpoint, actor: Actor) -> WebhookOut:
    shown = WebhookOut.model_validate(endpoint)
    if actor.role.includes(Role.ADMIN):
        return shown
    return shown.model_copy(update={"url": mask_url(endpoint.url)})


def new_webhook(endpoint: WebhookEndpoint, secret: str) -> NewWebhook:
    return NewWebhook(**WebhookOut.model_validate(endpoint).model_dump(), secret=secret)


def mask_url(url: str) -> str:
    """`https://hooks.example.com/…`: of many receivers the path is all one needs to know."""
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
