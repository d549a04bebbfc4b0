"""`scrapersky search`: its prompts, output and exit codes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.models import Job, Place
from scrapersky.scraper.providers.model import Area
from scrapersky.testing import FakeArea, PlacesProvider, scatter
from tests.cli.conftest import Cli, Invoke

LEIPZIG = Area(51.24, 12.20, 51.44, 12.55)


@pytest.fixture
async def provider() -> AsyncIterator[PlacesProvider]:
    areas = [FakeArea("Leipzig", LEIPZIG)]
    async with PlacesProvider(scatter(30, LEIPZIG), areas) as opened:
        yield opened


async def test_a_search_that_is_waited_for_shows_what_came(
    cli: Cli, provider: PlacesProvider, rows: Database
) -> None:
    words = ("search", "bakeries", "--in", "Leipzig", "--max-results", "60", "--wait")
    said = await cli(*words, **provider.environment())

    assert said.code == 0, said
    assert "30 places, 30 new; 30 match the filters." in said.out
    assert "The whole area is covered: 30 places in 1 part." in said.out
    async with rows.reading() as session:
        assert await session.scalar(select(func.count(Place.id))) == 30


async def test_what_it_costs_is_told_without_storing_anything(
    cli: Cli, provider: PlacesProvider, rows: Database
) -> None:
    words = ("search", "bakeries", "--in", "Leipzig", "--dry-run", "--json")
    said = await cli(*words, **provider.environment())

    assert said.code == 0, said
    assert json.loads(said.out)["estimate"]["requests_min"] == 50
    async with rows.reading() as session:
        assert await session.scalar(select(func.count(Job.id))) == 0


async def test_otherwise_it_is_queued(cli: Cli, provider: PlacesProvider, rows: Database) -> None:
    words = ("search", "bakeries", "--at", "51.3,12.3", "--radius-km", "5", "--json")
    said = await cli(*words, **provider.environment())

    document = json.loads(said.out)
    assert (said.code, document["status"]) == (0, "pending")
    async with rows.reading() as session:
        job = (await session.scalars(select(Job))).one()
    assert str(job.id) == document["search_id"]
    assert job.params["center"] == {"latitude": 51.3, "longitude": 12.3}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--in", "Leipzig"), "GOOGLE_PLACES_API_KEY"),
        (("--provider", "osm"), "No location"),
        (("--provider", "osm", "--at", "nowhere", "--radius-km", "5"), "latitude is invalid"),
        (("--provider", "osm", "--in", "Leipzig", "--radius-km", "5000"), "maximum 500 km"),
    ],
)
def test_what_cannot_be_is_refused_before_a_database_is_opened(
    bare_invoke: Invoke, words: tuple[str, ...], said: str
) -> None:
    answered = bare_invoke("search", "bakeries", *words)

    assert answered.code == 2, answered
    assert said in answered.err
