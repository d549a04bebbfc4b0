"""Suppressed contacts are removed from deliveries, even if suppressed after the event."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import delete

from scrapersky.contacts.erasure import erase
from scrapersky.contacts.store import emit_contacts_created
from scrapersky.contacts.suppression import SuppressionRequest, suppress
from scrapersky.db.session import Database
from scrapersky.models import Contact, SuppressionKind, WebhookEvent
from tests.auth.accounts import SYSTEM, add_tenant
from tests.contacts.rows import a_contact, a_domain, stored
from tests.fake_web import FakeWeb
from tests.webhooks.receivers import (
    Receiver,
    add_endpoint,
    only_delivery,
    posting,
    receiver,
    tell,
)

ANNA, INFO = "anna@bakery.example", "info@bakery.example"
LEAD = {
    "id": "01890f6e-7c2b-7d5a-8c3e-4f5a6b7c8d9e",
    "website": "https://www.bakery.example",
    "best_email": ANNA,
    "other_emails": [INFO, "post@mill.example"],
    "phone": "+493411111111",
    "other_phones": ["+493412222222"],
}


async def add_anna(database: Database) -> Contact:
    domain = a_domain("bakery.example")
    anna = a_contact(domain, ANNA, name="Anna Berger")
    await stored(database, domain, anna)
    async with database.transaction() as session:
        await emit_contacts_created(session, anna.tenant_id, [anna.id])
    return anna


async def hush(database: Database, *values: str, actor: Any = SYSTEM) -> None:
    async with database.transaction() as session:
        await suppress(session, actor, [SuppressionRequest(each, None, None) for each in values])


async def deliver(url: str, database: Database, web: FakeWeb, hooks: Receiver) -> None:
    async with posting(url, database, web) as post:
        await post.work()


async def test_a_contact_that_was_suppressed_meanwhile_is_not_told(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        await add_endpoint(database, hooks.url)
        await add_anna(database)
        await hush(database, ANNA)
        await deliver(url, database, web, hooks)

    delivery = await only_delivery(database)
    assert hooks.got == []
    assert (delivery.status, delivery.error) == ("skipped", "The contact is suppressed.")


async def test_a_contact_of_a_site_that_was_suppressed_meanwhile_is_not_told(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        await add_endpoint(database, hooks.url)
        await add_anna(database)
        await hush(database, "bakery.example")
        await deliver(url, database, web, hooks)

    assert hooks.got == []


async def test_a_person_who_was_erased_meanwhile_is_neither_told_nor_kept(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        await add_endpoint(database, hooks.url)
        await add_anna(database)
        async with database.transaction() as session:
            await erase(session, SYSTEM, SuppressionKind.EMAIL, ANNA)
        await deliver(url, database, web, hooks)

    delivery = await only_delivery(database)
    assert hooks.got == []
    assert (delivery.status, delivery.error) == ("skipped", "The contact was deleted.")
    assert ANNA not in str(delivery.payload)


async def test_a_contact_that_was_deleted_meanwhile_is_not_told(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        await add_endpoint(database, hooks.url)
        await add_anna(database)
        async with database.transaction() as session:
            await session.execute(delete(Contact))
        await deliver(url, database, web, hooks)

    assert hooks.got == []


@pytest.mark.parametrize(
    ("values", "left"),
    [
        ([], [ANNA, INFO, "post@mill.example", "+493411111111", "+493412222222"]),
        ([ANNA, "+493412222222"], [INFO, "post@mill.example", "+493411111111"]),
        (["@mill.example"], [ANNA, INFO, "+493411111111", "+493412222222"]),
        (["bakery.example"], []),
    ],
)
async def test_a_lead_is_told_without_whoever_is_suppressed_by_then(
    values: list[str], left: list[str], url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        await add_endpoint(database, hooks.url)
        await tell(database, LEAD, WebhookEvent.LEAD_COMPLETED)
        if values:
            await hush(database, *values)
        await deliver(url, database, web, hooks)

    data = hooks.got[0].told["data"]
    said = [data["best_email"], *data["other_emails"], data["phone"], *data["other_phones"]]
    assert [each for each in said if each] == left
    assert data["website"] == LEAD["website"]


async def test_whom_another_tenant_suppressed_is_told(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        await add_endpoint(database, hooks.url)
        await hush(database, ANNA, actor=await add_tenant(database, "others"))
        await add_anna(database)
        await deliver(url, database, web, hooks)

    assert hooks.got[0].told["data"]["value"] == ANNA
