"""`scrapersky webhook`: create, list, test and delete webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
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
    build_table,
    format_count,
    format_status,
    format_time,
    note,
    out,
    print_json,
    print_table,
)
from scrapersky.cli.session import CommandContext, run_in_transaction, run_with_context
from scrapersky.lists import ListQuery
from scrapersky.lists.filters import FilterValues
from scrapersky.models import DELIVERY_STATUSES, WebhookDelivery, WebhookEndpoint, WebhookEvent
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
    asked = ListQuery(given, limit=limit)

    async def step(session: AsyncSession, everything: CommandContext) -> list[WebhookOut]:
        actor = await switch_tenant(session, everything.actor, tenant)
        rows = (await ENDPOINTS.show(session, actor, asked)).rows
        return [webhook_out(each, actor) for each in rows]

    return run_in_transaction(
        step, lambda found: print_json(found) if as_json else _print_webhooks(found)
    )


def _print_webhooks(found: Sequence[WebhookOut]) -> None:
    if not found:
        out.print("No webhooks.")
        return
    made = build_table(
        "Webhook", "URL", "Events", "Active", "Failures", "Last delivered", right=["Failures"]
    )
    for each in found:
        words = (escape(each.url), ", ".join(each.events), "yes" if each.is_active else "no")
        made.add_row(str(each.id), *words, str(each.failures), format_time(each.last_delivery_at))
    print_table(made)
    for each in found:
        if each.last_error:
            note(f"{each.id}: {each.last_error}")


@app.command()
def create(
    url: Annotated[str, typer.Argument(help="URL that receives the events.")],
    events: Events,
    description: Annotated[str | None, typer.Option(help="Description of the webhook.")] = None,
    tenant: TenantOption = None,
) -> int:
    """Create a webhook and print its signing secret. The secret is shown only once."""
    wanted = validate_input(
        WebhookIn, url=url, events=[each.value for each in events], description=description
    )

    async def step(
        session: AsyncSession, everything: CommandContext
    ) -> tuple[WebhookEndpoint, str]:
        actor = await switch_tenant(session, everything.actor, tenant)
        given = wanted.model_dump()
        return await service.create(session, actor, everything.settings, **given)

    def show(made: tuple[WebhookEndpoint, str]) -> None:
        endpoint, secret = made
        out.print(secret, markup=False, highlight=False, soft_wrap=True)
        note(f"Webhook {endpoint.id}. The signing secret is shown only once; save it now.")

    return run_in_transaction(step, show)


@app.command("test")
def send_test(webhook_id: Webhook, wait: Wait = 30, tenant: TenantOption = None) -> int:
    """Send a test event and show the result. Needs a running worker or server."""

    async def command(everything: CommandContext) -> int:
        async with everything.database.transaction() as session:
            actor = await switch_tenant(session, everything.actor, tenant)
            delivery = await service.send_test(session, actor, webhook_id)
        note(f"Delivery {delivery.id} queued.")
        return (
            _print_delivery_result(await _wait_for_delivery(everything, delivery, wait))
            if wait
            else ExitCode.OK
        )

    return run_with_context(command)


async def _wait_for_delivery(
    everything: CommandContext, delivery: WebhookDelivery, seconds: float
) -> DeliveryOut:
    """Return the delivery after its first attempt, or when the time is up."""
    for _ in range(max(1, round(seconds / POLL_SECONDS))):
        await asyncio.sleep(POLL_SECONDS)
        async with everything.database.reading() as session:
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

    async def one(session: AsyncSession, everything: CommandContext, named: UUID) -> UUID:
        actor = await switch_tenant(session, everything.actor, tenant)
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
    asked = ListQuery(given, limit=limit)

    async def step(session: AsyncSession, everything: CommandContext) -> list[DeliveryOut]:
        actor = await switch_tenant(session, everything.actor, tenant)
        endpoint = await service.get(session, actor, webhook_id)
        rows = (await build_delivery_listing(endpoint.id).show(session, actor, asked)).rows
        return [delivery_out(each) for each in rows]

    return run_in_transaction(
        step, lambda found: print_json(found) if as_json else _print_deliveries(found)
    )


def _print_deliveries(found: Sequence[DeliveryOut]) -> None:
    if not found:
        out.print("No deliveries.")
        return
    made = build_table(
        "Delivery",
        "Event",
        "Status",
        "Attempts",
        "Response",
        "Created",
        "Error",
        right=["Attempts"],
    )
    for each in found:
        answer = str(each.response_status or "")
        facts = (str(each.attempts), answer, format_time(each.created_at), escape(each.error or ""))
        made.add_row(str(each.id), each.event, format_status(each.status), *facts)
    print_table(made)
