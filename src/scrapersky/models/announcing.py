"""Tell receivers what happened: a row for each, in the transaction of what happened.

So nothing is told that was rolled back, and nothing that was committed is forgotten. Who listens is
asked once per transaction; where nobody does, that one look is all it costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic_core import to_jsonable_python
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.models.stage_names import DELIVERY_STAGE
from scrapersky.models.webhooks import WebhookDelivery, WebhookEndpoint, WebhookEvent
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.scraper.fetch import gate_key

Announcement = tuple[UUID, WebhookEvent, UUID | None, Mapping[str, Any]]
"""Whose, what happened, to which row, and what is told of it: the `data` of the event."""
AT_ONCE = 1_000
IN_SESSION = "scrapersky.listeners"


@dataclass(frozen=True)
class Listener:
    """An endpoint that is switched on."""

    id: UUID
    host: str
    events: frozenset[str]


async def announce(
    session: AsyncSession,
    tenant_id: UUID,
    event: WebhookEvent,
    subject_id: UUID | None,
    payload: Mapping[str, Any],
) -> None:
    """Each of the tenant's receivers of this event will be told, once this is committed."""
    await announce_many(session, [(tenant_id, event, subject_id, payload)])


async def announce_many(session: AsyncSession, announcements: Sequence[Announcement]) -> None:
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
        for each in await _listeners(session, tenant_id)
        if event.value in each.events
    ]
    for start in range(0, len(deliveries), AT_ONCE):
        await session.execute(insert(WebhookDelivery), deliveries[start : start + AT_ONCE])
    if deliveries:
        wake_after_commit(session, DELIVERY_STAGE)


async def is_heard(session: AsyncSession, tenant_id: UUID, event: WebhookEvent) -> bool:
    """Whether anybody would be told: ask before working out what to tell."""
    return any(event.value in each.events for each in await _listeners(session, tenant_id))


async def _listeners(session: AsyncSession, tenant_id: UUID) -> Sequence[Listener]:
    """The look is remembered until the transaction or savepoint ends, and so is the hold: an
    endpoint cannot be deleted between being found and being told."""
    current = session.sync_session
    transaction = current.get_nested_transaction() or current.get_transaction()
    noted_in, noted = session.info.get(IN_SESSION, (None, {}))
    if noted_in is None or noted_in is not transaction:
        noted = {}
    if tenant_id not in noted:
        noted[tenant_id] = await _look(session, tenant_id)
        transaction = current.get_nested_transaction() or current.get_transaction()
        session.info[IN_SESSION] = (transaction, noted)
    found: Sequence[Listener] = noted[tenant_id]
    return found


async def _look(session: AsyncSession, tenant_id: UUID) -> Sequence[Listener]:
    found = await session.execute(
        select(WebhookEndpoint.id, WebhookEndpoint.url, WebhookEndpoint.events)
        .where(WebhookEndpoint.tenant_id == tenant_id, WebhookEndpoint.is_active)
        .order_by(WebhookEndpoint.id)
        .with_for_update(read=True, key_share=True)
    )
    return [Listener(each, gate_key(url), frozenset(events)) for each, url, events in found]
