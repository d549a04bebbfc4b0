"""The list of places: filters, curation, details, refresh."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import func, select

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import DEFAULT_TENANT_ID, Job, LocalBusiness, Place, SearchPlace
from scrapersky.places.freshness import queue_stale_places
from scrapersky.settings import Settings
from tests.app import serving
from tests.conftest import make_settings
from tests.places.deep_scans import queued
from tests.stage_cases import OWNED

PLACES = "/api/v3/places"


@pytest.fixture
def idle(url: str) -> Settings:
    return make_settings(url, scheduler_enabled=False)


@pytest.fixture
async def client(idle: Settings) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(idle) as made:
        yield made


async def stored(database: Database, *rows: Any) -> list[UUID]:
    async with database.transaction() as session:
        for each in rows:
            session.add(each)
            await session.flush()
        return [each.id for each in rows]


def new(place_id: str, **more: Any) -> Place:
    return queued(place_id, **{"deep_scan_status": "New", "name": place_id, **more})


def search(subject: str = "bakeries in leipzig") -> Job:
    return Job(
        id=uuid7(),
        job_type="place_search",
        subject=subject,
        params={},
        status="complete",
        **OWNED,
    )


def found(place: Place, by: Job, **more: Any) -> SearchPlace:
    return SearchPlace(
        **{
            "search_id": by.id,
            "place_id": place.id,
            "tenant_id": DEFAULT_TENANT_ID,
            "position": 1,
            "sighted": "new",
            **more,
        }
    )


async def names(client: httpx.AsyncClient, **asked: Any) -> set[str]:
    answer = await client.get(PLACES, params=asked)
    assert answer.status_code == 200, answer.text
    return {each["name"] for each in answer.json()["items"]}


@pytest.mark.parametrize(
    ("asked", "fitting"),
    [
        ({}, {"full", "bare", "map"}),
        ({"provider": "osm"}, {"map"}),
        ({"has_website": True}, {"full"}),
        ({"has_phone": False}, {"bare", "map"}),
        ({"min_rating": 4}, {"full"}),
        ({"category": "bakery"}, {"full"}),
        ({"type": "cafe"}, {"full"}),
        ({"business_status": "closed_permanently"}, {"bare"}),
        ({"deep_scan_status": "Completed"}, {"map"}),
        ({"status": "Maybe"}, {"bare"}),
        ({"search": "berger.ex"}, {"full"}),
        ({"has_details": True}, {"map"}),
        ({"created_until": "1d"}, set()),
    ],
)
async def test_it_can_be_narrowed(
    asked: dict[str, Any], fitting: set[str], client: httpx.AsyncClient, database: Database
) -> None:
    full = new(
        "full",
        website_url="http://berger.example",
        phone="+493412000001",
        rating=4.5,
        category="bakery",
        types=["bakery", "cafe"],
    )
    bare = new("bare", business_status="closed_permanently", status="Maybe")
    on_map = new("map", provider="osm", deep_scan_status="Completed", details_at=func.now())
    await stored(database, full, bare, on_map)
    assert await names(client, **asked) == fitting


async def test_the_places_of_a_search_are_those_it_found_with_or_without_fitting(
    client: httpx.AsyncClient, database: Database
) -> None:
    one, two, other, by = new("one"), new("two"), new("other"), search()
    async with database.transaction() as session:
        session.add_all([one, two, other, by])
        await session.flush()
        session.add_all([found(one, by), found(two, by, fits=False)])
    assert await names(client, search_id=str(by.id)) == {"one", "two"}
    assert await names(client, search_id=str(by.id), fits=True) == {"one"}


async def test_the_older_name_of_the_list_works_and_is_no_id(
    client: httpx.AsyncClient, database: Database
) -> None:
    await stored(database, new("one"))
    answer = await client.get(f"{PLACES}/staging")
    assert [each["name"] for each in answer.json()["items"]] == ["one"]


async def test_one_place_tells_its_searches_its_business_and_whose_data_it_is(
    client: httpx.AsyncClient, database: Database
) -> None:
    place, by = new("one", provider="osm", raw_data={"tags": {"shop": "bakery"}}), search()
    business = LocalBusiness(id=uuid7(), business_name="One", **OWNED)
    async with database.transaction() as session:
        session.add_all([by, business])
        await session.flush()
        place.local_business_id = business.id
        session.add(place)
        await session.flush()
        session.add(found(place, by, changes={"phone": [None, "+49"]}, sighted="changed"))
    body = (await client.get(f"{PLACES}/{place.id}")).json()
    assert body["attribution"] == "© OpenStreetMap contributors"
    assert body["business"]["business_name"] == "One"
    assert body["raw_data"] == {"tags": {"shop": "bakery"}}
    (link,) = body["searches"]
    assert (link["search_id"], link["subject"]) == (str(by.id), "bakeries in leipzig")
    assert link["changes"] == {"phone": [None, "+49"]}


async def test_google_asks_for_no_attribution_and_unknown_places_are_not_found(
    client: httpx.AsyncClient, database: Database
) -> None:
    (row_id,) = await stored(database, new("one"))
    assert (await client.get(f"{PLACES}/{row_id}")).json()["attribution"] is None
    assert (await client.get(f"{PLACES}/{uuid7()}")).status_code == 404


async def test_selecting_queues_the_deep_scan_by_ids_and_by_filter(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = await stored(database, new("one"), new("two", category="bakery"), new("three"))
    by_ids = await client.post(
        f"{PLACES}/curate", json={"ids": [str(ids[0])], "status": "Selected"}
    )
    by_filter = await client.post(
        f"{PLACES}/curate", json={"filter": {"category": ["bakery"]}, "status": "Selected"}
    )
    assert [each.json()["queued_count"] for each in (by_ids, by_filter)] == [1, 1]
    async with database.reading() as session:
        waiting = await session.scalars(
            select(Place.name).where(Place.deep_scan_status == "Queued")
        )
        assert set(waiting) == {"one", "two"}


async def test_an_export_has_a_line_for_each_and_the_attribution(
    client: httpx.AsyncClient, database: Database
) -> None:
    await stored(database, new("one"), new("two", provider="osm"))
    lines = (await client.get(f"{PLACES}/export", params={"sort": "name"})).text.splitlines()
    assert len(lines) == 3
    assert "OpenStreetMap" not in lines[1]
    assert "© OpenStreetMap contributors" in lines[2]


async def test_a_place_is_asked_for_anew_on_wish(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = new("one", deep_scan_status="Completed", details_at=func.now())
    (row_id,) = await stored(database, known)
    answer = await client.post(f"{PLACES}/{row_id}/refresh", json={})
    assert answer.status_code == 200, answer.text
    assert answer.json()["deep_scan_status"] == "Queued"
    assert answer.json()["refresh_asked_at"] > answer.json()["details_at"]


@pytest.mark.parametrize(
    "place", [{"provider": "osm"}, {"provider": "csv"}, {"deep_scan_status": "Processing"}]
)
async def test_what_cannot_be_asked_for_anew_says_why(
    place: dict[str, Any], client: httpx.AsyncClient, database: Database
) -> None:
    (row_id,) = await stored(database, new("one", **place))
    assert (await client.post(f"{PLACES}/{row_id}/refresh", json={})).status_code == 409


async def test_many_are_asked_for_anew_by_filter_after_a_try(
    client: httpx.AsyncClient, database: Database
) -> None:
    await stored(
        database,
        new("one", category="bakery"),
        new("two", category="bakery", deep_scan_status="Error"),
        new("map", category="bakery", provider="osm"),
        new("held", category="bakery", deep_scan_status="Processing"),
        new("other"),
    )
    wanted: dict[str, Any] = {"filter": {"category": "bakery"}}
    tried = (await client.post(f"{PLACES}/refresh", json={**wanted, "dry_run": True})).json()
    assert (tried["matched_count"], tried["updated_count"]) == (2, 0)
    done = (await client.post(f"{PLACES}/refresh", json=wanted)).json()
    assert done["updated_count"] == 2
    async with database.reading() as session:
        asked = await session.scalars(select(Place.name).where(Place.refresh_asked_at.is_not(None)))
        assert set(asked) == {"one", "two"}


async def test_old_places_are_queued_by_themselves_only_where_that_is_wanted(
    database: Database, url: str, idle: Settings
) -> None:
    old = {"deep_scan_status": "Completed", "details_at": datetime.now(UTC) - timedelta(days=200)}
    aside = LocalBusiness(id=uuid7(), business_name="Aside", status="Not a Fit", **OWNED)
    await stored(database, aside)
    await stored(
        database,
        new("old", **old),
        new("young", **{**old, "details_at": func.now()}),
        new("gone", gone_at=func.now(), **old),
        new("moved", moved_to="x", **old),
        new("put aside", status="Archived", **old),
        new("its business put aside", local_business_id=aside.id, **old),
        new("map", provider="osm", **old),
    )
    assert await queue_stale_places(database, idle) == 0
    willing = make_settings(url, auto_deep_scan=True)
    assert await queue_stale_places(database, willing) == 1
    async with database.reading() as session:
        waiting = await session.scalars(
            select(Place.name).where(Place.deep_scan_status == "Queued")
        )
        assert set(waiting) == {"old"}
