"""Businesses over the API: filtered, sorted, read, curated, exported."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Domain, Job, LocalBusiness, Role, SearchPlace
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.businesses.rows import business, change, csv, google, noted, osm
from tests.conftest import make_settings
from tests.stage_cases import OWNED

BUSINESSES = "/api/v3/local-businesses"
NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
SEARCH = UUID("019f0000-0000-7000-8000-000000000001")


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


@pytest.fixture
async def two(database: Database) -> tuple[UUID, UUID]:
    """Two businesses that differ in everything a filter looks at."""
    bakery = google()
    joiner = csv("row-7", name="Tischlerei Span", address_parts={"city": "Wien", "country": "AT"})
    first, second = await noted(database, bakery, joiner)
    site = Domain(id=uuid7(), domain="kornblume-brot.de", **OWNED)
    async with database.transaction() as session:
        session.add(site)
        session.add(Job(id=SEARCH, job_type="place_search", subject="bakeries", **OWNED))
        await session.flush()
        found = {"place_id": bakery.id, "position": 3, "sighted": "new"}
        session.add(SearchPlace(search_id=SEARCH, tenant_id=OWNED["tenant_id"], **found))
    known = {"status": "Selected", "website_kind": "own", "domain_id": site.id, "created_at": NOW}
    await change(database, first, domain_extraction_status="Completed", **known)
    await change(
        database,
        second,
        created_at=NOW - timedelta(days=9),
        rating=2.0,
        domain_extraction_error="It took too long.",
    )
    return first, second


FILTERS: list[tuple[dict[str, Any], bool]] = [
    ({"status": "Selected"}, True),
    ({"domain_extraction_status": "New"}, False),
    ({"website_kind": "own"}, True),
    ({"business_status": "operational"}, True),
    ({"has_website": True}, True),
    ({"has_website": False}, False),
    ({"has_phone": False}, False),
    ({"has_domain": True}, True),
    ({"category": "cafe"}, True),
    ({"city": "Wien"}, False),
    ({"country": "DE"}, True),
    ({"postal_code": "04229"}, True),
    ({"provider": "csv"}, False),
    ({"provider": ["google", "osm"]}, True),
    ({"search_id": str(SEARCH)}, True),
    ({"min_rating": 4}, True),
    ({"min_reviews": 100}, True),
    ({"domain": "www.kornblume-brot.de"}, True),
    ({"error": "too long"}, False),
    ({"search": "tischlerei"}, False),
    ({"created_since": "2026-06-15T00:00:00Z"}, True),
]


@pytest.mark.parametrize(("given", "first"), FILTERS, ids=str)
async def test_every_filter_tells_the_two_apart(
    client: httpx.AsyncClient, two: tuple[UUID, UUID], given: dict[str, Any], first: bool
) -> None:
    answer = await client.get(BUSINESSES, params=given)

    assert answer.status_code == 200, answer.text
    assert [each["id"] for each in answer.json()["items"]] == [str(two[not first])]


@pytest.mark.parametrize("sort", ["created_at", "business_name", "city", "rating", "reviews_count"])
async def test_every_order_is_read_page_by_page(
    client: httpx.AsyncClient, two: tuple[UUID, UUID], sort: str
) -> None:
    seen = []
    for order in (sort, f"-{sort}"):
        first = (await client.get(BUSINESSES, params={"sort": order, "limit": 1})).json()
        after = {"sort": order, "limit": 1, "cursor": first["next_cursor"]}
        second = (await client.get(BUSINESSES, params=after)).json()
        seen.append([each["id"] for each in first["items"] + second["items"]])

    assert seen[0] == seen[1][::-1]
    assert set(seen[0]) == {str(each) for each in two}


async def test_one_business_comes_with_all_it_comes_from(
    client: httpx.AsyncClient, database: Database, two: tuple[UUID, UUID]
) -> None:
    await noted(database, osm())
    body = (await client.get(f"{BUSINESSES}/{two[0]}")).json()

    assert [each["provider"] for each in body["sightings"]] == ["google", "osm"]
    assert body["sightings"][1]["why"].startswith("The names are the same")
    assert [(each["search_id"], each["position"]) for each in body["searches"]] == [
        (str(SEARCH), 3)
    ]
    assert (body["domain"]["domain"], body["lead"]["businesses"]) == ("kornblume-brot.de", 1)
    assert body["facts_from"]["rating"] == "google"
    assert body["possible_doubles"] == []
    assert (await client.get(f"{BUSINESSES}/{uuid4()}")).status_code == 404


async def test_what_may_be_the_same_is_shown_with_it(
    client: httpx.AsyncClient, database: Database
) -> None:
    hotel = google("hotel", name="Hotel Adlerhorst", types=["hotel"])
    restaurant = osm("node/1", name="Restaurant Adlerhorst", phone="+493411234567", types=[])
    first, second = await noted(database, hotel, restaurant)
    [double] = (await client.get(f"{BUSINESSES}/{first}")).json()["possible_doubles"]

    assert (double["business_id"], double["business_name"]) == (
        str(second),
        "Restaurant Adlerhorst",
    )
    assert "They are in different trades." in double["reasons"]


async def test_a_selected_business_goes_on_to_its_domain(
    client: httpx.AsyncClient, database: Database, two: tuple[UUID, UUID]
) -> None:
    wanted = {"filter": {"provider": ["csv"]}, "status": "Selected"}
    done = (await client.post(f"{BUSINESSES}/curate", json=wanted)).json()
    found = await business(database, two[1])
    undone = await client.post("/api/v3/bulk-actions/undo")
    restored = await business(database, two[1])

    assert (done["updated_count"], done["queued_count"]) == (1, 1)
    assert (found.status, found.domain_extraction_status) == ("Selected", "Queued")
    assert undone.status_code == 200, undone.text
    assert (restored.status, restored.domain_extraction_status) == ("New", "New")


async def test_an_export_leaves_out_whom_nobody_is_to_write_to(
    client: httpx.AsyncClient, database: Database
) -> None:
    await noted(database, google(emails=["eva@kornblume.de", "info@kornblume.de"]))
    asked = {"columns": "business_name,phone,emails", "format": "jsonl"}
    before = (await client.get(f"{BUSINESSES}/export", params=asked)).json()
    items = [{"value": "eva@kornblume.de"}, {"value": "+49 341 1234567"}]
    await client.post("/api/v3/suppressions", json={"items": items})
    after = (await client.get(f"{BUSINESSES}/export", params=asked)).json()

    assert before["emails"] == ["eva@kornblume.de", "info@kornblume.de"]
    assert before["phone"] == "+493411234567"
    assert (after["emails"], after["phone"]) == (["info@kornblume.de"], None)


async def test_others_see_nothing_of_it_and_viewers_change_nothing(
    url: str, database: Database, two: tuple[UUID, UUID]
) -> None:
    others = await add_tenant(database, "others")
    _, theirs = await add_key(database, others)
    _, viewer = await add_key(database, role=Role.VIEWER)
    settings = signed_in_settings(url)
    async with asking(settings, theirs) as client:
        listed = (await client.get(BUSINESSES)).json()["items"]
        one = await client.get(f"{BUSINESSES}/{two[0]}")
    async with asking(settings, viewer) as client:
        wanted = {"ids": [str(two[0])], "status": "Archived"}
        refused = await client.post(f"{BUSINESSES}/curate", json=wanted)

    assert (listed, one.status_code, refused.status_code) == ([], 404, 403)
    async with database.reading() as session:
        assert (await session.get_one(LocalBusiness, two[0])).status == "Selected"
