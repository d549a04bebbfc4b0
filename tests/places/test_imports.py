"""Imported lists of businesses."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import Job, Place, SearchPlace
from scrapersky.settings import Settings
from tests.app import serving
from tests.places.searches import at_full_speed

LIST = """name;website;phone;city;lat;lng
Bäckerei Berger;https://berger.example;+49 341 1234567;Leipzig;51.34;12.37
;;;Leipzig;;
Konditorei Krause;;0341 7654321;Leipzig;99;12.37
Bäckerei Berger;https://berger.example;+49 341 1234567;Leipzig;51.34;12.37
"""


@pytest.fixture
def idle(settings: Settings) -> Settings:
    return at_full_speed(settings, scheduler_enabled=False)


async def handed_in(client: httpx.AsyncClient, text: str, **params: Any) -> httpx.Response:
    return await client.post(
        "/api/v3/places/import-csv",
        content=text.encode(),
        params=params,
        headers={"Content-Type": "text/csv"},
    )


async def test_good_rows_become_places_and_bad_ones_are_told(
    idle: Settings, database: Database
) -> None:
    async with serving(idle) as client:
        body = (await handed_in(client, LIST, region="DE")).json()
        search_id = body["results"][0]["job_id"]
        results = (await client.get(f"/api/v3/places/search/{search_id}/results")).json()

    assert [each["status"] for each in body["results"]] == [
        "created",
        "invalid",
        "created",
        "duplicate",
    ]
    assert (body["accepted"], body["queued"]) == (2, 2)
    assert "no name, website" in body["results"][1]["error"]
    first, second = results["items"]
    assert (first["name"], first["phone"], first["position"]) == (
        "Bäckerei Berger",
        "+493411234567",
        2,
    )
    assert (second["phone"], second["latitude"]) == ("+493417654321", None)
    async with database.reading() as session:
        job = (await session.scalars(select(Job))).one()
        stored = (await session.scalars(select(Place.deep_scan_status))).all()
    assert (job.status, job.params["provider"], job.result_data["found"]) == (  # type: ignore[index]
        "complete",
        "csv",
        2,
    )
    assert stored == ["Queued", "Queued"]


async def test_the_same_list_again_makes_no_second_place(
    idle: Settings, database: Database
) -> None:
    async with serving(idle) as client:
        await handed_in(client, LIST)
        again = (await handed_in(client, LIST)).json()

    assert (again["created"], again["existing"], again["queued"]) == (0, 2, 0)
    async with database.reading() as session:
        assert len((await session.scalars(select(Place.id))).all()) == 2
        assert len((await session.scalars(select(SearchPlace.place_id))).all()) == 4


async def test_places_may_be_stored_without_going_on(idle: Settings, database: Database) -> None:
    async with serving(idle) as client:
        body = (await handed_in(client, LIST, queue=False)).json()

    assert body["queued"] == 0
    async with database.reading() as session:
        assert set(await session.scalars(select(Place.deep_scan_status))) == {"New"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("name;website\n", "no rows"),
        ("colour;size\nred;5\n", "No column contains"),
    ],
)
async def test_a_file_that_names_nothing_is_refused(
    idle: Settings, database: Database, text: str, said: str
) -> None:
    async with serving(idle) as client:
        answer = await handed_in(client, text)

    assert answer.status_code == 422
    assert said in answer.json()["detail"]
    async with database.reading() as session:
        assert (await session.scalars(select(Job.id))).all() == []


async def test_a_list_of_bad_rows_only_is_no_search(idle: Settings, database: Database) -> None:
    async with serving(idle) as client:
        body = (await handed_in(client, "name;website\n ; \n;;;x\n")).json()

    assert (body["accepted"], body["invalid"]) == (0, 1)
    async with database.reading() as session:
        assert (await session.scalars(select(Job.id))).all() == []
