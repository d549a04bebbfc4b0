"""Searches at a fake provider: their results, requests and cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import ceil
from typing import Any

import pytest
from sqlalchemy import func, select, update

from scrapersky.db.session import Database
from scrapersky.models import GeocodedArea, Place
from scrapersky.places.store import PlaceOwner, upsert_places
from scrapersky.scraper.providers.model import OperationalStatus, PlaceFacts
from scrapersky.settings import Settings
from scrapersky.testing import FailureMode, FakePlace, PlacesProvider, ProviderService, scatter
from tests.places.conftest import LEIPZIG
from tests.places.searches import found, links, places, tiles
from tests.stage_cases import OWNED

PAID, FREE = "text_search.enterprise", "text_search.ids"
MIDDLE = {"latitude": 51.3412, "longitude": 12.3723}


def bakery(number: int, **more: Any) -> FakePlace:
    at = {"latitude": MIDDLE["latitude"] + number / 1000, "longitude": MIDDLE["longitude"]}
    return FakePlace(**{"name": f"Bakery {number}", **at, **more})


async def test_a_small_search_asks_once_and_stores_all_that_came(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    job = await found(database, place_settings, max_results=60)

    stored = await places(database)
    assert (job.status, job.error) == ("complete", None)
    assert set(stored) == {each.place_id for each in provider.map.places}
    assert all(each.website_url and each.phone and each.details_at for each in stored.values())
    assert provider.bill.billed == {PAID: 2}
    positions = sorted(each.position for each in (await links(database, job.id)).values())
    assert positions == list(range(1, 41))
    result = job.result_data or {}
    assert (result["found"], result["new"], result["paid_requests"]) == (40, 40, 2)
    assert result["coverage"] == "The whole area is covered: 40 places in 1 part."


async def test_a_thousand_places_cost_at_most_a_fifth_more_than_full_pages(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = scatter(1000, LEIPZIG)

    job = await found(database, place_settings, max_results=1000)

    assert (job.status, job.error) == ("complete", None)
    assert set(await places(database)) == {each.place_id for each in provider.map.places}
    assert provider.bill.billed[PAID] <= 1.2 * ceil(1000 / 20)
    result = job.result_data or {}
    assert result["covered"] is True
    assert result["requests"] == sum(provider.bill.billed.values())
    assert result["paid_requests"] == provider.bill.billed[PAID]


async def test_more_than_the_provider_gives_is_found_in_parts(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = scatter(150, LEIPZIG)

    job = await found(database, place_settings)

    states = Counter(each.state for each in await tiles(database, job.id))
    assert len(await places(database)) == 150
    assert (states["split"], states["waiting"], states["saturated"]) == (1, 0, 0)
    assert provider.bill.billed[PAID] <= 1.2 * ceil(150 / 20)


async def test_a_search_brings_no_more_than_it_was_asked_for(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = scatter(300, LEIPZIG)

    job = await found(database, place_settings, max_results=100)

    linked = await links(database, job.id)
    assert sum(each.fits for each in linked.values()) == 100
    assert len(linked) < 120  # what a page brought beyond that is paid for, and kept
    assert provider.bill.billed[PAID] <= 1.2 * ceil(100 / 20)
    result = job.result_data or {}
    assert result["covered"] is False
    assert "partly covered" in result["coverage"]
    assert "not requested" in result["coverage"]


async def test_ten_places_cost_one_request(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    job = await found(database, place_settings, max_results=10)

    linked = await links(database, job.id)
    assert provider.bill.billed == {PAID: 1}
    assert (len(linked), sum(each.fits for each in linked.values())) == (20, 10)


async def test_no_hits_is_a_result(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    job = await found(database, place_settings, business_type="submarine yards")

    assert (job.status, (job.result_data or {})["found"]) == ("complete", 0)
    assert (job.result_data or {})["covered"] is True
    assert provider.bill.billed == {FREE: 1}


async def test_too_many_in_one_spot_are_told_as_such(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = [bakery(0, name=f"Bakery {n}") for n in range(70)]

    job = await found(database, place_settings)

    saturated = [each for each in await tiles(database, job.id) if each.state == "saturated"]
    assert len(await places(database)) == 60
    assert [each.note for each in saturated] == ["More than 60 places within 50 metres."]
    assert (job.result_data or {})["covered"] is False


async def test_an_area_is_not_divided_beyond_the_limit(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = scatter(400, LEIPZIG)
    few = place_settings.model_copy(update={"place_search_max_tiles": 5})

    job = await found(database, few)

    rows = await tiles(database, job.id)
    assert len([each for each in rows if "/" not in each.path]) == 5
    notes = {each.note for each in rows if each.state == "saturated"}
    assert notes == {"Not split further: PLACE_SEARCH_MAX_TILES is 5."}


async def test_filters_keep_what_was_paid_for_and_let_only_some_go_on(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = [
        bakery(1, website="http://one.example", phone="+49 341 111111", rating=4.5),
        bakery(2, website="http://two.example", phone="+49 341 222222", rating=4.0),
        bakery(3, phone="+49 341 333333", rating=5.0),
        bakery(4, website="http://four.example", rating=4.9),
        bakery(
            5,
            website="http://five.example",
            phone="+49 341 555555",
            rating=4.9,
            status=OperationalStatus.CLOSED_PERMANENTLY,
        ),
    ]
    filters = {"has_website": True, "has_phone": True, "min_rating": 4.2, "open": True}

    job = await found(database, place_settings, max_results=20, filters=filters)

    linked = await links(database, job.id)
    stored = await places(database)
    fitting = {stored[each].name for each, link in linked.items() if link.fits}
    queued = {each.name for each in stored.values() if each.deep_scan_status == "Queued"}
    assert fitting == queued == {"Bakery 1"}
    assert {"Bakery 3", "Bakery 5"} <= {each.name for each in stored.values()}


async def test_beyond_the_radius_nothing_fits(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    near, corner = bakery(0), bakery(1, latitude=51.3412 + 0.0085, longitude=12.3723 + 0.0135)
    provider.map.places = [near, corner]

    job = await found(
        database, place_settings, location=None, center=MIDDLE, radius_km=1, max_results=20
    )

    linked = await links(database, job.id)
    assert {each: link.fits for each, link in linked.items()} == {
        near.place_id: True,
        corner.place_id: False,
    }
    assert provider.counts[ProviderService.NOMINATIM] == 0


async def test_a_search_that_only_lists_sends_nothing_on(
    database: Database, place_settings: Settings
) -> None:
    await found(database, place_settings, max_results=60, go_on=False)

    assert {each.deep_scan_status for each in (await places(database)).values()} == {"New"}


async def test_the_area_is_looked_up_once_and_kept(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    await found(database, place_settings, max_results=20)
    await found(database, place_settings, location="  LEIPZIG ", max_results=40)

    assert provider.counts[ProviderService.NOMINATIM] == 1
    async with database.reading() as session:
        assert (await session.scalars(select(GeocodedArea.query))).all() == ["leipzig"]


async def test_an_area_that_nobody_knows_is_refused_with_a_sentence(
    database: Database, place_settings: Settings
) -> None:
    job = await found(database, place_settings, location="Nowhere upon Nothing")

    assert job.status == "failed"
    assert "no area called 'Nowhere upon Nothing'" in (job.error or "")


async def test_openstreetmap_is_asked_once_and_shown_with_its_attribution(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    tags = {"shop": "bakery", "name": "Brot", "website": "https://brot.example"}
    provider.map.places = [bakery(n, osm_tags=tags) for n in range(30)]

    job = await found(database, place_settings, provider="osm")

    assert (job.status, job.error) == ("complete", None)
    assert (job.result_data or {})["attribution"] == "© OpenStreetMap contributors"
    assert len(await places(database)) == 30
    assert provider.counts[ProviderService.OVERPASS] == 1
    assert provider.counts[ProviderService.GOOGLE] == 0


async def test_openstreetmap_brings_no_more_than_asked_for(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    tags = {"shop": "bakery", "name": "Brot"}
    provider.map.places = [bakery(n, osm_tags=tags) for n in range(30)]

    job = await found(database, place_settings, provider="osm", max_results=20)

    (whole,) = await tiles(database, job.id)
    assert len(await places(database)) == 20
    assert (whole.state, whole.note) == ("saturated", "30 places exist; the limit is 20.")


@pytest.mark.parametrize("trouble", [FailureMode.REPEATED_TOKEN, FailureMode.CHANGED])
async def test_a_provider_that_repeats_itself_ends_the_search_all_the_same(
    database: Database, place_settings: Settings, provider: PlacesProvider, trouble: FailureMode
) -> None:
    provider.fail(trouble, times=None)

    job = await found(database, place_settings, max_results=60)

    (whole,) = await tiles(database, job.id)
    assert job.status == "complete"
    assert provider.bill.billed[PAID] <= 6
    assert len(await places(database)) >= 38
    assert whole.asked_again == (trouble is FailureMode.REPEATED_TOKEN)


async def test_a_page_token_that_is_repeated_once_costs_nobody_a_place(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = scatter(60, LEIPZIG)
    provider.fail(FailureMode.REPEATED_TOKEN, at=2)

    job = await found(database, place_settings, max_results=60)

    assert len(await places(database)) == 60
    assert provider.bill.billed == {PAID: 5}  # two, and then all three from the first one on
    assert (job.result_data or {})["covered"] is True


async def test_answers_that_change_between_two_pages_are_told_in_the_coverage(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = scatter(59, LEIPZIG)
    provider.fail(FailureMode.CHANGED, at=5)

    job = await found(database, place_settings)

    (whole,) = await tiles(database, job.id)
    assert len(await places(database)) == 58
    assert whole.note == "Places listed at first but not returned: 1."
    assert (job.result_data or {})["covered"] is False


async def test_what_is_met_again_is_refreshed_and_nothing_that_people_decided(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = [bakery(1, phone="+49 341 111111"), bakery(2, phone="+49 341 222222")]
    stale = place_settings.model_copy(update={"place_details_max_age_days": 0.000_000_1})
    await found(database, stale, max_results=20)
    async with database.transaction() as session:
        await session.execute(
            update(Place).values(status="Not a Fit", deep_scan_status="Completed")
        )
    kept, changed = provider.map.places
    now = replace(changed, phone="+49 341 999999")
    provider.map.places = [kept, now]

    job = await found(database, stale, max_results=20)

    linked, stored = await links(database, job.id), await places(database)
    assert linked[kept.place_id].sighted == "same"
    assert linked[changed.place_id].sighted == "changed"
    assert linked[changed.place_id].changes == {"phone": ["+49341222222", "+49341999999"]}
    assert stored[changed.place_id].phone == "+49341999999"
    decided = {(each.status, each.deep_scan_status) for each in stored.values()}
    assert decided == {("Not a Fit", "Completed")}


async def test_only_a_place_of_which_something_else_is_known_goes_on_again(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = [bakery(1, phone="+49 341 111111"), bakery(2, phone="+49 341 222222")]
    stale = place_settings.model_copy(update={"place_details_max_age_days": 0.000_000_1})
    await found(database, stale, max_results=20)
    async with database.transaction() as session:
        await session.execute(update(Place).values(deep_scan_status="Completed"))
    kept, changed = provider.map.places
    provider.map.places = [kept, replace(changed, phone="+49 341 999999")]

    await found(database, stale, max_results=20)

    stored = await places(database)
    assert stored[kept.place_id].deep_scan_status == "Completed"
    assert stored[changed.place_id].deep_scan_status == "Queued"


async def test_what_is_known_already_is_not_paid_for_again(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = scatter(150, LEIPZIG)
    first = await found(database, place_settings)
    paid = provider.bill.billed[PAID]

    again = await found(database, place_settings)

    assert provider.bill.billed[PAID] == paid
    assert (again.result_data or {})["covered"] is True
    assert set(await links(database, again.id)) == set(await links(database, first.id))
    assert {each.state for each in await tiles(database, again.id)} <= {"known", "split", "done"}


async def test_a_few_new_ones_among_many_known_cost_a_page_each_at_most(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = scatter(150, LEIPZIG)
    await found(database, place_settings)
    paid = provider.bill.billed[PAID]
    provider.map.places = [*provider.map.places, *scatter(2, LEIPZIG, seed=7)]

    again = await found(database, place_settings)

    assert provider.bill.billed[PAID] - paid <= 2
    assert ((again.result_data or {})["found"], (again.result_data or {})["new"]) == (152, 2)


async def test_a_small_search_that_is_repeated_costs_nothing(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    await found(database, place_settings, max_results=60)
    again = await found(database, place_settings, max_results=60)

    assert provider.bill.billed == {PAID: 2, FREE: 2}
    assert (again.result_data or {})["found"] == 40


async def test_a_sighting_without_details_takes_nothing_away(
    database: Database, place_settings: Settings
) -> None:
    owner = PlaceOwner(OWNED["tenant_id"], OWNED["created_by"])
    whole = PlaceFacts("google", "a", name="Brot", phone="+4934112345", has_details=True)
    async with database.transaction() as session:
        (first,) = await upsert_places(session, owner, [whole], search_id=None)
        (again,) = await upsert_places(
            session, owner, [PlaceFacts("google", "a", name="Brot")], search_id=None
        )
    row = (await places(database))["a"]
    assert (first.sighted, again.sighted) == ("new", "same")
    assert (row.phone, row.details_at is not None) == ("+4934112345", True)
    async with database.reading() as session:
        assert await session.scalar(select(func.count(Place.id))) == 1
