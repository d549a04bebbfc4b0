"""Stage: deliver events to webhook endpoints and alerts to the operator, signed and retried.

Signatures follow the Standard Webhooks specification.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import Text, Uuid, column, func, literal, or_, select, update, values
from sqlalchemy.ext.asyncio import AsyncSession
from standardwebhooks import Webhook

from scrapersky import __version__
from scrapersky.errors import Rejected, RetryLater, ScraperSkyError, Skipped
from scrapersky.models import (
    DELIVERY_STATUSES,
    Contact,
    ContactKind,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookEvent,
)
from scrapersky.models.stage_names import DELIVERY_STAGE
from scrapersky.models.suppression import build_suppression_conditions
from scrapersky.models.webhook_payloads import API_VERSION
from scrapersky.pipeline.stage import Stage, StoreImmediately, Tools
from scrapersky.redaction import redact
from scrapersky.scraper.http.addresses import AddressRules
from scrapersky.scraper.http.fetch_errors import Blocked, FetchFailed
from scrapersky.scraper.http.webhook_client import (
    WebhookResponse,
    describe_refusal,
    post_payload,
)
from scrapersky.settings import Pace, Settings

MAX_EXCERPT_CHARACTERS = 120


def format_excerpt(body: bytes) -> str:
    """Return ` It said: "…"` with printable, redacted text, or nothing if the body has no text."""
    text = body.decode("utf-8", errors="ignore")
    if "\x00" in text:
        return ""
    plain = "".join(each if each.isprintable() else " " for each in text)
    line = redact(" ".join(plain.split()))
    if not line:
        return ""
    cut = line if len(line) <= MAX_EXCERPT_CHARACTERS else line[: MAX_EXCERPT_CHARACTERS - 1] + "…"
    return f' It said: "{cut}"'


EventData = Mapping[str, Any]
_LIST_FIELDS = {"other_emails": ContactKind.EMAIL, "other_phones": ContactKind.PHONE}
_SINGLE_FIELDS = {"best_email": ContactKind.EMAIL, "phone": ContactKind.PHONE}


async def remove_suppressed(
    session: AsyncSession, tenant_id: UUID, event: str, data: EventData
) -> dict[str, Any]:
    """Return the event data without suppressed contacts. Raises `Skipped` if nothing remains."""
    if event == WebhookEvent.CONTACT_CREATED:
        await _skip_suppressed_contact(session, tenant_id, data)
    if event == WebhookEvent.LEAD_COMPLETED:
        return await _remove_suppressed_from_lead(session, tenant_id, data)
    return dict(data)


async def _skip_suppressed_contact(session: AsyncSession, tenant_id: UUID, data: EventData) -> None:
    """Skip events about a suppressed or deleted contact.

    A deleted contact may have been erased on request, but the event still has its data.
    """
    there = select(Contact.kind, Contact.value).where(
        Contact.tenant_id == tenant_id, Contact.id == UUID(str(data["id"]))
    )
    contact = (await session.execute(there)).one_or_none()
    if contact is None:
        raise Skipped("The contact was deleted.")
    kind, value = contact
    candidates = {(kind, value), (kind, data.get("value"))}
    if await _find_suppressed(session, tenant_id, candidates, site=data.get("domain")):
        raise Skipped("The contact is suppressed.")


async def _remove_suppressed_from_lead(
    session: AsyncSession, tenant_id: UUID, data: EventData
) -> dict[str, Any]:
    contacts = set(_list_contacts(data))
    out = await _find_suppressed(
        session, tenant_id, contacts, site=_parse_host(data.get("website"))
    )
    lists = {
        name: [each for each in data.get(name) or () if (kind, each) not in out]
        for name, kind in _LIST_FIELDS.items()
    }
    single = {
        name: None if (kind, data.get(name)) in out else data.get(name)
        for name, kind in _SINGLE_FIELDS.items()
    }
    return {**data, **lists, **single}


def _list_contacts(data: EventData) -> Iterator[tuple[str, str]]:
    for name, kind in _LIST_FIELDS.items():
        yield from ((kind.value, each) for each in data.get(name) or ())
    yield from ((kind.value, data[name]) for name, kind in _SINGLE_FIELDS.items() if data.get(name))


def _parse_host(website: str | None) -> str | None:
    if not website:
        return None
    return urlsplit(website if "://" in website else f"//{website}").hostname


async def _find_suppressed(
    session: AsyncSession,
    tenant_id: UUID,
    contacts: Iterable[tuple[str, str | None]],
    *,
    site: str | None,
) -> set[tuple[str, str]]:
    rows = [(kind, value, tenant_id) for kind, value in contacts if value]
    if not rows:
        return set()
    input_rows = values(
        column("kind", Text), column("value", Text), column("tenant_id", Uuid), name="given"
    ).data(rows)
    ways = build_suppression_conditions(input_rows.c, literal(site or "", Text))
    result = await session.execute(select(input_rows.c.kind, input_rows.c.value).where(or_(*ways)))
    return {(kind, value) for kind, value in result}


WHSEC_PREFIX = "whsec_"
STATUS_GONE = 410
RETRYABLE_STATUSES = frozenset({408, 425, 429})
"""4xx statuses by which a receiver asks for a retry."""
MIN_RETRY_DELAY = timedelta(seconds=1)
MAX_POSTPONED_AGE = timedelta(days=3)
"""Up to this age, a `Retry-After` from the receiver does not count as an attempt."""


@dataclass(frozen=True)
class WebhookMessage:
    """One event for one endpoint, or for the operator."""

    id: UUID
    tenant_id: UUID
    endpoint_id: UUID | None
    event: str
    data: Mapping[str, Any]
    created_at: datetime
    age: timedelta = timedelta()
    url: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Each signs the message. There are two for a while after a rotation."""

    @property
    def body(self) -> bytes:
        payload = {
            "id": str(self.id),
            "event": self.event,
            "api_version": API_VERSION,
            "created_at": self.created_at.isoformat(),
            "tenant_id": str(self.tenant_id),
            "data": self.data,
        }
        return json.dumps(payload, ensure_ascii=False).encode()


@dataclass(frozen=True)
class DeliverySucceeded:
    """The receiver accepted the event."""

    status: int


@dataclass(frozen=True)
class DeliveryAttemptFailed(StoreImmediately):
    """A failed attempt, stored immediately, so that the endpoint is updated before the row."""

    why: str
    status: int | None = None
    is_gone: bool = False
    """The receiver answered 410 Gone."""


class DeliveryFailed(ScraperSkyError):
    """The event was not accepted; a retry may succeed."""


def read(delivery: WebhookDelivery) -> WebhookMessage:
    return WebhookMessage(
        id=delivery.id,
        tenant_id=delivery.tenant_id,
        endpoint_id=delivery.endpoint_id,
        event=delivery.event,
        data=delivery.payload,
        created_at=delivery.created_at,
    )


async def prepare(session: AsyncSession, message: WebhookMessage) -> WebhookMessage:
    now = (await session.scalars(select(func.now()))).one()
    if message.endpoint_id is None:
        return replace(message, age=now - message.created_at)
    endpoint = await session.get(WebhookEndpoint, message.endpoint_id)
    if endpoint is None:
        raise Skipped("The endpoint was deleted.")
    if not endpoint.is_active and message.event != WebhookEvent.TEST:
        raise Skipped("The endpoint is switched off.")
    return replace(
        message,
        data=await remove_suppressed(session, message.tenant_id, message.event, message.data),
        age=now - message.created_at,
        url=endpoint.url,
        secrets=_list_secrets(endpoint, now),
    )


def _list_secrets(endpoint: WebhookEndpoint, now: datetime) -> tuple[str, ...]:
    expires_at = endpoint.previous_secret_expires_at
    if endpoint.previous_secret is None or expires_at is None or expires_at <= now:
        return (endpoint.secret,)
    return endpoint.secret, endpoint.previous_secret


async def work(
    message: WebhookMessage, tools: Tools
) -> AsyncIterator[DeliverySucceeded | DeliveryAttemptFailed]:
    if message.endpoint_id is None:
        message = _address_to_operator(message, tools.settings)
    try:
        answer = await _post_message(message, tools)
    except FetchFailed as error:
        yield DeliveryAttemptFailed(str(error))
        raise (Rejected if isinstance(error, Blocked) else DeliveryFailed)(str(error)) from error
    if answer.is_accepted:
        yield DeliverySucceeded(answer.status)
        return
    verdict = _classify_response(message, answer)
    yield DeliveryAttemptFailed(str(verdict), answer.status, is_gone=answer.status == STATUS_GONE)
    raise verdict


def _address_to_operator(message: WebhookMessage, settings: Settings) -> WebhookMessage:
    if not settings.alert_webhook_url:
        raise Skipped("ALERT_WEBHOOK_URL is not set.")
    secret = settings.alert_webhook_secret
    return replace(message, url=settings.alert_webhook_url, secrets=(secret,) if secret else ())


async def _post_message(message: WebhookMessage, tools: Tools) -> WebhookResponse:
    body = message.body
    return await post_payload(
        message.url,
        body,
        headers=_build_headers(message, body),
        rules=AddressRules.from_webhook_settings(tools.settings),
        timeout_seconds=tools.settings.webhook_timeout_seconds,
        ca_file=tools.settings.fetch_ca_file,
    )


def _build_headers(message: WebhookMessage, body: bytes) -> dict[str, str]:
    sent_at = datetime.now(UTC)
    signatures = [sign_body(each, message.id, sent_at, body) for each in message.secrets]
    return {
        "Content-Type": "application/json",
        "User-Agent": f"ScraperSky/{__version__}",
        "webhook-id": str(message.id),
        "webhook-timestamp": str(int(sent_at.timestamp())),
        **({"webhook-signature": " ".join(signatures)} if signatures else {}),
    }


def sign_body(secret: str, message_id: UUID, sent_at: datetime, body: bytes) -> str:
    """Return the signature `v1,…` of a body.

    The key is the base64 after `whsec_`. Secrets without this prefix are older or were chosen by a
    person: their own bytes are the key.
    """
    key = secret if secret.startswith(WHSEC_PREFIX) else secret.encode()
    return Webhook(key).sign(str(message_id), sent_at, body.decode())


def _classify_response(message: WebhookMessage, answer: WebhookResponse) -> ScraperSkyError:
    """Map an error response to the outcome of the delivery: rejected, postponed or retried."""
    if answer.status == STATUS_GONE and message.endpoint_id:
        return Rejected("The receiver answered 410 Gone, so the endpoint was switched off.")
    sentence = describe_refusal(message.url, answer)
    if answer.is_public:
        # For a private target only the status: the body could leak internal content (SSRF).
        sentence += format_excerpt(answer.body)
    if 300 <= answer.status < 500 and answer.status not in RETRYABLE_STATUSES:
        return Rejected(sentence)
    wait = answer.retry_after_seconds
    if answer.status in (429, 503) and wait is not None and message.age < MAX_POSTPONED_AGE:
        return RetryLater(sentence, after=max(timedelta(seconds=wait), MIN_RETRY_DELAY))
    return DeliveryFailed(sentence)


async def store(
    session: AsyncSession, delivery: WebhookDelivery, end: DeliverySucceeded | DeliveryAttemptFailed
) -> None:
    delivery.response_status = end.status
    # Alerts have no endpoint: the statements below then match no row.
    if isinstance(end, DeliverySucceeded):
        delivery.delivered_at = func.now()
        await _record_success(session, delivery.endpoint_id)
    else:
        await _record_failure(session, delivery.endpoint_id, end)


async def _record_success(session: AsyncSession, endpoint_id: UUID | None) -> None:
    """Reset the endpoint's failures, with one write per transaction however many deliveries it
    stores.
    """
    endpoint = WebhookEndpoint
    news = or_(
        endpoint.failures > 0,
        endpoint.last_delivery_at.is_(None),
        endpoint.last_delivery_at < func.now(),
    )
    await session.execute(
        update(endpoint)
        .where(endpoint.id == endpoint_id, news)
        .values(failures=0, last_error=None, last_delivery_at=func.now())
        .execution_options(synchronize_session=False)
    )


async def _record_failure(
    session: AsyncSession, endpoint_id: UUID | None, end: DeliveryAttemptFailed
) -> None:
    switched_off = {"is_active": False} if end.is_gone else {}
    await session.execute(
        update(WebhookEndpoint)
        .where(WebhookEndpoint.id == endpoint_id)
        .values(failures=WebhookEndpoint.failures + 1, last_error=end.why, **switched_off)
        .execution_options(synchronize_session=False)
    )


STAGE = Stage(
    name=DELIVERY_STAGE,
    does="Deliver webhook events, with retries until the receiver accepts them.",
    model=WebhookDelivery,
    status="status",
    words=DELIVERY_STATUSES,
    prefix="WEBHOOK_SCHEDULER",
    # The timeout exceeds the longest configurable time for one attempt. A hanging receiver holds
    # HOST_CONCURRENCY of the slots, and there may be several.
    pace=Pace(batch_size=20, concurrency=16, timeout_seconds=75, max_attempts=10),
    host="host",
    fresh={"response_status": None, "delivered_at": None},
    read=read,
    prepare=prepare,
    work=work,
    store=store,
)
