"""Leads over the API: one row per business, filtered, sorted, curated."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Contact, Lead, Role
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.contacts.rows import a_contact, a_domain, store, stored
from tests.stage_cases import OWNED

LEADS = "/api/v3/leads"
NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)


@pytest.fixture
async def two(database: Database) -> tuple[Lead, Lead]:
    """Two leads that differ in everything a filter looks at."""
    bakery, parked = a_domain("backhaus-berger.de"), a_domain("parked.at")
    full = Lead(
        id=uuid7(),
        domain_id=bakery.id,
        name="Backhaus Berger",
        category="Bakery",
        address="Ring 1, 10115 Berlin, Germany",
        phone="+4930901820",
        website="https://backhaus-berger.de",
        best_email="info@backhaus-berger.de",
        best_email_why="Only address found",
        contacts=2,
        rating=4.5,
        created_at=NOW,
        lead_curation_status="Selected",
        **OWNED,
    )
    empty = Lead(
        id=uuid7(),
        domain_id=parked.id,
        why_empty="parked",
        why_empty_detail="It is for sale.",
        created_at=NOW - timedelta(days=9),
        **OWNED,
    )
    contacts = [
        a_contact(bakery, "info@backhaus-berger.de"),
        a_contact(bakery, "+4930901820", kind="phone"),
    ]
    async with database.transaction() as session:
        await store(session, bakery, parked, full, empty, *contacts)
    return full, empty


FILTERS: list[tuple[dict[str, Any], bool]] = [
    ({"lead_curation_status": "Selected"}, True),
    ({"why_empty": "parked"}, False),
    ({"is_empty": False}, True),
    ({"has_email": True}, True),
    ({"has_email": False}, False),
    ({"has_phone": True}, True),
    ({"has_name": False}, False),
    ({"category": "Bakery"}, True),
    ({"address": "germany"}, True),
    ({"name": "berger"}, True),
    ({"search": "901820"}, True),
    ({"domain": "www.parked.at"}, False),
    ({"created_since": "2026-06-15T00:00:00Z"}, True),
]


@pytest.mark.parametrize(("given", "first"), FILTERS, ids=str)
async def test_every_filter_tells_the_two_apart(
    client: httpx.AsyncClient, two: tuple[Lead, Lead], given: dict[str, Any], first: bool
) -> None:
    answer = await client.get(LEADS, params=given)

    assert answer.status_code == 200, answer.text
    assert [each["id"] for each in answer.json()["items"]] == [str(two[not first].id)]


@pytest.mark.parametrize("sort", ["created_at", "name", "contacts", "rating"])
async def test_every_order_is_read_page_by_page(
    client: httpx.AsyncClient, two: tuple[Lead, Lead], sort: str
) -> None:
    seen = []
    for order in (sort, f"-{sort}"):
        first = (await client.get(LEADS, params={"sort": order, "limit": 1})).json()
        after = {"sort": order, "limit": 1, "cursor": first["next_cursor"]}
        second = (await client.get(LEADS, params=after)).json()
        seen.append([each["id"] for each in first["items"] + second["items"]])

    assert seen[0] == seen[1][::-1]
    assert set(seen[0]) == {str(each.id) for each in two}


async def test_one_lead_comes_with_its_contacts(
    client: httpx.AsyncClient, two: tuple[Lead, Lead]
) -> None:
    suppressing = {"items": [{"value": "+49 30 901820"}]}
    await client.post("/api/v3/suppressions", json=suppressing)
    body = (await client.get(f"{LEADS}/{two[0].id}")).json()

    assert [(each["value"], each["suppressed"]) for each in body["contact_list"]] == [
        ("info@backhaus-berger.de", False),
        ("+4930901820", True),
    ]
    assert (body["best_email"], body["phone"], body["contacts"]) == (
        "info@backhaus-berger.de",
        None,
        1,
    )


async def test_a_lead_without_contacts_says_why(
    client: httpx.AsyncClient, two: tuple[Lead, Lead]
) -> None:
    body = (await client.get(f"{LEADS}/{two[1].id}")).json()

    assert (body["why_empty"], body["why_empty_detail"]) == ("parked", "It is for sale.")
    assert body["contact_list"] == []


async def test_a_decision_about_a_lead_is_kept_and_noted(
    client: httpx.AsyncClient, two: tuple[Lead, Lead]
) -> None:
    wanted = {"lead_curation_status": "Maybe"}
    decided = await client.patch(f"{LEADS}/{two[1].id}", json=wanted)
    noted = (await client.get("/api/v3/audit", params={"action": "lead.edit"})).json()["items"]

    assert (decided.status_code, decided.json()["lead_curation_status"]) == (200, "Maybe")
    assert [each["details"] for each in noted] == [
        {"changes": {"lead_curation_status": ["New", "Maybe"]}}
    ]


async def test_many_leads_are_decided_about_by_filter(
    client: httpx.AsyncClient, two: tuple[Lead, Lead]
) -> None:
    wanted = {"filter": {"is_empty": True}, "status": "Archived"}
    done = (await client.post(f"{LEADS}/curate", json=wanted)).json()
    statuses = {
        each["id"]: each["lead_curation_status"]
        for each in (await client.get(LEADS)).json()["items"]
    }

    assert done["updated_count"] == 1
    assert statuses == {str(two[0].id): "Selected", str(two[1].id): "Archived"}


async def test_what_people_decided_outlives_what_is_found(
    client: httpx.AsyncClient, database: Database
) -> None:
    domain = a_domain()
    contact = a_contact(domain, f"info@{domain.domain}")
    await stored(database, domain, contact)
    [made] = (await client.get(LEADS)).json()["items"]
    await client.patch(f"{LEADS}/{made['id']}", json={"lead_curation_status": "Selected"})
    async with database.transaction() as session:
        await session.delete(await session.get_one(Contact, contact.id))
    await client.post(
        "/api/v3/contacts",
        json={"domain": domain.domain, "kind": "phone", "value": "+49 30 901820"},
    )
    [now] = (await client.get(LEADS)).json()["items"]

    assert (now["id"], now["lead_curation_status"]) == (made["id"], "Selected")
    assert (now["best_email"], now["phone"]) == (None, "+4930901820")


@pytest.mark.parametrize(
    "body", [{}, {"lead_curation_status": "Queued"}, {"lead_curation_status": None}, {"name": "x"}]
)
async def test_only_a_decision_can_be_changed(
    client: httpx.AsyncClient, two: tuple[Lead, Lead], body: dict[str, Any]
) -> None:
    assert (await client.patch(f"{LEADS}/{two[0].id}", json=body)).status_code == 422


async def test_a_lead_that_is_not_there_is_said_so(client: httpx.AsyncClient) -> None:
    body = {"lead_curation_status": "Maybe"}

    assert (await client.get(f"{LEADS}/{uuid4()}")).status_code == 404
    assert (await client.patch(f"{LEADS}/{uuid4()}", json=body)).status_code == 404


async def test_leads_of_another_tenant_are_not_there_and_readers_decide_nothing(
    url: str, database: Database, two: tuple[Lead, Lead]
) -> None:
    _, foreign = await add_key(database, await add_tenant(database, "others"))
    _, reader = await add_key(database, role=Role.VIEWER)
    path, body = f"{LEADS}/{two[0].id}", {"lead_curation_status": "Maybe"}
    async with asking(signed_in_settings(url), foreign) as client:
        theirs = [await client.get(path), await client.patch(path, json=body)]
        listed = (await client.get(LEADS)).json()["items"]
        client.headers["Authorization"] = f"Bearer {reader}"
        reading = [await client.get(path), await client.patch(path, json=body)]

    assert [each.status_code for each in theirs] == [404, 404]
    assert listed == []
    assert [each.status_code for each in reading] == [200, 403]
