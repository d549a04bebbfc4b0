"""Create, change, test and delete webhook endpoints, redeliver events, deliver operator alerts."""

from __future__ import annotations

import asyncio
import secrets
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import and_, exists, func, or_, select, update
from sqlalchemy import delete as deletion
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.errors import Conflict, InvalidInput, NotFound
from scrapersky.models import Actor, WebhookDelivery, WebhookEndpoint, WebhookEvent, record
from scrapersky.pipeline.bulk import RESET, BulkOptions, restart_rows, retry_on_conflict
from scrapersky.pipeline.claims import get_statements
from scrapersky.pipeline.engine import run_engine
from scrapersky.pipeline.tables import EventKind
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.scraper.http.addresses import DEFAULT_PORTS, AddressRules, is_loopback_name
from scrapersky.scraper.http.fetch import get_gate_key
from scrapersky.scraper.http.fetch_errors import Blocked
from scrapersky.scraper.http.guard import check_url
from scrapersky.settings import Settings
from scrapersky.webhooks.delivery import STAGE, WHSEC_PREFIX
from scrapersky.webhooks.schemas import mask_url

SECRET_BYTES = 32
SECRET_OVERLAP = timedelta(hours=24)
"""For how long deliveries are also signed with the previous secret after a rotation."""
MAX_ENDPOINTS = 200
"""Per tenant: each event creates a row per endpoint."""
MAX_OPERATOR_EVENTS = 100
"""Alerts that one call of `deliver_operator_events` delivers, concurrently."""


async def create(
    session: AsyncSession,
    actor: Actor,
    settings: Settings,
    *,
    url: str,
    events: Sequence[str],
    description: str | None = None,
    is_active: bool = True,
) -> tuple[WebhookEndpoint, str]:
    """Create an endpoint and return it with its signing secret."""
    url = validate_url(url, settings)
    await _check_endpoint_limit(session, actor)
    endpoint = WebhookEndpoint(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        created_by=actor.user_id,
        url=url,
        secret=_new_secret(),
        events=[str(each) for each in events],
        description=description,
        is_active=is_active,
    )
    session.add(endpoint)
    details = {"host": mask_url(url), "events": endpoint.events}
    record(session, actor, "webhook.create", endpoint.id, **details)
    return await _flush_endpoint(session, endpoint), endpoint.secret


def validate_url(url: str, settings: Settings) -> str:
    """Check the URL by the address rules that apply when an event is sent, without a DNS lookup."""
    url, rules = url.strip(), AddressRules.from_webhook_settings(settings)
    try:
        check_url(url, rules)
        get_gate_key(url)
    except (Blocked, ValueError) as error:
        raise InvalidInput(f"Webhooks cannot be sent to this URL. {error}") from error
    parts = urlsplit(url)
    name, port = parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme]
    if is_loopback_name(name) and not rules.is_exempt(name, port):
        raise InvalidInput(
            f"Webhooks cannot be sent to this URL. {name} is this machine. "
            f"Allow it with {rules.setting}."
        )
    return url


def _new_secret() -> str:
    return WHSEC_PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


async def _check_endpoint_limit(session: AsyncSession, actor: Actor) -> None:
    mine = WebhookEndpoint.tenant_id == actor.tenant_id
    there = await session.scalar(select(func.count()).select_from(WebhookEndpoint).where(mine))
    if (there or 0) >= MAX_ENDPOINTS:
        raise Conflict(f"The limit of {MAX_ENDPOINTS} webhooks is reached. Delete one first.")


async def get(session: AsyncSession, actor: Actor, endpoint_id: UUID) -> WebhookEndpoint:
    return await _get_endpoint(session, actor, endpoint_id)


async def change(
    session: AsyncSession,
    actor: Actor,
    settings: Settings,
    endpoint_id: UUID,
    changes: Mapping[str, Any],
) -> WebhookEndpoint:
    """Change an endpoint. Pending deliveries go to the new URL."""
    endpoint = await _get_endpoint(session, actor, endpoint_id, held=True)
    new_values = dict(changes)
    if "url" in new_values:
        new_values["url"] = validate_url(new_values["url"], settings)
        await _redirect_pending_deliveries(session, endpoint, new_values["url"])
    if new_values.get("is_active") and not endpoint.is_active:
        endpoint.failures, endpoint.last_error = 0, None
    for name, value in new_values.items():
        setattr(endpoint, name, value)
    details = {
        **new_values,
        **({"url": mask_url(new_values["url"])} if "url" in new_values else {}),
    }
    record(session, actor, "webhook.change", endpoint.id, changes=details)
    return await _flush_endpoint(session, endpoint)


async def _redirect_pending_deliveries(
    session: AsyncSession, endpoint: WebhookEndpoint, url: str
) -> None:
    waiting = WebhookDelivery.status == STAGE.words.queued
    await session.execute(
        update(WebhookDelivery)
        .where(WebhookDelivery.endpoint_id == endpoint.id, waiting)
        .values(host=get_gate_key(url))
        .execution_options(synchronize_session=False)
    )


async def renew_secret(
    session: AsyncSession, actor: Actor, endpoint_id: UUID
) -> tuple[WebhookEndpoint, str]:
    """Replace the signing secret. Deliveries are signed with both for SECRET_OVERLAP."""
    endpoint = await _get_endpoint(session, actor, endpoint_id, held=True)
    endpoint.previous_secret = endpoint.secret
    endpoint.previous_secret_expires_at = func.now() + SECRET_OVERLAP
    endpoint.secret = _new_secret()
    record(session, actor, "webhook.renew_secret", endpoint.id)
    return await _flush_endpoint(session, endpoint), endpoint.secret


async def delete(session: AsyncSession, actor: Actor, endpoint_id: UUID) -> None:
    """Delete an endpoint with all its deliveries."""
    endpoint = await _get_endpoint(session, actor, endpoint_id)

    async def deed() -> None:
        gone = deletion(WebhookEndpoint).where(WebhookEndpoint.id == endpoint.id)
        await session.execute(gone.execution_options(synchronize_session=False))

    await retry_on_conflict(session, deed)
    record(session, actor, "webhook.delete", endpoint_id, host=mask_url(endpoint.url))


async def send_test(session: AsyncSession, actor: Actor, endpoint_id: UUID) -> WebhookDelivery:
    """Queue a test event. It is sent even if the endpoint is switched off, to try it first."""
    endpoint = await _get_endpoint(session, actor, endpoint_id)
    delivery = WebhookDelivery(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        endpoint_id=endpoint.id,
        host=get_gate_key(endpoint.url),
        event=WebhookEvent.TEST.value,
        payload={"message": "This is a test.", "webhook_id": str(endpoint.id)},
    )
    session.add(delivery)
    wake_after_commit(session, STAGE.name)
    record(session, actor, "webhook.test", endpoint.id, delivery_id=str(delivery.id))
    await session.flush()
    await session.refresh(delivery)
    return delivery


async def get_delivery(session: AsyncSession, actor: Actor, delivery_id: UUID) -> WebhookDelivery:
    delivery = await session.scalar(
        select(WebhookDelivery).where(
            WebhookDelivery.id == delivery_id, WebhookDelivery.tenant_id == actor.tenant_id
        )
    )
    if delivery is None:
        raise NotFound(f"There is no delivery {delivery_id}.")
    return delivery


async def redeliver(session: AsyncSession, actor: Actor, delivery_id: UUID) -> WebhookDelivery:
    """Queue a finished delivery again with the same id."""
    delivery = await get_delivery(session, actor, delivery_id)
    which = [WebhookDelivery.id == delivery_id]
    restarted = await restart_rows(
        session, STAGE, RESET, which, options=BulkOptions(by=actor.user_id)
    )
    if not restarted:
        raise Conflict(
            f"Delivery {delivery_id} is {delivery.status}. Only a finished one can be redelivered."
        )
    record(session, actor, "webhook.redeliver", delivery_id, event=delivery.event)
    await session.refresh(delivery)
    return delivery


async def deliver_operator_events(database: Database, settings: Settings) -> int:
    """Deliver due operator alerts in this process, and return how many were accepted.

    Workers deliver them like any other event. But an alert must also arrive when no worker is left,
    the stage is paused or its runs fail, so the process that evaluates the alerts does not rely on
    them. It claims the rows as a worker does, so each is delivered by one process.
    """
    claims = get_statements(STAGE)
    ours = WebhookDelivery.endpoint_id.is_(None)
    dead_after = timedelta(seconds=settings.worker_dead_after_seconds)
    is_lost = and_(claims.is_processing(), claims.is_lost(dead_after))
    async with database.reading() as session:
        if not await session.scalar(select(exists().where(ours, or_(claims.is_due(), is_lost)))):
            return 0
    # Starting the engine requeues lost rows. Its heartbeat keeps others from rescuing ours.
    async with run_engine(database, settings, [STAGE]) as engine:
        async with database.reading() as session:
            due = select(WebhookDelivery.id).where(ours, claims.is_due())
            first = due.order_by(WebhookDelivery.id).limit(MAX_OPERATOR_EVENTS)
            ids = (await session.scalars(first)).all()
        runner = engine.runner(STAGE.name)
        claimed = [held for each in ids if (held := await runner.claim_by_id(each))]
        ends = await asyncio.gather(*runner.begin_all(claimed))
    return ends.count(EventKind.COMPLETED)


async def _get_endpoint(
    session: AsyncSession, actor: Actor, endpoint_id: UUID, *, held: bool = False
) -> WebhookEndpoint:
    statement = select(WebhookEndpoint).where(
        WebhookEndpoint.id == endpoint_id, WebhookEndpoint.tenant_id == actor.tenant_id
    )
    endpoint = await session.scalar(
        statement.with_for_update(key_share=True) if held else statement
    )
    if endpoint is None:
        raise NotFound(f"There is no webhook {endpoint_id}.")
    return endpoint


async def _flush_endpoint(session: AsyncSession, endpoint: WebhookEndpoint) -> WebhookEndpoint:
    await session.flush()
    await session.refresh(endpoint)
    return endpoint
