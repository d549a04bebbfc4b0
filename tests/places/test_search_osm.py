"""Searches at OpenStreetMap: areas too large for one query, and unusual responses."""

from __future__ import annotations

from dataclasses import replace

from scrapersky.db.session import Database
from scrapersky.places.search import execution
from scrapersky.scraper.providers import Area
from scrapersky.settings import Settings
from scrapersky.testing import FailureMode, FakeArea, FakePlace, PlacesProvider, ProviderService
from tests.places.conftest import LEIPZIG, TOWN
from tests.places.searches import asked, found, job_of, links, make_due, places, tiles, worked


def bakeries(count: int) -> list[FakePlace]:
    """On a line from the south-west to the north-east."""
    high, wide = LEIPZIG.north - LEIPZIG.south, LEIPZIG.east - LEIPZIG.west
    return [
        FakePlace(
            name=f"Brot {n}",
            latitude=LEIPZIG.south + high * (n + 0.5) / count,
            longitude=LEIPZIG.west + wide * (n + 0.5) / count,
            osm_tags={"shop": "bakery"},
        )
        for n in range(count)
    ]


async def test_an_area_that_is_too_much_is_asked_in_its_quarters(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = bakeries(12)
    provider.fail(FailureMode.REMARK, service=ProviderService.OVERPASS, times=2)

    job = await found(database, place_settings, provider="osm")

    parts = await tiles(database, job.id)
    assert (job.status, job.error) == ("complete", None)
    assert len(await places(database)) == 12
    assert [each.path for each in parts if each.state == "split"] == ["", "0"]
    assert provider.counts[ProviderService.OVERPASS] == 9
    assert (job.result_data or {})["covered"] is True
    positions = [each.position for each in (await links(database, job.id)).values()]
    assert sorted(positions) == list(range(1, 13))


async def test_a_server_that_always_gives_up_is_left_alone_and_the_search_says_so(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = bakeries(3)
    provider.fail(FailureMode.REMARK, service=ProviderService.OVERPASS, times=None)
    stage = replace(execution.STAGE, pace=replace(execution.STAGE.pace, max_attempts=2))

    search_id = await asked(database, place_settings, provider="osm")
    await worked(database, place_settings, stage=stage)
    await make_due(database)
    await worked(database, place_settings, stage=stage)

    job = await job_of(database, search_id)
    assert job.status == "failed"
    assert "OVERPASS_BASE_URL" in (job.error or "")
    assert provider.counts[ProviderService.OVERPASS] == 6


async def test_a_search_goes_on_with_the_parts_that_were_not_asked(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = bakeries(8)
    provider.fail(FailureMode.REMARK, service=ProviderService.OVERPASS)
    provider.fail(FailureMode.MINUTE_QUOTA, service=ProviderService.OVERPASS, at=3, retry_after=7)

    search_id = await asked(database, place_settings, provider="osm")
    await worked(database, place_settings)
    before = await job_of(database, search_id)
    await make_due(database)
    await worked(database, place_settings)

    assert (before.status, "Too many requests" in (before.error or "")) == ("pending", True)
    assert (await job_of(database, search_id)).status == "complete"
    assert len(await places(database)) == 8
    assert provider.counts[ProviderService.OVERPASS] == 6


async def test_parts_beyond_what_was_asked_for_are_not_asked(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = bakeries(8)
    provider.fail(FailureMode.REMARK, service=ProviderService.OVERPASS)

    job = await found(database, place_settings, provider="osm", max_results=3)

    states = [each.state for each in await tiles(database, job.id)]
    assert len(await places(database)) == 3
    assert states == ["split", "saturated", "not_asked", "not_asked", "not_asked"]
    assert (job.result_data or {})["covered"] is False


async def test_a_region_says_which_town_of_that_name(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    there = FakeArea("Leipzig", Area(40.0, -100.0, 40.1, -99.9), country="US", osm_id=7)
    provider.map.places = [*bakeries(2), shop_in(there)]
    provider.map.areas = [there]
    await found(database, place_settings, provider="osm", region="us")
    provider.map.areas = [TOWN]

    job = await found(database, place_settings, provider="osm")

    assert provider.counts[ProviderService.NOMINATIM] == 2
    assert len(await links(database, job.id)) == 2


def shop_in(town: FakeArea) -> FakePlace:
    return FakePlace(
        name="Bread", latitude=40.05, longitude=-99.95, country=town.country,
        osm_tags={"shop": "bakery"},
    )  # fmt: skip
