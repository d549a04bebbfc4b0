"""`scrapersky webhook`: who is told of what happens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts.tenants import acting_in
from scrapersky.cli.exits import Exit
from scrapersky.cli.list_options import AGES, narrowed_by
from scrapersky.cli.many import Yes, do_to_each
from scrapersky.cli.options import AsJson, Limit, OfTenant
from scrapersky.cli.output import note, out, print_json, print_table, status, table, when
from scrapersky.cli.session import Opened, run_in_transaction, run_opened
from scrapersky.cli.typed import as_asked, ask
from scrapersky.http.lists import Asked
from scrapersky.http.lists.filters import Given
from scrapersky.integrations import service
from scrapersky.integrations.listing import DELIVERIES, ENDPOINTS, deliveries_of
from scrapersky.integrations.schemas import (
    DeliveryOut,
    WebhookIn,
    WebhookOut,
    delivery_out,
    webhook_out,
)
from scrapersky.models import DELIVERY_WORDS, WebhookDelivery, WebhookEndpoint, WebhookEvent

app = typer.Typer(help="Have events posted to a URL.", no_args_is_help=True)

LOOK_EVERY_SECONDS = 0.2
ENDED = frozenset(DELIVERY_WORDS.all) - {DELIVERY_WORDS.queued, DELIVERY_WORDS.processing}

Webhook = Annotated[UUID, typer.Argument(help="See `scrapersky webhook list`.")]
Webhooks = Annotated[list[UUID], typer.Argument(help="See `scrapersky webhook list`.")]
Events = Annotated[
    list[WebhookEvent], typer.Option("--event", help="What it is told of; several may be given.")
]
Wait = Annotated[
    float, typer.Option("--wait", min=0, help="Seconds to wait for what comes of it; 0: do not.")
]


@app.command("list")
@narrowed_by(ENDPOINTS, **AGES)
def list_webhooks(
    given: Given, tenant: OfTenant = None, limit: Limit = 50, as_json: AsJson = False
) -> int:
    """List webhooks, newest first."""
    asked = Asked(given, limit=limit)

    async def step(session: AsyncSession, everything: Opened) -> list[WebhookOut]:
        actor = await acting_in(session, everything.actor, tenant)
        rows = (await ENDPOINTS.show(session, actor, asked)).rows
        return [webhook_out(each, actor) for each in rows]

    return run_in_transaction(
        step, lambda found: print_json(found) if as_json else _print_webhooks(found)
    )


def _print_webhooks(found: Sequence[WebhookOut]) -> None:
    if not found:
        out.print("No webhooks.")
        return
    made = table("Webhook", "URL", "Events", "On", "Failures", "Last taken", right=["Failures"])
    for each in found:
        words = (escape(each.url), ", ".join(each.events), "yes" if each.is_active else "no")
        made.add_row(str(each.id), *words, str(each.failures), when(each.last_delivery_at))
    print_table(made)
    for each in found:
        if each.last_error:
            note(f"{each.id}: {each.last_error}")


@app.command()
def create(
    url: Annotated[str, typer.Argument(help="Where events are posted.")],
    events: Events,
    description: Annotated[str | None, typer.Option(help="To know it by later.")] = None,
    tenant: OfTenant = None,
) -> int:
    """Have events posted to a URL, and print the secret that signs them, this once."""
    wanted = as_asked(
        WebhookIn, url=url, events=[each.value for each in events], description=description
    )

    async def step(session: AsyncSession, everything: Opened) -> tuple[WebhookEndpoint, str]:
        actor = await acting_in(session, everything.actor, tenant)
        given = wanted.model_dump()
        return await service.create(session, actor, everything.settings, **given)

    def show(made: tuple[WebhookEndpoint, str]) -> None:
        endpoint, secret = made
        out.print(secret, markup=False, highlight=False, soft_wrap=True)
        note(f"Webhook {endpoint.id}; the secret is shown this once, keep it.")

    return run_in_transaction(step, show)


@app.command("test")
def send_test(webhook_id: Webhook, wait: Wait = 30, tenant: OfTenant = None) -> int:
    """Send a test event and say what came of it. A worker or the server must be running."""

    async def command(everything: Opened) -> int:
        async with everything.database.transaction() as session:
            actor = await acting_in(session, everything.actor, tenant)
            delivery = await service.send_test(session, actor, webhook_id)
        note(f"Delivery {delivery.id} is queued.")
        return _tell(await _ended(everything, delivery, wait)) if wait else Exit.OK

    return run_opened(command)


async def _ended(everything: Opened, delivery: WebhookDelivery, seconds: float) -> DeliveryOut:
    """As it is when its time is up, or when it has been tried."""
    for _ in range(max(1, round(seconds / LOOK_EVERY_SECONDS))):
        await asyncio.sleep(LOOK_EVERY_SECONDS)
        async with everything.database.reading() as session:
            now = await session.get_one(WebhookDelivery, delivery.id)
        if now.status in ENDED or now.error:
            break
    return delivery_out(now)


def _tell(delivery: DeliveryOut) -> int:
    if delivery.status == DELIVERY_WORDS.done:
        out.print(f"It was taken: {delivery.response_status}.", highlight=False)
        return Exit.OK
    why = delivery.error or "Nobody has tried it yet; is a worker running?"
    out.print(f"It was not taken. {why}", highlight=False, markup=False, soft_wrap=True)
    return Exit.FAILED


@app.command()
def delete(webhook_ids: Webhooks, tenant: OfTenant = None, yes: Yes = False) -> int:
    """Delete webhooks, with what they were told and what waits for them."""
    ask(f"{len(webhook_ids)} to be deleted, with their deliveries.", yes=yes)

    async def one(session: AsyncSession, everything: Opened, named: UUID) -> UUID:
        actor = await acting_in(session, everything.actor, tenant)
        await service.delete(session, actor, named)
        return named

    return do_to_each(one, webhook_ids, tell=lambda gone: note(f"Webhook {gone} is deleted."))


@app.command()
@narrowed_by(DELIVERIES, **AGES)
def deliveries(
    given: Given,
    webhook_id: Webhook,
    tenant: OfTenant = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> int:
    """List what a webhook was told, newest first."""
    asked = Asked(given, limit=limit)

    async def step(session: AsyncSession, everything: Opened) -> list[DeliveryOut]:
        actor = await acting_in(session, everything.actor, tenant)
        endpoint = await service.get(session, actor, webhook_id)
        rows = (await deliveries_of(endpoint.id).show(session, actor, asked)).rows
        return [delivery_out(each) for each in rows]

    return run_in_transaction(
        step, lambda found: print_json(found) if as_json else _print_deliveries(found)
    )


def _print_deliveries(found: Sequence[DeliveryOut]) -> None:
    if not found:
        out.print("No deliveries.")
        return
    made = table("Delivery", "Event", "Status", "Tries", "Answer", "Made", "Why", right=["Tries"])
    for each in found:
        answer = str(each.response_status or "")
        facts = (str(each.attempts), answer, when(each.created_at), escape(each.error or ""))
        made.add_row(str(each.id), each.event, status(each.status), *facts)
    print_table(made)
