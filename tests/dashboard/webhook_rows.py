"""Webhook endpoints with deliveries, for tests of their pages."""

from __future__ import annotations

from typing import Any

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import WebhookDelivery, WebhookEndpoint
from tests.stage_cases import OWNED

SECRET = "sk_hook_of_a_test_that_nobody_is_to_see"


def an_endpoint(**more: Any) -> WebhookEndpoint:
    known = {"url": "https://crm.example/in", "events": ["lead.completed"], "secret": SECRET}
    return WebhookEndpoint(id=uuid7(), **{**OWNED, **known, **more})


def a_delivery(endpoint: WebhookEndpoint, **more: Any) -> WebhookDelivery:
    known: dict[str, Any] = {"event": "lead.completed", "payload": {"name": "Backhaus Berger"}}
    return WebhookDelivery(
        id=uuid7(), tenant_id=endpoint.tenant_id, endpoint_id=endpoint.id, **{**known, **more}
    )


async def store(database: Database, *rows: Any) -> None:
    async with database.transaction() as session:
        for each in rows:
            session.add(each)
            await session.flush()


async def an_endpoint_with_deliveries(database: Database) -> tuple[str, ...]:
    """The addresses of the pages about them."""
    endpoint = an_endpoint(failures=2, last_error="It answered 500.", description="Our CRM")
    failed = a_delivery(endpoint, status="failed", error="It answered 500.", response_status=500)
    await store(database, endpoint, failed, a_delivery(endpoint, status="delivered"))
    return f"/webhooks/{endpoint.id}", f"/webhook-deliveries/{failed.id}"
