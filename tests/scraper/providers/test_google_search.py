"""Requests to Google, and the parsing of its responses."""

from __future__ import annotations

import asyncio
import json
import math

import pytest

from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.providers import Area, OperationalStatus, PlaceFacts, PlaceQuery
from scrapersky.scraper.providers.errors import PagingBroken, PlaceGone, ProviderDown
from scrapersky.scraper.providers.geography import contains, split_area
from scrapersky.scraper.providers.google import (
    DETAILS_ID,
    SEARCH_FULL,
    SEARCH_IDS,
    FieldMask,
    GooglePlaces,
)
from scrapersky.scraper.providers.google.client import build_search_body
from scrapersky.testing import DEMO_KEY, FailureMode, FakePlace, PlacesProvider, scatter
from tests.scraper.providers.canned import fetcher_that_says, response
from tests.scraper.providers.conftest import LEIPZIG

BAKERIES = PlaceQuery("bakeries", "Leipzig", language="de", region="DE")


async def all_pages(
    google: GooglePlaces, query: PlaceQuery, mask: FieldMask = SEARCH_FULL
) -> list[PlaceFacts]:
    found: list[PlaceFacts] = []
    token = None
    for _ in range(10):
        page = await google.search(query, mask=mask, page_token=token)
        found.extend(page.places)
        token = page.next_token
        if token is None:
            return found
    raise AssertionError("The pages do not end.")


async def test_three_pages_bring_sixty_of_seventy_five_and_all_that_is_known(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    found = await all_pages(google, BAKERIES)

    assert len({each.place_id for each in found}) == 60
    first, there = found[0], provider.map.places[0]
    assert (first.name, first.website, first.rating) == (there.name, there.website, there.rating)
    assert first.phone == "+493412000001"
    assert first.phone_raw == "+49 341 2000001"
    assert first.address.street == "Hauptstraße"
    assert (first.address.house_number, first.address.postal_code) == ("1", there.postal_code)
    assert (first.address.city, first.address.country) == ("Leipzig", "DE")
    assert (first.latitude, first.longitude) == (there.latitude, there.longitude)
    assert first.status is OperationalStatus.OPERATIONAL
    assert first.has_details
    assert first.oddities == ()
    assert [each.page for each in provider.bill.requests] == [1, 2, 3]
    assert provider.bill.billed == {"text_search.enterprise": 3}


async def test_ids_alone_cost_nothing_and_are_no_details(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    provider.bill.free_tier = False

    found = await all_pages(google, BAKERIES, SEARCH_IDS)

    assert len(found) == 60
    assert not any(each.has_details or each.name or each.website for each in found)
    assert provider.bill.billed == {"text_search.ids": 3}
    assert provider.bill.usd == 0


async def test_no_hit_is_an_answer(google: GooglePlaces) -> None:
    page = await google.search(PlaceQuery("submarine yard", "Leipzig"))

    assert page.places == ()
    assert page.next_token is None


async def test_an_area_keeps_to_itself_and_its_quarters_have_all_of_it(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    found: set[str] = set()
    for quarter in split_area(LEIPZIG):
        part = await all_pages(google, PlaceQuery("bakery", area=quarter))
        assert all(contains(quarter, each.latitude or 0, each.longitude or 0) for each in part)
        found |= {each.place_id for each in part}

    assert found == {each.place_id for each in provider.map.places}


async def test_an_area_across_the_date_line_is_asked_as_one(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    taveuni = Area(-17.5, 179.0, -16.0, -179.0)
    provider.map.places = scatter(5, taveuni, city="Taveuni", country="FJ")

    found = await all_pages(google, PlaceQuery("bakery", area=taveuni))

    assert len(found) == 5
    assert {math.copysign(1, each.longitude or 0) for each in found} == {1, -1}


async def test_those_who_come_to_their_customers_are_found_without_an_address(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    provider.map.places = [
        FakePlace(
            name="Rohrfrei",
            latitude=51.3,
            longitude=12.4,
            types=("plumber",),
            category="Plumber",
            is_service_area=True,
            phone="+49 341 55555",
        )
    ]

    (found,) = await all_pages(google, PlaceQuery("plumbers", area=LEIPZIG))

    assert found.is_service_area
    assert found.address_text is None
    assert (found.latitude, found.longitude) == (None, None)
    assert found.oddities == ()


async def test_filters_that_google_has_are_asked_of_google(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    base = FakePlace(name="Closed now", latitude=51.3, longitude=12.4, rating=4.9, open_now=False)
    open_one = FakePlace(name="Good", latitude=51.3, longitude=12.4, rating=4.3)
    poor = FakePlace(name="Poor", latitude=51.3, longitude=12.4, rating=2.0)
    provider.map.places = [base, open_one, poor]

    page = await google.search(PlaceQuery("bakery", area=LEIPZIG, min_rating=4.2, open_now=True))

    assert [each.name for each in page.places] == ["Good"]


@pytest.mark.parametrize(
    ("wanted", "asked"), [(4.2, 4.0), (4.5, 4.5), (0.3, 0.0), (5, 5.0), (9, 5.0), (-1, 0.0)]
)
def test_the_rating_asked_for_is_the_half_below(wanted: float, asked: float) -> None:
    assert build_search_body(PlaceQuery("x", min_rating=wanted))["minRating"] == asked


def test_a_further_page_repeats_the_whole_request() -> None:
    query = PlaceQuery("bakery", "Leipzig", area=LEIPZIG, region="de", min_rating=4, open_now=True)

    first, second = build_search_body(query), build_search_body(query, "token")

    assert second == {**first, "pageToken": "token"}
    assert first["textQuery"] == "bakery in Leipzig"
    assert first["regionCode"] == "DE"
    assert first["includePureServiceAreaBusinesses"] is True
    assert first["pageSize"] == 20
    assert first["locationRestriction"]["rectangle"]["low"] == {
        "latitude": LEIPZIG.south,
        "longitude": LEIPZIG.west,
    }


async def test_a_token_for_another_request_breaks_the_paging_and_costs_nothing(
    google: GooglePlaces,
) -> None:
    page = await google.search(BAKERIES)

    with pytest.raises(PagingBroken, match="must match the initial") as caught:
        await google.search(
            PlaceQuery("bakeries", "Leipzig", language="fr"), page_token=page.next_token
        )

    assert caught.value.page is None
    assert not caught.value.billed


async def test_a_token_nobody_gave_breaks_the_paging(google: GooglePlaces) -> None:
    with pytest.raises(PagingBroken, match="page_token"):
        await google.search(BAKERIES, page_token="made up")


async def test_a_repeated_token_ends_the_paging_and_keeps_what_was_paid_for(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    first = await google.search(BAKERIES)
    provider.fail(FailureMode.REPEATED_TOKEN)

    with pytest.raises(PagingBroken, match="repeated") as caught:
        await google.search(BAKERIES, page_token=first.next_token)

    assert caught.value.billed
    assert caught.value.page is not None
    assert len(caught.value.page.places) == 20


async def test_a_list_that_moves_between_pages_repeats_a_place(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    first = await google.search(BAKERIES)
    provider.fail(FailureMode.CHANGED)

    second = await google.search(BAKERIES, page_token=first.next_token)

    assert second.places[0].place_id == first.places[-1].place_id
    assert len(second.places) == 20


async def test_details_bring_the_same_as_the_search(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    (found, *_) = (await google.search(BAKERIES)).places

    details = await google.details(found.place_id, language="de", region="DE")

    assert details == found
    assert provider.bill.requests[-1].sku == "place_details.enterprise"


async def test_a_place_that_moved_says_where_under_the_id_it_was_asked_by(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    old = FakePlace(
        name="Old",
        latitude=51.3,
        longitude=12.4,
        moved_to="ChIJnew-new-new",
        status=OperationalStatus.CLOSED_PERMANENTLY,
    )
    provider.map.places = [old]

    found = await google.details(old.place_id)

    assert found.place_id == old.place_id
    assert found.moved_to == "ChIJnew-new-new"
    assert found.status is OperationalStatus.CLOSED_PERMANENTLY


async def test_asking_whether_there_is_still_such_a_place_costs_nothing(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    place = provider.map.places[0]

    found = await google.details(place.place_id, mask=DETAILS_ID)

    assert found.place_id == place.place_id
    assert found.moved_to is None
    assert not found.has_details
    assert provider.bill.requests[-1].sku == "place_details.ids"


@pytest.mark.parametrize(
    "place_id", ["ChIJnobody-at-all", "foo", "", " ", "x" * 600, "../../v1/other", "a\ud800b"]
)
async def test_a_dead_or_impossible_id_is_gone(google: GooglePlaces, place_id: str) -> None:
    with pytest.raises(PlaceGone) as caught:
        await google.details(place_id)

    assert caught.value.permanent
    assert not caught.value.billed


async def test_a_place_without_a_name_is_kept(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    provider.map.places = [
        FakePlace(name=None, latitude=51.3, longitude=12.4),
        FakePlace(name="   ", latitude=51.3, longitude=12.4),
    ]

    nameless, blank = await all_pages(google, PlaceQuery("bakery", area=LEIPZIG))

    assert (nameless.name, blank.name) == (None, None)
    assert nameless.oddities == ()
    assert blank.oddities == ("The name is blank.",)


async def test_the_key_stands_in_one_header_and_nowhere_else(
    fetch: Fetcher, provider: PlacesProvider
) -> None:
    google = GooglePlaces(fetch, DEMO_KEY, provider.google_url + "/")

    await google.search(BAKERIES)

    assert DEMO_KEY not in repr(google)
    assert DEMO_KEY not in str(provider.bill.requests)


async def test_a_key_out_of_a_file_may_end_with_a_line_break(
    fetch: Fetcher, provider: PlacesProvider
) -> None:
    google = GooglePlaces(fetch, f" {DEMO_KEY}\n", provider.google_url)

    assert (await google.search(BAKERIES)).places


async def test_what_is_no_place_is_counted_beside_the_others(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    provider.fail(FailureMode.ODD_PLACES)
    page = await google.search(BAKERIES)

    assert (len(page.places), page.unreadable) == (1, 4)


@pytest.mark.parametrize("places", [[None], [7, "x"], [{}]])
def test_nothing_but_oddities_is_a_failure(places: list[object]) -> None:
    body = json.dumps({"places": places}).encode()
    google = GooglePlaces(fetcher_that_says(response(body)), "key", "")

    with pytest.raises(ProviderDown, match="contains no") as failed:
        asyncio.run(google.search(BAKERIES))

    assert failed.value.billed
