"""Routes of webhook endpoints and deliveries."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Response

from scrapersky.http.application import Context
from scrapersky.http.auth import Admin, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.idempotency import RETURNS_SECRET
from scrapersky.http.problems import problem_responses
from scrapersky.lists import ListPage, ListQuery
from scrapersky.webhooks import service
from scrapersky.webhooks.listing import DELIVERIES, ENDPOINTS, build_delivery_listing
from scrapersky.webhooks.schemas import (
    DeliveryDetail,
    DeliveryOut,
    NewWebhook,
    WebhookChange,
    WebhookIn,
    WebhookOut,
    delivery_detail,
    delivery_out,
    new_webhook,
    webhook_out,
)

router = APIRouter(tags=["webhooks"], responses=problem_responses(401, 403, 422))


@router.get("/webhooks", summary="List webhooks")
async def list_webhooks(
    actor: Viewer, session: Reading, query: Annotated[ListQuery, Depends(ENDPOINTS.parse_query)]
) -> ListPage[WebhookOut]:
    page = await ENDPOINTS.show(session, actor, query)
    return page.to_page(lambda each: webhook_out(each, actor))


@router.post(
    "/webhooks",
    status_code=201,
    summary="Create a webhook",
    dependencies=[RETURNS_SECRET],
    responses=problem_responses(409),
)
async def create_webhook(
    actor: Admin, context: Context, session: Transaction, body: WebhookIn
) -> NewWebhook:
    """The response contains the signing secret. It is shown only once."""
    created = await service.create(session, actor, context.settings, **body.model_dump())
    return new_webhook(*created)


@router.get("/webhooks/{webhook_id}", summary="Get a webhook", responses=problem_responses(404))
async def get_webhook(actor: Viewer, session: Reading, webhook_id: UUID) -> WebhookOut:
    return webhook_out(await service.get(session, actor, webhook_id), actor)


@router.patch(
    "/webhooks/{webhook_id}", summary="Update a webhook", responses=problem_responses(404)
)
async def change_webhook(
    actor: Admin, context: Context, session: Transaction, webhook_id: UUID, body: WebhookChange
) -> WebhookOut:
    """Pending deliveries go to the new URL. While the webhook is switched off, nothing is sent."""
    changes = body.changes()
    changed = await service.change(session, actor, context.settings, webhook_id, changes)
    return webhook_out(changed, actor)


@router.delete(
    "/webhooks/{webhook_id}",
    status_code=204,
    summary="Delete a webhook",
    responses=problem_responses(404, 409),
)
async def delete_webhook(actor: Admin, session: Transaction, webhook_id: UUID) -> Response:
    """Also deletes its deliveries, including pending ones."""
    await service.delete(session, actor, webhook_id)
    return Response(status_code=204)


@router.post(
    "/webhooks/{webhook_id}/secret",
    summary="Rotate the signing secret",
    dependencies=[RETURNS_SECRET],
    responses=problem_responses(404, 409),
)
async def renew_secret(actor: Admin, session: Transaction, webhook_id: UUID) -> NewWebhook:
    """The new secret is shown only once. For 24 hours, deliveries carry a signature by each."""
    return new_webhook(*await service.renew_secret(session, actor, webhook_id))


@router.post(
    "/webhooks/{webhook_id}/test",
    status_code=202,
    summary="Send a test event",
    responses=problem_responses(404),
)
async def test_webhook(actor: Admin, session: Transaction, webhook_id: UUID) -> DeliveryOut:
    """Also works while the webhook is switched off. Poll the returned delivery for the result."""
    return delivery_out(await service.send_test(session, actor, webhook_id))


@router.get(
    "/webhooks/{webhook_id}/deliveries",
    summary="List deliveries",
    responses=problem_responses(404),
)
async def list_deliveries(
    actor: Viewer,
    session: Reading,
    webhook_id: UUID,
    query: Annotated[ListQuery, Depends(DELIVERIES.parse_query)],
) -> ListPage[DeliveryOut]:
    endpoint = await service.get(session, actor, webhook_id)
    return (await build_delivery_listing(endpoint.id).show(session, actor, query)).to_page(
        delivery_out
    )


@router.get(
    "/webhook-deliveries/{delivery_id}", summary="Get a delivery", responses=problem_responses(404)
)
async def get_delivery(actor: Viewer, session: Reading, delivery_id: UUID) -> DeliveryDetail:
    return delivery_detail(await service.get_delivery(session, actor, delivery_id))


@router.post(
    "/webhook-deliveries/{delivery_id}/redeliver",
    status_code=202,
    summary="Redeliver",
    responses=problem_responses(404, 409),
)
async def redeliver(actor: Admin, session: Transaction, delivery_id: UUID) -> DeliveryOut:
    """Send a finished delivery again with the same id, whatever its result was."""
    return delivery_out(await service.redeliver(session, actor, delivery_id))
