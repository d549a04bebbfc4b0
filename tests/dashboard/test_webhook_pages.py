"""Webhook pages as rendered by the server: for admins only, without secrets, small."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from scrapersky.db.session import Database
from scrapersky.models import DEFAULT_TENANT_ID, Role
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.conftest import make_settings
from tests.dashboard.table_pages import MOST_BYTES, MOST_QUERIES, counting
from tests.dashboard.webhook_rows import SECRET, a_delivery, an_endpoint, store

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(2)>\u202e' + "x" * 3000


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


async def shown(client: httpx.AsyncClient, path: str) -> str:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return " ".join(answer.text.split())


async def test_without_endpoints_the_page_says_what_to_do(client: httpx.AsyncClient) -> None:
    page = await shown(client, "/webhooks")

    assert "Add endpoint" in page
    assert 'aria-current="page">Webhooks' in page


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({}, "not used yet"),
        ({"is_active": False}, "disabled"),
        ({"failures": 3, "last_error": "It answered 500."}, "The last 3 attempts failed."),
        ({"failures": 1, "last_error": "It answered 500."}, "It answered 500."),
    ],
)
async def test_an_endpoint_tells_how_it_does_and_never_its_secret(
    client: httpx.AsyncClient, database: Database, state: dict[str, Any], says: str
) -> None:
    endpoint = an_endpoint(description="Leads to our CRM", **state)
    await store(database, endpoint)
    pages = [await shown(client, path) for path in ("/webhooks", f"/webhooks/{endpoint.id}")]

    for page in pages:
        assert "Leads to our CRM" in page
        assert "https://crm.example/in" in page
        assert says in page
        assert SECRET not in page


async def test_the_deliveries_of_one_endpoint_are_a_table_of_their_own(
    client: httpx.AsyncClient, database: Database
) -> None:
    endpoint, other = an_endpoint(), an_endpoint(url="https://other.example/")
    lead_id = uuid4()
    failed = a_delivery(
        endpoint, status="failed", error="It answered 404.", response_status=404, attempts=1
    )
    done = a_delivery(endpoint, status="delivered", response_status=204, subject_id=lead_id)
    foreign = a_delivery(other, status="failed", error="It is somebody elses.")
    await store(database, endpoint, other, failed, done, foreign)
    page = await shown(client, f"/webhooks/{endpoint.id}")
    only_failed = await shown(client, f"/webhooks/{endpoint.id}?status=failed")
    rows = await shown(client, f"/webhooks/{endpoint.id}?part=rows&status=delivered")

    assert "2 deliveries" in page
    assert f'href="/leads/{lead_id}"' in page
    assert "It is somebody elses." not in page
    assert f'data-path="/webhook-deliveries/{failed.id}/redeliver"' in only_failed
    assert "It answered 404." in only_failed
    assert str(done.id) not in only_failed
    assert str(done.id) in rows
    assert "<html" not in rows


async def test_a_delivery_shows_what_was_told_and_can_be_told_again(
    client: httpx.AsyncClient, database: Database
) -> None:
    endpoint = an_endpoint()
    delivery = a_delivery(endpoint, status="failed", error="It answered 404.", response_status=404)
    waiting = a_delivery(endpoint, event="test", payload={"message": "This is a test."})
    await store(database, endpoint, delivery, waiting)
    page = await shown(client, f"/webhook-deliveries/{delivery.id}")
    not_yet = await shown(client, f"/webhook-deliveries/{waiting.id}")

    assert "Backhaus Berger" in page
    assert f"POST /webhook-deliveries/{delivery.id}/redeliver" in page
    assert "redeliver" not in not_yet


async def test_hostile_texts_are_shown_inert(client: httpx.AsyncClient, database: Database) -> None:
    endpoint = an_endpoint(
        url="https://x.example/" + HOSTILE,
        description=HOSTILE[:190],
        failures=1,
        last_error=HOSTILE,
    )
    delivery = a_delivery(endpoint, status="failed", error=HOSTILE, payload={HOSTILE: HOSTILE})
    await store(database, endpoint, delivery)
    paths = ("/webhooks", f"/webhooks/{endpoint.id}", f"/webhook-deliveries/{delivery.id}")
    for path in paths:
        page = await shown(client, path)
        assert "<script>alert" not in page
        assert "<img" not in page


@pytest.mark.parametrize("role", [Role.VIEWER, Role.CURATOR])
async def test_webhooks_are_for_admins(url: str, database: Database, role: Role) -> None:
    endpoint = an_endpoint()
    delivery = a_delivery(endpoint)
    await store(database, endpoint, delivery)
    _, secret = await add_key(database, role=role)
    paths = ("/webhooks", f"/webhooks/{endpoint.id}", f"/webhook-deliveries/{delivery.id}")
    async with asking(signed_in_settings(url), secret) as client:
        answers = [(await client.get(path)).status_code for path in paths]
        leads = (await client.get("/leads")).text

    assert answers == [403] * 3
    assert 'href="/webhooks"' not in leads


async def test_nothing_of_another_tenant_is_shown(url: str, database: Database) -> None:
    other = await add_tenant(database, "other")
    endpoint = an_endpoint(description="of the default tenant")
    delivery = a_delivery(endpoint)
    await store(database, endpoint, delivery)
    assert endpoint.tenant_id == DEFAULT_TENANT_ID
    _, secret = await add_key(database, other)
    async with asking(signed_in_settings(url), secret) as client:
        listed = await client.get("/webhooks")
        single = await client.get(f"/webhooks/{endpoint.id}")
        told = await client.get(f"/webhook-deliveries/{delivery.id}")

    assert "of the default tenant" not in listed.text
    assert (single.status_code, told.status_code) == (404, 404)


async def test_full_pages_are_light_and_ask_little(
    client: httpx.AsyncClient, database: Database
) -> None:
    endpoints = [an_endpoint(description=f"Endpoint {n}", failures=n) for n in range(50)]
    first = endpoints[0]
    told = [a_delivery(first, status="failed", error="It answered 500. " * 9) for _ in range(50)]
    await store(database, *endpoints, *told)
    ours: Database = client.app.state.context.database  # type: ignore[attr-defined]
    for path in ("/webhooks", f"/webhooks/{first.id}", f"/webhook-deliveries/{told[0].id}"):
        with counting(ours) as said:
            answer = await client.get(path)
        assert len(answer.content) < MOST_BYTES, path
        assert len(said) <= MOST_QUERIES, said
