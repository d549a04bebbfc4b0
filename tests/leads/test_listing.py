"""Leads are filtered by the data of their businesses, and exported with it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Lead, LocalBusiness
from tests.contacts.rows import a_domain, store
from tests.stage_cases import OWNED

LEADS = "/api/v3/leads"
NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)


@pytest.fixture
async def two(database: Database) -> tuple[Lead, Lead]:
    """One with a site, complete and well rated; one of a business that has none."""
    domain = a_domain("backhaus-berger.de")
    business = LocalBusiness(id=uuid7(), business_name="Café Rosa", **OWNED)
    first = Lead(
        id=uuid7(), domain_id=domain.id, rating=4.5, completed_at=NOW, businesses=3, **OWNED
    )
    second = Lead(
        id=uuid7(),
        local_business_id=business.id,
        rating=2.5,
        phone="+493411234567",
        phone_from="google",
        why_empty="no_website",
        **OWNED,
    )
    async with database.transaction() as session:
        await store(session, domain, business, first, second)
    return first, second


FILTERS: list[tuple[dict[str, Any], bool]] = [
    ({"has_website": True}, True),
    ({"has_website": False}, False),
    ({"completed": True}, True),
    ({"completed": False}, False),
    ({"min_rating": 4}, True),
    ({"completed_since": "2026-06-15T00:00:00Z"}, True),
    ({"has_phone": True}, False),
    ({"why_empty": "no_website"}, False),
]


@pytest.mark.parametrize(("given", "first"), FILTERS, ids=str)
async def test_every_filter_tells_them_apart(
    client: httpx.AsyncClient, two: tuple[Lead, Lead], given: dict[str, Any], first: bool
) -> None:
    answer = await client.get(LEADS, params=given)

    assert answer.status_code == 200, answer.text
    assert [each["id"] for each in answer.json()["items"]] == [str(two[not first].id)]


async def test_a_business_has_its_lead(client: httpx.AsyncClient, two: tuple[Lead, Lead]) -> None:
    given = {"local_business_id": str(two[1].local_business_id)}
    [lead] = (await client.get(LEADS, params=given)).json()["items"]

    assert (lead["id"], lead["domain_id"]) == (str(two[1].id), None)
    assert (lead["phone_from"], lead["completed_at"], lead["businesses"]) == ("google", None, 0)


@pytest.mark.parametrize("rating", ["-1", "6", "good"])
async def test_a_rating_that_there_is_not_is_refused(
    client: httpx.AsyncClient, rating: str
) -> None:
    assert (await client.get(LEADS, params={"min_rating": rating})).status_code == 422


async def test_a_lead_without_a_site_has_no_contacts_of_others(
    client: httpx.AsyncClient, two: tuple[Lead, Lead]
) -> None:
    body = (await client.get(f"{LEADS}/{two[1].id}")).json()

    assert (body["contact_list"], body["website"]) == ([], None)


async def test_leads_without_a_site_are_exported_and_suppressed_numbers_are_not(
    client: httpx.AsyncClient, two: tuple[Lead, Lead]
) -> None:
    wanted = {"format": "jsonl", "has_website": "false", "columns": "phone,phone_from,businesses"}

    async def exported() -> dict[str, Any]:
        answer = await client.get(f"{LEADS}/export", params=wanted)
        assert answer.status_code == 200, answer.text
        line: dict[str, Any] = json.loads(answer.text.strip())
        return line

    before = await exported()
    await client.post("/api/v3/suppressions", json={"items": [{"value": "+493411234567"}]})

    assert before == {"phone": "+493411234567", "phone_from": "google", "businesses": 0}
    assert (await exported())["phone"] is None
