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


@router.get("/webhooks", summary="Webhooks, newest first")
async def list_webhooks(
    actor: Viewer, session: Reading, asked: Annotated[ListQuery, Depends(ENDPOINTS.parse_query)]
) -> ListPage[WebhookOut]:
    found = await ENDPOINTS.show(session, actor, asked)
    return found.to_page(lambda each: webhook_out(each, actor))


@router.post(
    "/webhooks",
    status_code=201,
    summary="Have events posted to a URL",
    dependencies=[RETURNS_SECRET],
    responses=problem_responses(409),
)
async def create_webhook(
    actor: Admin, context: Context, session: Transaction, wanted: WebhookIn
) -> NewWebhook:
    """The answer holds the secret that signs what is sent, this once."""
    made = await service.create(session, actor, context.settings, **wanted.model_dump())
    return new_webhook(*made)


@router.get("/webhooks/{webhook_id}", summary="One webhook", responses=problem_responses(404))
async def get_webhook(actor: Viewer, session: Reading, webhook_id: UUID) -> WebhookOut:
    return webhook_out(await service.get(session, actor, webhook_id), actor)


@router.patch("/webhooks/{webhook_id}", summary="Change it", responses=problem_responses(404))
async def change_webhook(
    actor: Admin, context: Context, session: Transaction, webhook_id: UUID, wanted: WebhookChange
) -> WebhookOut:
    """What waits to be told goes to the new address; switched off, it is told nothing."""
    changes = wanted.changes()
    changed = await service.change(session, actor, context.settings, webhook_id, changes)
    return webhook_out(changed, actor)


@router.delete(
    "/webhooks/{webhook_id}",
    status_code=204,
    summary="Delete it",
    responses=problem_responses(404, 409),
)
async def delete_webhook(actor: Admin, session: Transaction, webhook_id: UUID) -> Response:
    """With its deliveries, those that wait too."""
    await service.delete(session, actor, webhook_id)
    return Response(status_code=204)


@router.post(
    "/webhooks/{webhook_id}/secret",
    summary="Give it a new secret",
    dependencies=[RETURNS_SECRET],
    responses=problem_responses(404, 409),
)
async def renew_secret(actor: Admin, session: Transaction, webhook_id: UUID) -> NewWebhook:
    """Shown this once. The one before signs nothing any more."""
    return new_webhook(*await service.renew_secret(session, actor, webhook_id))


@router.post(
    "/webhooks/{webhook_id}/test",
    status_code=202,
    summary="Send it a test",
    responses=problem_responses(404),
)
async def test_webhook(actor: Admin, session: Transaction, webhook_id: UUID) -> DeliveryOut:
    """What comes of it is told by the delivery that is answered. Also sent while it is off."""
    return delivery_out(await service.send_test(session, actor, webhook_id))


@router.get(
    "/webhooks/{webhook_id}/deliveries",
    summary="What it was told, newest first",
    responses=problem_responses(404),
)
async def list_deliveries(
    actor: Viewer,
    session: Reading,
    webhook_id: UUID,
    asked: Annotated[ListQuery, Depends(DELIVERIES.parse_query)],
) -> ListPage[DeliveryOut]:
    endpoint = await service.get(session, actor, webhook_id)
    return (await build_delivery_listing(endpoint.id).show(session, actor, asked)).to_page(
        delivery_out
    )


@router.get(
    "/webhook-deliveries/{delivery_id}", summary="One delivery", responses=problem_responses(404)
)
async def get_delivery(actor: Viewer, session: Reading, delivery_id: UUID) -> DeliveryDetail:
    return delivery_detail(await service.get_delivery(session, actor, delivery_id))


@router.post(
    "/webhook-deliveries/{delivery_id}/redeliver",
    status_code=202,
    summary="Tell it once more",
    responses=problem_responses(404, 409),
)
async def redeliver(actor: Admin, session: Transaction, delivery_id: UUID) -> DeliveryOut:
    """Under the same id, whatever it came to before; only one that has ended."""
    return delivery_out(await service.redeliver(session, actor, delivery_id))
