"""Parsing of Google's places, including unusual ones."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given

from scrapersky.scraper.providers import OperationalStatus, PlaceAddress, PlaceFacts, PlaceQuery
from scrapersky.scraper.providers.errors import ProviderFailed
from scrapersky.scraper.providers.google import GooglePlaces
from scrapersky.scraper.providers.google.places import parse_place
from scrapersky.testing import FakePlace
from scrapersky.testing.google_places import build_place
from tests.scraper.providers.canned import fetcher_that_says, json_values, response, spoiled

WHOLE: dict[str, Any] = build_place(
    FakePlace(
        name="Bäckerei Süß",
        latitude=51.34,
        longitude=12.37,
        street="Markt",
        house_number="1a",
        postal_code="04109",
        city="Leipzig",
        region="Sachsen",
        phone="+49 341 123456",
        website="https://suess.example/",
        rating=4.5,
        reviews_count=12,
        price_level=2,
    ),
    "de",
)


def read(**differing: Any) -> PlaceFacts:
    facts = parse_place({**WHOLE, **differing})
    assert facts is not None
    return facts


def test_all_parts_of_a_place_are_read() -> None:
    facts = read()

    assert facts.name == "Bäckerei Süß"
    assert facts.address == PlaceAddress("Markt", "1a", "04109", "Leipzig", "Sachsen", "DE")
    assert facts.address_text == "Markt 1a, 04109 Leipzig, DE"
    assert (facts.phone, facts.phone_raw) == ("+49341123456", "+49 341 123456")
    assert (facts.rating, facts.reviews_count, facts.price_level) == (4.5, 12, 2)
    assert facts.category == "Bakery"
    assert facts.status is OperationalStatus.OPERATIONAL
    assert facts.raw == WHOLE
    assert facts.oddities == ()


def test_a_place_of_which_only_the_id_is_known_is_one() -> None:
    facts = parse_place({"id": "ChIJ"})

    assert facts == PlaceFacts("google", "ChIJ", raw={"id": "ChIJ"})


def test_the_id_is_taken_from_the_resource_where_there_is_no_other() -> None:
    facts = parse_place({"name": "places/ChIJ-x"})

    assert facts is not None
    assert facts.place_id == "ChIJ-x"
    assert facts.name is None, "the resource's name is not the business's"


@pytest.mark.parametrize("document", [{}, None, 7, "x", [], {"id": ""}, {"id": 7}, {"name": {}}])
def test_what_has_no_id_is_no_place(document: object) -> None:
    assert parse_place(document) is None


@pytest.mark.parametrize(
    "location",
    [
        {"latitude": 91, "longitude": 0},
        {"latitude": 0, "longitude": -180.1},
        {"latitude": "51", "longitude": "12"},
        {"latitude": True, "longitude": 1},
        {"latitude": 1e308, "longitude": 10**400},
        {"latitude": None, "longitude": 12.0},
    ],
)
def test_coordinates_that_cannot_be_are_left_out_and_noted(location: dict[str, Any]) -> None:
    facts = read(location=location)

    assert (facts.latitude, facts.longitude) == (None, None)
    (oddity,) = facts.oddities
    assert oddity.startswith("The coordinates")


def test_zero_is_left_out_in_the_json_and_means_the_equator() -> None:
    assert read(location={"longitude": 9.45}).latitude == 0


def test_a_phone_that_is_none_is_kept_as_it_is_written() -> None:
    facts = read(internationalPhoneNumber=None, nationalPhoneNumber="ask at the bar")

    assert (facts.phone, facts.phone_raw) == (None, "ask at the bar")
    assert facts.oddities == ("Phone 'ask at the bar' is not a valid number.",)


def test_a_national_number_is_read_for_the_country_of_its_address() -> None:
    facts = read(internationalPhoneNumber=None, nationalPhoneNumber="0341 123456")

    assert facts.phone == "+49341123456"


def test_a_national_number_is_read_for_the_region_that_was_asked_in() -> None:
    facts = parse_place({"id": "x", "nationalPhoneNumber": "0433 479 794"}, region="AU")

    assert facts is not None
    assert facts.phone == "+61433479794"


def test_the_address_is_taken_from_its_other_form_where_there_are_no_components() -> None:
    facts = read(
        addressComponents=None,
        postalAddress={"regionCode": "us", "postalCode": "94043", "locality": "Mountain View"},
    )

    assert facts.address == PlaceAddress(postal_code="94043", city="Mountain View", country="US")


def test_where_there_is_no_locality_the_postal_town_is_the_city() -> None:
    components = [
        {"longText": "London", "types": ["postal_town"]},
        {"longText": "United Kingdom", "shortText": "GB", "types": ["country"]},
        {"longText": "nothing"},
        "odd",
    ]

    assert read(addressComponents=components).address.city == "London"


def test_round_the_clock_is_one_period_without_an_end() -> None:
    hours = read(regularOpeningHours={"periods": [{"open": {"day": 0}}]}).hours

    assert hours == {"always_open": True, "days": [], "periods": []}


def test_hours_keep_their_periods_and_lines() -> None:
    hours = read().hours

    assert hours is not None
    assert hours["periods"][0] == {
        "open": {"day": 1, "time": "07:30"},
        "close": {"day": 1, "time": "18:00"},
    }
    assert len(hours["days"]) == 7
    assert not hours["always_open"]


def test_hours_without_sense_are_none() -> None:
    assert read(regularOpeningHours={"periods": [{"open": {"day": 9}}, 3, {}]}).hours is None


def test_what_cannot_be_stored_is_taken_out_and_what_never_ends_is_cut() -> None:
    facts = read(
        displayName={"text": "A\x00B\ud800C\n\nD" + "x" * 5_000},
        websiteUri="http://x.example/\x00",
        odd={"\x00key": "\x00", "number": float("inf"), "long": "y" * 90_000},
    )

    assert facts.name is not None
    assert facts.name.startswith("A B C D")
    assert len(facts.name) == 1_000
    assert facts.website == "http://x.example/"
    assert facts.raw["odd"]["key"] == ""
    assert facts.raw["odd"]["number"] is None
    assert len(facts.raw["odd"]["long"]) == 20_000


@pytest.mark.parametrize("name", ["", "   ", "\u200b\x00", "---", "★ ★"])
def test_a_name_without_a_letter_is_none_and_noted(name: str) -> None:
    facts = read(displayName={"text": name})

    assert facts.name is None
    assert len(facts.oddities) == 1


@pytest.mark.parametrize(("rating", "kept"), [(5, 5.0), (0, 0.0), (5.1, None), ("4", None)])
def test_ratings_are_between_nothing_and_five(rating: object, kept: float | None) -> None:
    assert read(rating=rating).rating == kept


def is_storable(value: object) -> bool:
    """As PostgreSQL has it: JSON without NUL, lone surrogates and infinities."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    return "\\u0000" not in text and bool(text.encode("utf-8"))


@given(document=spoiled(WHOLE))
def test_anything_anywhere_in_a_place_is_read_or_left_out(document: Any) -> None:
    facts = parse_place(document, asked_id="x")

    assert facts is not None
    assert is_storable(facts.raw)
    assert is_storable(facts.hours)
    texts = (facts.name, facts.website, facts.category, facts.phone_raw, *facts.types)
    assert all(is_storable(each) and each != "" for each in texts)
    assert facts.latitude is None or -90 <= facts.latitude <= 90
    assert facts.rating is None or 0 <= facts.rating <= 5


@given(document=spoiled({"places": [WHOLE, {"id": "y"}], "nextPageToken": "t"}) | json_values)
def test_a_search_answers_with_a_page_or_a_named_failure(document: Any) -> None:
    google = GooglePlaces(fetcher_that_says(response(json.dumps(document).encode())), "k" * 20, "")

    async def ask() -> None:
        with suppress(ProviderFailed):
            page = await google.search(PlaceQuery("x"), page_token="t")
            assert page.next_token is None or isinstance(page.next_token, str)
        with suppress(ProviderFailed):
            assert (await google.details("x")).place_id == "x"

    asyncio.run(ask())
