"""Search routes: responses, validation and details."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.models import AuditEntry, Job
from scrapersky.settings import Settings
from scrapersky.testing import PlacesProvider, scatter
from tests.app import serving
from tests.places.conftest import LEIPZIG
from tests.places.searches import at_full_speed, found

SEARCH = "/api/v3/places/search"
WANTED = {"business_type": "bakeries", "location": "Leipzig", "max_results": 60}
NORTH = {"south": 51.34, "west": 12.2, "north": 51.44, "east": 12.55}


@pytest.fixture
def idle(place_settings: Settings) -> Settings:
    """Requests are taken and nobody works them."""
    return at_full_speed(place_settings, scheduler_enabled=False)


async def jobs(database: Database) -> int:
    async with database.reading() as session:
        return int(await session.scalar(select(func.count(Job.id))) or 0)


async def test_a_search_is_stored_and_answered_with_what_it_costs(
    idle: Settings, database: Database
) -> None:
    async with serving(idle) as client:
        answer = await client.post(SEARCH, json=WANTED)
        body = answer.json()
        again = (await client.post(SEARCH, json={**WANTED, "business_type": " BAKERIES "})).json()
        status = (await client.get(body["status_url"])).json()

    assert answer.status_code == 202
    assert answer.headers["location"] == body["status_url"]
    assert (body["already_active"], again["already_active"]) == (False, True)
    assert again["search_id"] == body["search_id"] == body["job_id"]
    assert (body["estimate"]["requests_min"], body["estimate"]["fits"]) == (3, True)
    assert (status["status"], status["subject"]) == ("pending", "bakeries in leipzig, 60 at most")
    assert status["coverage"]["sentence"] == "No requests yet."


async def test_every_answer_about_a_search_names_it_as_search_and_as_job(idle: Settings) -> None:
    async with serving(idle) as client:
        asked = (await client.post(SEARCH, json=WANTED)).json()
        where = asked["status_url"]
        told = [
            asked,
            (await client.post(SEARCH, json=WANTED)).json(),
            (await client.get(where)).json(),
            (await client.get(f"{where}/coverage")).json(),
            (await client.get(f"{where}/changes")).json(),
            *(await client.get("/api/v3/places/searches")).json()["items"],
        ]

    assert len(told) == 6
    assert {(each["search_id"], each["job_id"]) for each in told} == {(asked["job_id"],) * 2}


async def test_a_dry_run_tells_the_cost_and_stores_nothing(
    idle: Settings, database: Database
) -> None:
    async with serving(idle) as client:
        answer = await client.post(SEARCH, json={**WANTED, "max_results": 1000, "dry_run": True})

    estimate = answer.json()["estimate"]
    assert answer.status_code == 200
    assert estimate["requests_min"] == 50
    assert estimate["sentence"]
    assert await jobs(database) == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"provider": "yellow pages"}, "google"),
        ({"radius_km": 5000}, "is too large"),
        ({"radius_km": -1}, "greater than 0"),
        ({"business_type": "   "}, "business_type is empty"),
        ({"business_type": ""}, "at least 1 character"),
        ({"location": None}, "No location"),
        ({"location": None, "center": {"latitude": 1, "longitude": 1}}, "radius_km"),
        ({"center": {"latitude": 91, "longitude": 0}, "radius_km": 1}, "not 91"),
        ({"center": {"latitude": 0, "longitude": 181}, "radius_km": 1}, "not 181"),
        ({"area": NORTH, "radius_km": 1}, "not both"),
        ({"area": {**NORTH, "south": 52}}, "south of its north"),
        ({"area": {**NORTH, "north": 99}}, "not 99"),
        ({"max_results": 0}, "greater than or equal to 1"),
        ({"filters": {"min_rating": 6}}, "less than or equal to 5"),
        ({"filters": {"stars": 6}}, "Extra inputs"),
        ({"region": "Germany"}, "pattern"),
        ({"repeat_days": 0}, "greater than or equal to 1"),
    ],
)
async def test_what_cannot_be_is_refused_with_a_sentence(
    idle: Settings, database: Database, wrong: dict[str, Any], said: str
) -> None:
    async with serving(idle) as client:
        answer = await client.post(SEARCH, json={**WANTED, **wrong})

    assert answer.status_code == 422, answer.text
    assert said in answer.text
    assert await jobs(database) == 0


async def test_google_is_not_asked_without_a_key(idle: Settings) -> None:
    async with serving(idle.model_copy(update={"google_places_api_key": ""})) as client:
        refused = await client.post(SEARCH, json=WANTED)
        taken = await client.post(SEARCH, json={**WANTED, "provider": "osm"})

    assert (refused.status_code, taken.status_code) == (422, 202)
    assert "GOOGLE_PLACES_API_KEY" in refused.json()["detail"]


async def pages(client: httpx.AsyncClient, path: str, **params: Any) -> list[Any]:
    items, cursor = [], None
    while True:
        given = {**params, **({"cursor": cursor} if cursor else {})}
        body = (await client.get(path, params=given)).json()
        items += body["items"]
        cursor = body["next_cursor"]
        if cursor is None:
            return items


async def test_results_come_page_by_page_in_the_provider_s_order(
    idle: Settings, database: Database, provider: PlacesProvider
) -> None:
    job = await found(database, idle, max_results=60, filters={"min_rating": 4})
    async with serving(idle) as client:
        fitting = await pages(client, f"{SEARCH}/{job.id}/results", limit=7)
        everything = await pages(client, f"{SEARCH}/{job.id}/results", everything=True, limit=9)
        bad = await client.get(f"{SEARCH}/{job.id}/results", params={"cursor": "WzFd"})

    positions = [each["position"] for each in everything]
    assert positions == sorted(positions)
    assert all(each["fits"] and each["rating"] >= 4 for each in fitting)
    assert len({each["id"] for each in everything}) == len(everything) >= len(fitting) > 7
    assert bad.status_code == 422


async def test_coverage_tells_the_parts_and_whether_they_are_all(
    idle: Settings, database: Database, provider: PlacesProvider
) -> None:
    provider.map.places = scatter(150, LEIPZIG)
    job = await found(database, idle)
    async with serving(idle) as client:
        body = (await client.get(f"{SEARCH}/{job.id}/coverage", params={"limit": 3})).json()
        tiles = await pages(client, f"{SEARCH}/{job.id}/coverage", limit=3)
        status = (await client.get(f"{SEARCH}/{job.id}")).json()
        history = (await client.get("/api/v3/places/searches", params={"totals": True})).json()

    coverage = body["coverage"]
    assert coverage["covered"] is True
    assert coverage["sentence"].startswith("The whole area is covered: 150 places in ")
    assert (coverage["found"], coverage["new"], coverage["known_before"]) == (150, 150, 0)
    assert sum(each["found"] for each in tiles) == 150
    assert len(tiles) == coverage["total"] + coverage["split"] + coverage["joined"]
    assert status["paid_requests"] == provider.bill.paid
    assert (history["total"], history["items"][0]["found"]) == (1, 150)


async def test_the_history_is_also_where_searches_are_asked_for(idle: Settings) -> None:
    async with serving(idle) as client:
        search_id = (await client.post(SEARCH, json=WANTED)).json()["search_id"]
        here = (await client.get(SEARCH)).json()
        there = (await client.get("/api/v3/places/searches")).json()

    assert [each["search_id"] for each in here["items"]] == [search_id]
    assert here == there


async def test_a_search_can_be_cancelled_and_retried_like_any_job(
    idle: Settings, database: Database
) -> None:
    async with serving(idle) as client:
        search_id = (await client.post(SEARCH, json=WANTED)).json()["search_id"]
        cancelled = (await client.post(f"/api/v3/jobs/{search_id}/cancel")).json()
        retried = (await client.post(f"/api/v3/jobs/{search_id}/retry")).json()

    assert (cancelled["status"], retried["status"]) == ("cancelled", "pending")
    assert retried["status_url"] == f"{SEARCH}/{search_id}"


async def test_asking_leaves_an_entry_in_the_audit_log(idle: Settings, database: Database) -> None:
    async with serving(idle) as client:
        await client.post(SEARCH, json={**WANTED, "repeat_days": 7})

    async with database.reading() as session:
        actions = (await session.scalars(select(AuditEntry.action))).all()
    assert sorted(actions) == ["place_search.ask", "place_search.repeat"]


async def test_a_job_of_another_kind_is_no_search(idle: Settings) -> None:
    async with serving(idle) as client:
        scan = (await client.post("/api/v3/sitemap/scan", json={"base_url": "example.com"})).json()
        answer = await client.get(f"{SEARCH}/{scan['job_id']}")

    assert answer.status_code == 404
