"""Emit webhook events: one delivery row per subscribed endpoint.

Deliveries are written in the transaction of the change, so nothing is sent for a change that was
rolled back, and no committed change is missed. Subscribers are loaded once per transaction; without
any, that query is the only cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic_core import to_jsonable_python
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from yarl import URL

from scrapersky.db.base import uuid7
from scrapersky.models.accounts import DEFAULT_TENANT_ID
from scrapersky.models.stage_names import DELIVERY_STAGE
from scrapersky.models.webhooks import WebhookDelivery, WebhookEndpoint, WebhookEvent
from scrapersky.pipeline.wake import wake_after_commit

PendingEvent = tuple[UUID, WebhookEvent, UUID | None, Mapping[str, Any]]
"""An event to deliver: tenant, event type, row, and the event's `data`."""
INSERT_BATCH_ROWS = 1_000
SUBSCRIBERS_KEY = "scrapersky.listeners"


@dataclass(frozen=True)
class WebhookSubscriber:
    """An enabled endpoint."""

    id: UUID
    host: str
    events: frozenset[str]


async def emit_event(
    session: AsyncSession,
    tenant_id: UUID,
    event: WebhookEvent,
    subject_id: UUID | None,
    payload: Mapping[str, Any],
) -> None:
    """Queue the event for each of the tenant's subscribers. It is sent after the commit."""
    await emit_events(session, [(tenant_id, event, subject_id, payload)])


async def emit_events(session: AsyncSession, announcements: Sequence[PendingEvent]) -> None:
    deliveries = [
        {
            "id": uuid7(),
            "tenant_id": tenant_id,
            "endpoint_id": each.id,
            "host": each.host,
            "event": event.value,
            "subject_id": subject_id,
            "payload": to_jsonable_python(payload),
        }
        for tenant_id, event, subject_id, payload in announcements
        for each in await _get_subscribers(session, tenant_id)
        if event.value in each.events
    ]
    await _queue_deliveries(session, deliveries)


async def emit_operator_events(
    session: AsyncSession, events: Sequence[tuple[WebhookEvent, UUID, Mapping[str, Any]]]
) -> None:
    """Queue events for ALERT_WEBHOOK_URL, each with the ID of its subject and its `data`."""
    deliveries = [
        {
            "id": uuid7(),
            "tenant_id": DEFAULT_TENANT_ID,
            "event": event.value,
            "subject_id": subject_id,
            "payload": to_jsonable_python(payload),
        }
        for event, subject_id, payload in events
    ]
    await _queue_deliveries(session, deliveries)


async def _queue_deliveries(session: AsyncSession, deliveries: Sequence[Mapping[str, Any]]) -> None:
    for start in range(0, len(deliveries), INSERT_BATCH_ROWS):
        await session.execute(
            insert(WebhookDelivery), deliveries[start : start + INSERT_BATCH_ROWS]
        )
    if deliveries:
        wake_after_commit(session, DELIVERY_STAGE)


async def has_subscribers(session: AsyncSession, tenant_id: UUID, event: WebhookEvent) -> bool:
    """Return whether the event has subscribers. Check it before building an expensive payload."""
    return any(event.value in each.events for each in await _get_subscribers(session, tenant_id))


async def _get_subscribers(session: AsyncSession, tenant_id: UUID) -> Sequence[WebhookSubscriber]:
    """Load and lock the subscribers, cached until the transaction or savepoint ends.

    The lock keeps an endpoint from being deleted before its delivery is inserted.
    """
    current = session.sync_session
    transaction = current.get_nested_transaction() or current.get_transaction()
    noted_in, noted = session.info.get(SUBSCRIBERS_KEY, (None, {}))
    if noted_in is None or noted_in is not transaction:
        noted = {}
    if tenant_id not in noted:
        noted[tenant_id] = await _load_subscribers(session, tenant_id)
        transaction = current.get_nested_transaction() or current.get_transaction()
        session.info[SUBSCRIBERS_KEY] = (transaction, noted)
    subscribers: Sequence[WebhookSubscriber] = noted[tenant_id]
    return subscribers


async def _load_subscribers(session: AsyncSession, tenant_id: UUID) -> Sequence[WebhookSubscriber]:
    result = await session.execute(
        select(WebhookEndpoint.id, WebhookEndpoint.url, WebhookEndpoint.events)
        .where(WebhookEndpoint.tenant_id == tenant_id, WebhookEndpoint.is_active)
        .order_by(WebhookEndpoint.id)
        .with_for_update(read=True, key_share=True)
    )
    return [
        WebhookSubscriber(each, _get_host(url), frozenset(events)) for each, url, events in result
    ]


def _get_host(url: str) -> str:
    """Return the key of the host gate: lower case, with the port unless it is the default."""
    return (URL(url).host_port_subcomponent or "").lower()
