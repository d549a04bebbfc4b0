"""Overpass queries, the parsing of responses, and protection against injection."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.errors import InvalidInput
from scrapersky.scraper.providers import Area, PlaceQuery
from scrapersky.scraper.providers.errors import (
    AreaTooLarge,
    BadRequest,
    KeyRefused,
    MinuteQuota,
    ProviderDown,
    ProviderFailed,
)
from scrapersky.scraper.providers.osm import ATTRIBUTION, Overpass
from scrapersky.scraper.providers.osm.overpass import (
    build_query,
    escape_pattern,
    parse_element,
    quote_text,
)
from scrapersky.testing import FailureMode, FakePlace, PlacesProvider, ProviderService
from scrapersky.testing.openstreetmap import parse_query
from tests.scraper.providers.canned import (
    fetcher_that_says,
    json_values,
    response,
    spoiled,
    texts,
)
from tests.scraper.providers.conftest import LEIPZIG

BAKERY = FakePlace(
    name="Bäckerei Süß",
    latitude=51.34,
    longitude=12.37,
    street="Markt",
    house_number="1",
    postal_code="04109",
    city="Leipzig",
    phone="0341 123456; +49 341 654321",
    website="https://suess.example",
    email="laden@suess.example;backstube@suess.example",
    osm_tags={
        "shop": "bakery",
        "opening_hours": "Mo-Fr 06:00-18:00",
        "contact:instagram": "@suess",
        "contact:facebook": "https://de-de.facebook.com/suess/",
        "contact:linkedin": "suess-gmbh",
    },
    osm_type="way",
    osm_id=4711,
)
SHOP = FakePlace(
    name="Zum goldenen Zwirn",
    latitude=51.33,
    longitude=12.38,
    osm_tags={"shop": "haberdashery"},
    osm_id=12,
)
BENCH = FakePlace(
    name="Zwirnbank", latitude=51.33, longitude=12.38, osm_tags={"natural": "tree"}, osm_id=13
)


async def test_a_kind_that_is_known_is_asked_by_its_tag_and_read_whole(
    overpass: Overpass, provider: PlacesProvider
) -> None:
    provider.map.places = [BAKERY, SHOP, BENCH]

    page = await overpass.search(PlaceQuery("Bäckereien", region="DE"), LEIPZIG)

    (found,) = page.places
    assert page.attribution == ATTRIBUTION == "© OpenStreetMap contributors"
    assert page.next_token is None
    assert (found.provider, found.place_id) == ("osm", "way/4711")
    assert (found.name, found.category, found.types) == ("Bäckerei Süß", "bakery", ("bakery",))
    assert (found.phone, found.phone_raw) == ("+49341123456", "0341 123456")
    assert found.emails == ("laden@suess.example", "backstube@suess.example")
    assert found.profiles == (
        "https://www.facebook.com/suess",
        "https://www.instagram.com/suess",
        "https://www.linkedin.com/company/suess-gmbh",
    )
    assert (found.latitude, found.longitude) == (51.34, 12.37)
    assert found.address_text == "Markt 1, 04109 Leipzig"
    assert found.address.country == "DE"
    assert found.hours is not None
    assert found.hours["osm"] == "Mo-Fr 06:00-18:00"
    assert found.maps_url == "https://www.openstreetmap.org/way/4711"
    assert found.has_details
    assert found.oddities == ()


async def test_words_that_are_not_known_are_looked_for_in_names_of_businesses(
    overpass: Overpass, provider: PlacesProvider
) -> None:
    provider.map.places = [BAKERY, SHOP, BENCH]

    page = await overpass.search(PlaceQuery("zwirn"), LEIPZIG)

    assert [each.place_id for each in page.places] == ["node/12"]


async def test_words_that_are_a_value_of_a_category_are_found_by_it(
    overpass: Overpass, provider: PlacesProvider
) -> None:
    planetarium = FakePlace(
        name="Sterne", latitude=51.3, longitude=12.3, osm_tags={"amenity": "hookah_lounge"}
    )
    provider.map.places = [planetarium, BENCH]

    page = await overpass.search(PlaceQuery("hookah lounge"), LEIPZIG)

    assert [each.name for each in page.places] == ["Sterne"]


async def test_a_word_before_a_known_kind_narrows_it(
    overpass: Overpass, provider: PlacesProvider
) -> None:
    def restaurant(name: str, cuisine: str) -> FakePlace:
        tags = {"amenity": "restaurant", "cuisine": cuisine}
        return FakePlace(name=name, latitude=51.3, longitude=12.3, osm_tags=tags)

    provider.map.places = [restaurant("Uno", "italian;pizza"), restaurant("Zwei", "german")]

    page = await overpass.search(PlaceQuery("Italian restaurants"), LEIPZIG)

    assert [each.name for each in page.places] == ["Uno"]


async def test_what_lies_outside_is_not_found_and_nothing_is_an_answer(
    overpass: Overpass, provider: PlacesProvider
) -> None:
    provider.map.places = [BAKERY]

    page = await overpass.search(PlaceQuery("bakery"), Area(48.0, 11.0, 48.2, 11.7))

    assert page.places == ()


async def test_an_area_across_the_date_line_is_asked_on_both_sides(
    overpass: Overpass, provider: PlacesProvider
) -> None:
    tags = {"shop": "bakery"}
    provider.map.places = [
        FakePlace(name="West", latitude=-17, longitude=179.9, osm_tags=tags),
        FakePlace(name="East", latitude=-17, longitude=-179.9, osm_tags=tags),
        FakePlace(name="Far", latitude=-17, longitude=10, osm_tags=tags),
    ]

    page = await overpass.search(PlaceQuery("bakery"), Area(-18, 179, -16, -179))

    assert sorted(str(each.name) for each in page.places) == ["East", "West"]


@pytest.mark.parametrize(
    ("trouble", "kind", "sentence"),
    [
        (FailureMode.MINUTE_QUOTA, MinuteQuota, "Too many requests"),
        (FailureMode.TOO_BUSY, ProviderDown, "answered 504"),
        (FailureMode.SERVER_ERROR, ProviderDown, "answered 500"),
        (FailureMode.FORBIDDEN, KeyRefused, "FETCH_USER_AGENT"),
        (FailureMode.REMARK, ProviderDown, "aborted the query: runtime error: Query timed out"),
        (FailureMode.WEB_PAGE, ProviderDown, "did not answer with JSON"),
        (FailureMode.NOT_JSON, ProviderDown, "did not answer with JSON"),
        (FailureMode.EMPTY, ProviderDown, "did not answer with JSON"),
        (FailureMode.TRUNCATED, ProviderDown, "did not answer with JSON"),
        (FailureMode.REDIRECT, ProviderDown, "answered 302"),
        (FailureMode.CUT, ProviderDown, "could not be reached"),
    ],
)
async def test_each_failure_has_its_name_and_sentence(
    overpass: Overpass,
    provider: PlacesProvider,
    trouble: FailureMode,
    kind: type[ProviderFailed],
    sentence: str,
) -> None:
    provider.fail(trouble, service=ProviderService.OVERPASS)

    with pytest.raises(kind, match=sentence):
        await overpass.search(PlaceQuery("bakery"), LEIPZIG)


async def test_a_server_that_says_when_is_given_its_time_and_any_other_counts_as_failed(
    overpass: Overpass, provider: PlacesProvider
) -> None:
    provider.fail(FailureMode.TOO_BUSY, service=ProviderService.OVERPASS)
    provider.fail(FailureMode.MINUTE_QUOTA, service=ProviderService.OVERPASS, retry_after=5)

    with pytest.raises(ProviderDown) as busy:
        await overpass.search(PlaceQuery("bakery"), LEIPZIG)
    with pytest.raises(MinuteQuota) as asked:
        await overpass.search(PlaceQuery("bakery"), LEIPZIG)

    assert busy.value.retry_after_seconds is None
    assert asked.value.retry_after_seconds == 5


@pytest.mark.parametrize(
    ("remark", "is_too_much"),
    [
        ("runtime error: open64: 2", False),
        ("Query timed out", True),
        ("runtime error: Query ran out of memory", True),
        ("runtime remark: Test", False),
        ("Test remark", False),
    ],
)
def test_whatever_it_remarks_means_that_not_all_came(remark: str, is_too_much: bool) -> None:
    body = json.dumps({"elements": [], "remark": remark}).encode()
    asked = Overpass(fetcher_that_says(response(body)), "").search(PlaceQuery("bar"), LEIPZIG)

    with pytest.raises(ProviderDown, match=re.escape(remark)) as failed:
        asyncio.run(asked)

    assert isinstance(failed.value, AreaTooLarge) is is_too_much


def test_elements_of_which_none_is_a_place_are_no_empty_result() -> None:
    body = json.dumps({"elements": [None, 7, {"type": "area", "id": 1}]}).encode()
    asked = Overpass(fetcher_that_says(response(body)), "").search(PlaceQuery("bar"), LEIPZIG)

    with pytest.raises(ProviderDown, match="contains no"):
        asyncio.run(asked)


def test_a_redirect_asks_whether_the_setting_is_right() -> None:
    asked = Overpass(fetcher_that_says(response(b"", 301)), "").search(PlaceQuery("bar"), LEIPZIG)

    with pytest.raises(ProviderDown, match="Check OVERPASS_BASE_URL") as failed:
        asyncio.run(asked)

    assert failed.value.retry_after_seconds is None


def test_the_sentence_of_a_refusal_is_taken_out_of_its_page() -> None:
    page = (
        b'<html><body><p>x</p><p><strong style="color:#F00">Error</strong>: line 1: parse error: '
        b"Key expected &amp; not found \xe4 </p></body></html>"
    )
    overpass = Overpass(fetcher_that_says(response(page, 400)), "")

    with pytest.raises(BadRequest, match="parse error: Key expected & not found"):
        asyncio.run(overpass.search(PlaceQuery("bar"), LEIPZIG))


def test_more_than_is_read_at_once_asks_for_a_smaller_area() -> None:
    cut = response(b'{"elements":', truncated="It is larger than 10 bytes; the rest was not read.")

    with pytest.raises(AreaTooLarge, match="smaller area"):
        asyncio.run(Overpass(fetcher_that_says(cut), "").search(PlaceQuery("bar"), LEIPZIG))


HOSTILE = [
    '"];node(1);out;[',
    '"](0,0,1,1);nwr["x"="',
    "\\",
    '\\"',
    '\\\\"];out;',
    'a"\n];out body;//',
    "/* x */",
    ".*",
    "(((((",
    "[a-z]{1,9999}",
    "bakery\x00\ud800",
    "x" * 10_000,
]


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_words_stay_words(words: str) -> None:
    statements = parse_query(build_query(words, LEIPZIG)).statements

    assert len(statements) <= 2
    assert all(each.area == LEIPZIG for each in statements)


@given(words=texts | st.text('"\\[](){};~=,.*+?^$|/ an', max_size=30))
def test_any_words_make_a_query_of_the_same_shape(words: str) -> None:
    with suppress(InvalidInput):
        for statement in parse_query(build_query(words, LEIPZIG)).statements:
            assert statement.area == LEIPZIG
            assert 1 <= len(statement.filters) <= 2


@given(words=st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=40))
def test_a_pattern_finds_the_words_themselves(words: str) -> None:
    assert re.search(escape_pattern(words), f"xx {words} xx")
    read = parse_query(
        f"[out:json];(nwr[{quote_text('k')}~{quote_text(escape_pattern(words))}](1,2,3,4););"
        "out tags center;"
    )
    assert read.statements[0].filters[0].value == escape_pattern(words)


@pytest.mark.parametrize("words", ["", "   ", "\x00\n"])
def test_nothing_to_look_for_is_refused(words: str) -> None:
    with pytest.raises(InvalidInput, match="type of business"):
        build_query(words, LEIPZIG)


def test_the_box_goes_south_west_north_east() -> None:
    text = build_query("bakery", Area(1, 2, 3, 4), seconds=25)

    assert text == (
        '[out:json][timeout:25];(nwr["shop"="bakery"]'
        "(1.0000000,2.0000000,3.0000000,4.0000000););out tags center;"
    )


ELEMENT: dict[str, Any] = {
    "type": "node",
    "id": 7,
    "lat": 51.3,
    "lon": 12.4,
    "tags": {
        "name": "X",
        "shop": "bakery;cafe",
        "phone": "+49 341 123456",
        "email": "a@b.example",
        "contact:instagram": "handle",
        "opening_hours": "24/7",
        "addr:country": "de",
        "website": "x.example",
    },
}


def test_several_categories_in_one_tag_are_several() -> None:
    facts = parse_element(ELEMENT)

    assert facts is not None
    assert facts.types == ("bakery", "cafe")
    assert facts.hours is not None
    assert facts.hours["always_open"]
    assert facts.address.country == "DE"


def test_a_brand_or_an_operator_stands_for_the_name() -> None:
    brand = parse_element({**ELEMENT, "tags": {"brand": "Kamps", "operator": "K GmbH"}})
    operator = parse_element({**ELEMENT, "tags": {"operator": "K GmbH"}})

    assert brand is not None
    assert operator is not None
    assert (brand.name, operator.name) == ("Kamps", "K GmbH")


@pytest.mark.parametrize(
    "element",
    [None, {}, {"type": "area", "id": 1, "tags": {"a": "b"}}, {"type": "node", "id": 1}, {"id": 3}],
)
def test_what_has_no_id_or_says_nothing_is_no_place(element: object) -> None:
    assert parse_element(element) is None


@pytest.mark.parametrize("value", ["javascript:alert(1)", "https://other.example/x", "a b c", "@"])
def test_a_profile_that_is_none_is_left_out(value: str) -> None:
    facts = parse_element({**ELEMENT, "tags": {"name": "X", "contact:facebook": value}})

    assert facts is not None
    assert facts.profiles == ()


@given(document=spoiled({"elements": [ELEMENT]}) | json_values)
def test_an_answer_is_a_page_or_a_named_failure(document: Any) -> None:
    answer = response(json.dumps(document).encode())

    with suppress(ProviderFailed):
        page = asyncio.run(Overpass(fetcher_that_says(answer), "").search(PlaceQuery("x"), LEIPZIG))
        for each in page.places:
            json.dumps(each.raw, allow_nan=False, ensure_ascii=False).encode()
            assert each.place_id.partition("/")[0] in ("node", "way", "relation")


@pytest.mark.parametrize(
    ("tags", "website"),
    [
        ({"website": "https://facebook.com/b", "contact:website": "https://b.de"}, "https://b.de"),
        ({"website": "https://facebook.com/b", "url": "nothing"}, "https://facebook.com/b"),
        ({"url": "b.de"}, "b.de"),
        ({}, None),
    ],
)
def test_a_site_of_its_own_is_taken_whichever_tag_has_it(
    tags: dict[str, str], website: str | None
) -> None:
    element = {"type": "node", "id": 1, "lat": 1, "lon": 2, "tags": {"shop": "bakery", **tags}}
    facts = parse_element(element)

    assert facts is not None
    assert facts.website == website
