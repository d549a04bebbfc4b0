"""Create, change, test and delete webhook endpoints, and redeliver events."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import delete as deletion
from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.errors import Conflict, InvalidInput, NotFound
from scrapersky.models import Actor, WebhookDelivery, WebhookEndpoint, WebhookEvent, record
from scrapersky.models.accounts import KEY_PREFIX
from scrapersky.pipeline.bulk import RESET, BulkOptions, restart_rows, retry_on_conflict
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.scraper.http.addresses import DEFAULT_PORTS, AddressRules, is_loopback_name
from scrapersky.scraper.http.fetch import get_gate_key
from scrapersky.scraper.http.fetch_errors import Blocked
from scrapersky.scraper.http.guard import check_url
from scrapersky.settings import Settings
from scrapersky.webhooks.delivery import STAGE
from scrapersky.webhooks.schemas import mask_url

SECRET_PREFIX = f"{KEY_PREFIX}hook_"
"""Starts like our API keys, so that redaction removes it from texts too."""
MAX_ENDPOINTS = 200
"""Per tenant: each event creates a row per endpoint."""


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
    said = {"host": mask_url(url), "events": endpoint.events}
    record(session, actor, "webhook.create", endpoint.id, **said)
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
    return SECRET_PREFIX + secrets.token_urlsafe(32)


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
    wanted = dict(changes)
    if "url" in wanted:
        wanted["url"] = validate_url(wanted["url"], settings)
        await _redirect_pending_deliveries(session, endpoint, wanted["url"])
    if wanted.get("is_active") and not endpoint.is_active:
        endpoint.failures, endpoint.last_error = 0, None
    for name, value in wanted.items():
        setattr(endpoint, name, value)
    said = {**wanted, **({"url": mask_url(wanted["url"])} if "url" in wanted else {})}
    record(session, actor, "webhook.change", endpoint.id, changes=said)
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
    """Replace the signing secret, from the next delivery on."""
    endpoint = await _get_endpoint(session, actor, endpoint_id, held=True)
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
    found = await session.scalar(
        select(WebhookDelivery).where(
            WebhookDelivery.id == delivery_id, WebhookDelivery.tenant_id == actor.tenant_id
        )
    )
    if found is None:
        raise NotFound(f"There is no delivery {delivery_id}.")
    return found


async def redeliver(session: AsyncSession, actor: Actor, delivery_id: UUID) -> WebhookDelivery:
    """Queue a finished delivery again with the same id."""
    delivery = await get_delivery(session, actor, delivery_id)
    which = [WebhookDelivery.id == delivery_id]
    taken = await restart_rows(session, STAGE, RESET, which, manner=BulkOptions(by=actor.user_id))
    if not taken:
        raise Conflict(
            f"Delivery {delivery_id} is {delivery.status}. Only a finished one can be redelivered."
        )
    record(session, actor, "webhook.redeliver", delivery_id, event=delivery.event)
    await session.refresh(delivery)
    return delivery


async def _get_endpoint(
    session: AsyncSession, actor: Actor, endpoint_id: UUID, *, held: bool = False
) -> WebhookEndpoint:
    wanted = select(WebhookEndpoint).where(
        WebhookEndpoint.id == endpoint_id, WebhookEndpoint.tenant_id == actor.tenant_id
    )
    endpoint = await session.scalar(wanted.with_for_update(key_share=True) if held else wanted)
    if endpoint is None:
        raise NotFound(f"There is no webhook {endpoint_id}.")
    return endpoint


async def _flush_endpoint(session: AsyncSession, endpoint: WebhookEndpoint) -> WebhookEndpoint:
    await session.flush()
    await session.refresh(endpoint)
    return endpoint
