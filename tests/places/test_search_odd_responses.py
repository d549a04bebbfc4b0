"""Invalid provider responses: usable parts are stored, the rest is reported."""

from __future__ import annotations

from scrapersky.db.session import Database
from scrapersky.settings import Settings
from scrapersky.testing import FailureMode, FakePlace, PlacesProvider, ProviderService, scatter
from tests.places.conftest import LEIPZIG
from tests.places.searches import found, places, tiles


async def test_a_list_that_moves_on_while_it_is_looked_at_is_not_taken_for_all_there_is(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    """Sixty of which one comes twice are 59, but there are more than the provider tells."""
    provider.map.places = scatter(130, LEIPZIG)
    await found(database, place_settings, max_results=60)
    provider.fail(FailureMode.CHANGED, at=provider.counts[ProviderService.GOOGLE] + 2)

    job = await found(database, place_settings, max_results=59)

    assert (job.result_data or {})["covered"] is False


async def test_a_list_that_always_moves_on_is_told_in_the_coverage(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = scatter(55, LEIPZIG)
    await found(database, place_settings, max_results=60)
    provider.fail(FailureMode.CHANGED, times=None)

    job = await found(database, place_settings, max_results=59)

    (whole,) = await tiles(database, job.id)
    assert "list changed between two pages" in (whole.note or "")
    assert (job.result_data or {})["covered"] is False


async def test_what_cannot_be_read_as_a_place_is_counted_and_the_others_are_kept(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.fail(FailureMode.ODD_PLACES, at=2)

    job = await found(database, place_settings, max_results=60)

    (whole,) = await tiles(database, job.id)
    assert whole.note == "Unreadable places skipped: 4."
    assert (job.result_data or {})["covered"] is False
    assert len(await places(database)) == 21


async def test_coordinates_that_cannot_be_are_left_out_and_the_place_says_so(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    nowhere = {"location": {"latitude": 951, "longitude": 12}}
    provider.map.places = [
        FakePlace(name="Bakery", latitude=51.34, longitude=12.37, extra=nowhere),
        FakePlace(name=" ", latitude=51.35, longitude=12.37),
    ]

    await found(database, place_settings, max_results=60)

    told = {each.name: each for each in (await places(database)).values()}
    assert told["Bakery"].latitude is None
    assert told["Bakery"].raw_data["oddities"] == ["The coordinates 951, 12 are not valid."]
    assert told[None].raw_data["oddities"] == ["The name is blank."]
