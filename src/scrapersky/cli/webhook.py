"""`scrapersky webhook`: create, list, test and delete webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth.tenants import switch_tenant
from scrapersky.cli.bulk import Yes, run_for_each
from scrapersky.cli.errors import ExitCode
from scrapersky.cli.options import (
    AGE_OPTIONS,
    AsJson,
    Limit,
    TenantOption,
    add_filter_options,
    confirm_irreversible,
    validate_input,
)
from scrapersky.cli.output import (
    format_count,
    note,
    out,
)
from scrapersky.cli.rows import list_rows
from scrapersky.cli.session import CommandContext, run_in_transaction, run_with_context
from scrapersky.lists import ListQuery
from scrapersky.lists.filters import FilterValues
from scrapersky.models import (
    DELIVERY_STATUSES,
    Actor,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookEvent,
)
from scrapersky.webhooks import service
from scrapersky.webhooks.listing import DELIVERIES, ENDPOINTS, build_delivery_listing
from scrapersky.webhooks.schemas import (
    DeliveryOut,
    WebhookIn,
    WebhookOut,
    delivery_out,
    webhook_out,
)

app = typer.Typer(help="Manage webhooks.", no_args_is_help=True)

POLL_SECONDS = 0.2
FINAL_STATUSES = frozenset(DELIVERY_STATUSES.all) - {
    DELIVERY_STATUSES.queued,
    DELIVERY_STATUSES.processing,
}

Webhook = Annotated[UUID, typer.Argument(help="Webhook id; see `scrapersky webhook list`.")]
Webhooks = Annotated[list[UUID], typer.Argument(help="Webhook ids; see `scrapersky webhook list`.")]
Events = Annotated[list[WebhookEvent], typer.Option("--event", help="Event to send. Repeatable.")]
Wait = Annotated[
    float,
    typer.Option("--wait", min=0, help="Seconds to wait for the result; 0 returns immediately."),
]


@app.command("list")
@add_filter_options(ENDPOINTS, **AGE_OPTIONS)
def list_webhooks(
    given: FilterValues, tenant: TenantOption = None, limit: Limit = 50, as_json: AsJson = False
) -> int:
    """List webhooks, newest first."""

    async def prepare(
        _: AsyncSession, actor: Actor, rows: Sequence[WebhookEndpoint]
    ) -> list[WebhookOut]:
        return [webhook_out(each, actor) for each in rows]

    return list_rows(
        ENDPOINTS,
        ListQuery(given, limit=limit),
        "webhook",
        WebhookOut.model_validate,
        as_json=as_json,
        tenant=tenant,
        prepare=prepare,
    )


@app.command()
def create(
    url: Annotated[str, typer.Argument(help="URL that receives the events.")],
    events: Events,
    description: Annotated[str | None, typer.Option(help="Description of the webhook.")] = None,
    tenant: TenantOption = None,
) -> int:
    """Create a webhook and print its signing secret. The secret is shown only once."""
    body = validate_input(
        WebhookIn, url=url, events=[each.value for each in events], description=description
    )

    async def step(session: AsyncSession, context: CommandContext) -> tuple[WebhookEndpoint, str]:
        actor = await switch_tenant(session, context.actor, tenant)
        values = body.model_dump()
        return await service.create(session, actor, context.settings, **values)

    def show(created: tuple[WebhookEndpoint, str]) -> None:
        endpoint, secret = created
        out.print(secret, markup=False, highlight=False, soft_wrap=True)
        note(f"Webhook {endpoint.id}. The signing secret is shown only once; save it now.")

    return run_in_transaction(step, show)


@app.command("test")
def send_test(webhook_id: Webhook, wait: Wait = 30, tenant: TenantOption = None) -> int:
    """Send a test event and show the result. Needs a running worker or server."""

    async def command(context: CommandContext) -> int:
        async with context.database.transaction() as session:
            actor = await switch_tenant(session, context.actor, tenant)
            delivery = await service.send_test(session, actor, webhook_id)
        note(f"Delivery {delivery.id} queued.")
        return (
            _print_delivery_result(await _wait_for_delivery(context, delivery, wait))
            if wait
            else ExitCode.OK
        )

    return run_with_context(command)


async def _wait_for_delivery(
    context: CommandContext, delivery: WebhookDelivery, seconds: float
) -> DeliveryOut:
    """Return the delivery after its first attempt, or when the time is up."""
    for _ in range(max(1, round(seconds / POLL_SECONDS))):
        await asyncio.sleep(POLL_SECONDS)
        async with context.database.reading() as session:
            now = await session.get_one(WebhookDelivery, delivery.id)
        if now.status in FINAL_STATUSES or now.error:
            break
    return delivery_out(now)


def _print_delivery_result(delivery: DeliveryOut) -> int:
    if delivery.status == DELIVERY_STATUSES.done:
        out.print(f"Delivered: {delivery.response_status}.", highlight=False)
        return ExitCode.OK
    why = delivery.error or "No attempt yet. Is a worker running?"
    out.print(f"Not delivered. {why}", highlight=False, markup=False, soft_wrap=True)
    return ExitCode.FAILED


@app.command()
def delete(webhook_ids: Webhooks, tenant: TenantOption = None, yes: Yes = False) -> int:
    """Delete webhooks with their deliveries, including pending ones."""
    confirm_irreversible(
        f"{format_count(len(webhook_ids), 'webhook')} will be deleted, with all deliveries.",
        yes=yes,
    )

    async def one(session: AsyncSession, context: CommandContext, named: UUID) -> UUID:
        actor = await switch_tenant(session, context.actor, tenant)
        await service.delete(session, actor, named)
        return named

    return run_for_each(one, webhook_ids, tell=lambda gone: note(f"Webhook {gone} deleted."))


@app.command()
@add_filter_options(DELIVERIES, **AGE_OPTIONS)
def deliveries(
    given: FilterValues,
    webhook_id: Webhook,
    tenant: TenantOption = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> int:
    """List deliveries of a webhook, newest first."""

    async def prepare(
        session: AsyncSession, actor: Actor, rows: Sequence[WebhookDelivery]
    ) -> list[DeliveryOut]:
        await service.get(session, actor, webhook_id)  # an unknown webhook is an error
        return [delivery_out(each) for each in rows]

    return list_rows(
        build_delivery_listing(webhook_id),
        ListQuery(given, limit=limit),
        "delivery",
        DeliveryOut.model_validate,
        as_json=as_json,
        tenant=tenant,
        prepare=prepare,
    )
