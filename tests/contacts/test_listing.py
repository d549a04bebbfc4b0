"""The list of contacts, and the details of one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Contact, Page, Suppression
from scrapersky.models.suppression import compute_digest
from tests.contacts.rows import CONTACTS, a_contact, a_domain, a_file, a_page, a_sighting, stored
from tests.stage_cases import OWNED

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)


@pytest.fixture
async def two(database: Database) -> tuple[Contact, Contact, Page]:
    """Two contacts that differ in everything a filter looks at; the page of the first."""
    bakery, brewery = a_domain("backhaus-berger.de"), a_domain("brauhaus-kurz.at")
    file = a_file(bakery)
    page = a_page(bakery, "/kontakt", sitemap_file_id=file.id)
    other = a_page(brewery, "/impressum")
    anna = a_contact(
        bakery,
        "anna@backhaus-berger.de",
        page,
        name="Anna Berger",
        role="Owner",
        created_at=NOW,
        last_seen_at=NOW,
        contact_curation_status="Selected",
        snippet="Write to Anna.",
    )
    number = a_contact(
        brewery,
        "+43151450",
        other,
        kind="phone",
        method="tel",
        confidence=0.6,
        is_role_address=True,
        created_at=NOW - timedelta(days=9),
        last_seen_at=NOW - timedelta(days=9),
    )
    hushed = Suppression(
        id=uuid7(), kind="phone", value="+43151450", digest=compute_digest("+43151450"), **OWNED
    )
    await stored(database, bakery, brewery, file, page, other, anna, number, hushed)
    await stored(
        database, a_sighting(anna, page, snippet="Write to Anna."), a_sighting(number, other)
    )
    return anna, number, page


FILTERS: list[tuple[dict[str, Any], bool]] = [
    ({"kind": "email"}, True),
    ({"kind": "phone"}, False),
    ({"email_type": "CORPORATE"}, True),
    ({"contact_curation_status": "Selected"}, True),
    ({"contact_curation_status": "New"}, False),
    ({"method": "mailto"}, True),
    ({"domain": "https://www.backhaus-berger.de/"}, True),
    ({"value": "+43151450"}, False),
    ({"search": "BERGER"}, True),
    ({"name": "anna"}, True),
    ({"role": "own"}, True),
    ({"has_name": False}, False),
    ({"is_role_address": False}, True),
    ({"is_role_address": True}, False),
    ({"same_site": True}, True),
    ({"min_confidence": 0.9}, True),
    ({"suppressed": True}, False),
    ({"suppressed": False}, True),
    ({"created_since": "2026-06-15T00:00:00Z"}, True),
    ({"last_seen_until": "2026-06-10T00:00:00Z"}, False),
]


@pytest.mark.parametrize(("given", "first"), FILTERS, ids=str)
async def test_every_filter_tells_the_two_apart(
    client: httpx.AsyncClient,
    two: tuple[Contact, Contact, Page],
    given: dict[str, Any],
    first: bool,
) -> None:
    answer = await client.get(CONTACTS, params={**given, "totals": True})

    assert answer.status_code == 200, answer.text
    assert [each["id"] for each in answer.json()["items"]] == [str(two[not first].id)]
    assert answer.json()["total"] == 1


async def test_contacts_of_a_page_are_those_seen_there(
    client: httpx.AsyncClient, two: tuple[Contact, Contact, Page]
) -> None:
    anna, _, page = two
    found = (await client.get(CONTACTS, params={"page_id": str(page.id)})).json()["items"]

    assert [each["id"] for each in found] == [str(anna.id)]


@pytest.mark.parametrize("sort", ["created_at", "last_seen_at", "confidence", "value"])
async def test_every_order_is_read_page_by_page(
    client: httpx.AsyncClient, two: tuple[Contact, Contact, Page], sort: str
) -> None:
    async def walked(order: str) -> list[str]:
        first = (await client.get(CONTACTS, params={"sort": order, "limit": 1})).json()
        cursor = {"sort": order, "limit": 1, "cursor": first["next_cursor"]}
        second = (await client.get(CONTACTS, params=cursor)).json()
        assert second["next_cursor"] is None
        return [each[sort] for each in first["items"] + second["items"]]

    upwards, downwards = await walked(sort), await walked(f"-{sort}")

    assert upwards == sorted(upwards)
    assert downwards == upwards[::-1]


async def test_a_list_says_site_page_and_suppression(
    client: httpx.AsyncClient, two: tuple[Contact, Contact, Page]
) -> None:
    anna, number = (await client.get(CONTACTS)).json()["items"]

    assert (anna["domain"], anna["page_url"]) == (
        "backhaus-berger.de",
        "https://backhaus-berger.de/kontakt",
    )
    assert (anna["suppressed"], number["suppressed"]) == (False, True)


async def test_one_contact_says_where_it_was_seen_and_comes_from(
    client: httpx.AsyncClient, two: tuple[Contact, Contact, Page]
) -> None:
    anna, _, page = two
    body = (await client.get(f"{CONTACTS}/{anna.id}")).json()

    [seen] = body["evidence"]
    assert (seen["page_url"], seen["method"]) == ("https://backhaus-berger.de/kontakt", "mailto")
    assert (seen["snippet"], seen["confidence"]) == ("Write to Anna.", 0.95)
    assert seen["first_seen_at"] <= seen["last_seen_at"]
    assert body["lineage"] == {
        "page_id": str(page.id),
        "page_url": page.url,
        "sitemap_file_id": str(page.sitemap_file_id),
        "sitemap_url": "https://backhaus-berger.de/sitemap.xml",
        "domain_id": str(anna.domain_id),
        "domain": "backhaus-berger.de",
        "business_id": None,
        "business_name": None,
        "place_id": None,
        "search_id": None,
        "search": None,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "fax"},
        {"min_confidence": "2"},
        {"suppressed": "perhaps"},
        {"page_id": "x"},
        {"sort": "snippet"},
        {"colour": "red"},
    ],
)
async def test_what_does_not_fit_is_refused(
    client: httpx.AsyncClient, wrong: dict[str, str]
) -> None:
    answer = await client.get(CONTACTS, params=wrong)

    assert answer.status_code == 422
    assert answer.json()["detail"]
