"""Webhook routes: access control, responses and test deliveries."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from aiohttp.web import Response
from sqlalchemy import func, select, update

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import AuditEntry, Role, WebhookDelivery, WebhookEndpoint
from scrapersky.webhooks.service import MAX_ENDPOINTS
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.conftest import make_settings
from tests.fake_web import FakeWeb
from tests.stage_cases import OWNED
from tests.waiting import PATIENCE_SECONDS
from tests.webhooks.receivers import (
    add_endpoint,
    deliveries,
    endpoint_of,
    is_signed,
    posting,
    receiver,
    tell,
)

WEBHOOKS, DELIVERIES = "/api/v3/webhooks", "/api/v3/webhook-deliveries"
HOOK = {"url": "https://hooks.example/catch/4711", "events": ["lead.completed"]}


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as opened:
        yield opened


async def made(client: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    answer = await client.post(WEBHOOKS, json={**HOOK, **more})
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def test_the_secret_is_shown_once_when_it_is_made_and_when_it_is_renewed(
    client: httpx.AsyncClient, database: Database
) -> None:
    new = await made(client)
    renewed = (await client.post(f"{WEBHOOKS}/{new['id']}/secret")).json()
    shown = [
        (await client.get(f"{WEBHOOKS}/{new['id']}")).text,
        (await client.get(WEBHOOKS)).text,
        (await client.patch(f"{WEBHOOKS}/{new['id']}", json={"is_active": False})).text,
    ]
    async with database.reading() as session:
        endpoint = (await session.scalars(select(WebhookEndpoint))).one()
        entries = (await session.scalars(select(AuditEntry))).all()

    assert all(re.fullmatch(r"whsec_[\w+/]{43}=", each["secret"]) for each in (new, renewed))
    assert endpoint.secret == renewed["secret"] != new["secret"]
    written = " ".join([*shown, *(str(each.details) for each in entries)])
    assert "whsec_" not in written
    assert [each.action for each in entries] == [
        "webhook.create",
        "webhook.renew_secret",
        "webhook.change",
    ]


async def test_a_repeated_creation_is_carried_out_once_and_its_secret_not_kept(
    client: httpx.AsyncClient, database: Database
) -> None:
    key = {"Idempotency-Key": "once"}
    first = await client.post(WEBHOOKS, json=HOOK, headers=key)
    second = await client.post(WEBHOOKS, json=HOOK, headers=key)

    assert (first.status_code, second.status_code) == (201, 409)
    assert len((await client.get(WEBHOOKS)).json()["items"]) == 1


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"url": "http://10.0.0.7/"}, "10.0.0.7 is not a public address"),
        ({"url": "http://169.254.169.254/latest"}, "WEBHOOK_ALLOW_NETWORKS to allow it"),
        ({"url": "http://localhost:8000/"}, "localhost is this machine"),
        ({"url": "ftp://hooks.example/"}, "Only http and https"),
        ({"url": "https://anna:secret@hooks.example/"}, "user name"),
        ({"url": "https://hooks.example:22/"}, "Port 22"),
        ({"url": "hooks.example"}, "Only http and https"),
        ({"events": []}, "events"),
        ({"events": ["lead.eaten"]}, "events"),
        ({"events": ["test"]}, "events"),
        ({"secret": "mine"}, "secret"),
    ],
)
async def test_what_cannot_be_told_is_refused_with_a_sentence(
    wrong: dict[str, Any], says: str, url: str
) -> None:
    settings = make_settings(url, scheduler_enabled=False, webhook_allow_networks="")
    async with serving(settings) as client:
        answer = await client.post(WEBHOOKS, json={**HOOK, **wrong})
        listed = await client.get(WEBHOOKS)

    assert answer.status_code == 422
    assert says in answer.json()["detail"]
    assert listed.json()["items"] == []


async def test_a_webhook_is_changed_and_what_waits_follows_it(
    client: httpx.AsyncClient, database: Database
) -> None:
    new = await made(client, events=["job.finished", "job.finished"], description="CRM")
    await tell(database)
    changes = {"url": "https://other.example/x", "events": ["lead.completed"], "description": None}
    changed = (await client.patch(f"{WEBHOOKS}/{new['id']}", json=changes)).json()
    (delivery,) = await deliveries(database)

    assert new["events"] == ["job.finished"]
    assert {name: changed[name] for name in changes} == changes
    assert changed["is_active"]
    assert delivery.host == "other.example"
    refused = await client.patch(f"{WEBHOOKS}/{new['id']}", json={"url": "ftp://x"})
    assert refused.status_code == 422


async def test_a_webhook_that_is_switched_on_again_begins_anew(
    client: httpx.AsyncClient, database: Database
) -> None:
    endpoint = await add_endpoint(database, is_active=False, failures=7, last_error="Gone.")
    await client.patch(f"{WEBHOOKS}/{endpoint}", json={"is_active": True})

    found = await endpoint_of(database, endpoint)
    assert (found.is_active, found.failures, found.last_error) == (True, 0, None)


async def test_a_deleted_webhook_is_gone_with_its_deliveries(
    client: httpx.AsyncClient, database: Database
) -> None:
    new = await made(client, events=["job.finished"])
    await tell(database)
    gone = await client.delete(f"{WEBHOOKS}/{new['id']}")
    again = await client.delete(f"{WEBHOOKS}/{new['id']}")

    assert (gone.status_code, again.status_code) == (204, 404)
    assert await deliveries(database) == []


async def test_there_is_a_limit_to_how_many_are_told(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = {"url": HOOK["url"], "secret": "s", "events": [], **OWNED}
    async with database.transaction() as session:
        session.add_all(WebhookEndpoint(id=uuid7(), **known) for _ in range(MAX_ENDPOINTS))
    answer = await client.post(WEBHOOKS, json=HOOK)

    assert answer.status_code == 409
    assert "Delete one first" in answer.json()["detail"]


async def test_deliveries_are_listed_narrowed_and_paged(
    client: httpx.AsyncClient, database: Database
) -> None:
    mine, other = await add_endpoint(database), await add_endpoint(database)
    for n in range(3):
        await tell(database, {"n": n})
    async with database.transaction() as session:
        (first, *_) = await deliveries(database)
        done = {"status": "failed", "error": "No."}
        await session.execute(
            update(WebhookDelivery).where(WebhookDelivery.id == first.id).values(**done)
        )
    listed = f"{WEBHOOKS}/{first.endpoint_id}/deliveries"
    page = (await client.get(listed, params={"limit": 2, "totals": True})).json()
    rest = (await client.get(listed, params={"cursor": page["next_cursor"]})).json()
    failed = (await client.get(listed, params={"status": "failed"})).json()["items"]
    none = (await client.get(listed, params={"event": "lead.completed"})).json()["items"]
    one = (await client.get(f"{DELIVERIES}/{first.id}")).json()
    stolen = other if first.endpoint_id == mine else mine
    wrong = await client.get(
        f"{WEBHOOKS}/{stolen}/deliveries", params={"cursor": page["next_cursor"]}
    )

    assert (page["total"], len(page["items"]), len(rest["items"])) == (3, 2, 1)
    assert [each["id"] for each in failed] == [str(first.id)]
    assert (none, one["data"], one["error"]) == ([], first.payload, "No.")
    assert one["next_attempt_at"] is None
    assert wrong.status_code == 422


async def ended(client: httpx.AsyncClient, delivery_id: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            body: dict[str, Any] = (await client.get(f"{DELIVERIES}/{delivery_id}")).json()
            if body["status"] not in ("pending", "processing"):
                return body
            await asyncio.sleep(0.05)


async def test_a_test_is_sent_and_sent_once_more(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        hooks.answers = [Response(status=400), Response(status=200)]
        # Nobody dies here, however slow the machine is: each is sent exactly once.
        patient = {"worker_dead_after_seconds": 300, "lease_grace_seconds": 300}
        settings = make_settings(url, fetch_resolve=web.resolve, **patient)
        async with serving(settings) as client:
            new = await made(client, url=hooks.url, is_active=False)
            asked = await client.post(f"{WEBHOOKS}/{new['id']}/test")
            first = await ended(client, asked.json()["id"])
            path = f"{DELIVERIES}/{first['id']}/redeliver"
            again = await client.post(path)
            second = await ended(client, first["id"])
            once_more = await client.post(path)
            third = await ended(client, first["id"])

    assert (asked.status_code, again.status_code, once_more.status_code) == (202, 202, 202)
    assert (first["status"], first["response_status"]) == ("failed", 400)
    assert (second["status"], third["status"], third["error"]) == ("delivered", "delivered", None)
    assert [got.told["event"] for got in hooks.got] == ["test"] * 3
    assert {got.told["id"] for got in hooks.got} == {first["id"]}
    assert all(is_signed(got, new["secret"]) for got in hooks.got)


async def test_deliveries_are_signed_with_both_secrets_for_a_day_after_a_rotation(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        async with (
            serving(make_settings(url, scheduler_enabled=False)) as client,
            posting(url, database, web) as post,
        ):
            new = await made(client, url=hooks.url)
            first = (await client.post(f"{WEBHOOKS}/{new['id']}/secret")).json()
            second = (await client.post(f"{WEBHOOKS}/{new['id']}/secret")).json()
            await client.post(f"{WEBHOOKS}/{new['id']}/test")
            await post.work()
            async with database.transaction() as session:
                await session.execute(
                    update(WebhookEndpoint).values(previous_secret_expires_at=func.now())
                )
            await client.post(f"{WEBHOOKS}/{new['id']}/test")
            await post.work()

    secrets = [each["secret"] for each in (second, first, new)]
    assert new["previous_secret_expires_at"] is None
    left = datetime.fromisoformat(second["previous_secret_expires_at"]) - datetime.now(UTC)
    assert timedelta(hours=23) < left <= timedelta(hours=24)
    during, after = hooks.got
    assert [is_signed(during, each) for each in secrets] == [True, True, False]
    assert [is_signed(after, each) for each in secrets] == [True, False, False]
    assert len(after.headers["webhook-signature"].split(" ")) == 1


async def test_what_waits_is_not_sent_once_more(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_endpoint(database)
    await tell(database)
    (delivery,) = await deliveries(database)
    answer = await client.post(f"{DELIVERIES}/{delivery.id}/redeliver")

    assert answer.status_code == 409
    assert "Only a finished one" in answer.json()["detail"]


async def test_viewers_see_webhooks_without_what_opens_them_and_change_nothing(
    url: str, database: Database
) -> None:
    endpoint = await add_endpoint(database, "https://hooks.example/catch/opens-something")
    _, key = await add_key(database, role=Role.VIEWER)
    async with asking(signed_in_settings(url), key) as viewer:
        shown = await viewer.get(f"{WEBHOOKS}/{endpoint}")
        refused = [
            await viewer.post(WEBHOOKS, json=HOOK),
            await viewer.patch(f"{WEBHOOKS}/{endpoint}", json={}),
            await viewer.post(f"{WEBHOOKS}/{endpoint}/test"),
            await viewer.post(f"{WEBHOOKS}/{endpoint}/secret"),
            await viewer.delete(f"{WEBHOOKS}/{endpoint}"),
        ]

    assert shown.json()["url"] == "https://hooks.example/…"
    assert {each.status_code for each in refused} == {403}


async def test_other_tenants_see_none_of_it(url: str, database: Database) -> None:
    endpoint = await add_endpoint(database)
    await tell(database)
    (delivery,) = await deliveries(database)
    _, key = await add_key(database, await add_tenant(database, "others"))
    async with asking(signed_in_settings(url), key) as stranger:
        asked = [
            await stranger.get(f"{WEBHOOKS}/{endpoint}"),
            await stranger.get(f"{WEBHOOKS}/{endpoint}/deliveries"),
            await stranger.post(f"{WEBHOOKS}/{endpoint}/test"),
            await stranger.get(f"{DELIVERIES}/{delivery.id}"),
            await stranger.post(f"{DELIVERIES}/{delivery.id}/redeliver"),
        ]
        listed = await stranger.get(WEBHOOKS)

    assert {each.status_code for each in asked} == {404}
    assert listed.json()["items"] == []
