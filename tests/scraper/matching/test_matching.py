"""Entity matching on labelled pairs, and on cases that must never fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scrapersky.scraper.matching.comparison import compare
from scrapersky.scraper.matching.model import BusinessDescription, MatchEvidence, MatchVerdict
from scrapersky.scraper.matching.names import build_name_key
from tests.scraper.matching.pairs import figures, judged, labelled_pairs

BAKERY = BusinessDescription(
    name="Bäckerei Kornblume",
    street="Karl-Heine-Straße",
    house_number="46",
    postal_code="04229",
    city="Leipzig",
    country="DE",
    latitude=51.3323,
    longitude=12.3334,
    phone="+49341123456",
    site_key="kornblume-brot.de",
    categories=("bakery",),
    provider="google",
    place_id="one",
)


@pytest.mark.parametrize("held_out", [False, True])
def test_those_taken_for_one_are_one_and_few_are_missed(held_out: bool) -> None:
    found = figures(judged(each for each in labelled_pairs() if each.held_out is held_out))

    assert found.precision >= 0.99
    assert found.recall >= 0.9
    assert found.doubtful <= 0.25


def test_the_labelled_pairs_are_many_and_a_third_of_them_was_held_out() -> None:
    pairs = list(labelled_pairs())

    assert len(pairs) >= 400
    assert 0.2 < sum(each.held_out for each in pairs) / len(pairs) < 0.4
    assert len({each.id for each in pairs}) == len(pairs)


def test_it_does_not_matter_which_of_the_two_comes_first() -> None:
    for each in labelled_pairs():
        there, back = compare(each.left, each.right), compare(each.right, each.left)
        assert (there.verdict, there.score) == (back.verdict, back.score), each.id


def test_every_description_is_the_same_as_itself_and_says_why() -> None:
    found = compare(BAKERY, BAKERY)

    assert (found.verdict, found.score, found.matched_by) == ("same", 1.0, MatchEvidence.PLACE_ID)
    assert found.reasons == ("They have the same place ID.",)


OTHER_SPELLINGS = [
    "BAECKEREI KORNBLUME",
    "Kornblume, Bäckerei",
    "Bäckerei Kornblume GmbH & Co. KG",
    "Bäckerei Kornblume e. K.",
    "Baeckerei Kornblumme",
    "Kornblume Bakery Ltd.",
    "Bäckerei Korn Blume",
    "Bäckerei Kornblume | Brot und Kuchen",
    "Bäckerei Kornblume Inh. Jana Petersen",
    "Bäckerei Kornblume Leipzig",
]


@pytest.mark.parametrize("name", OTHER_SPELLINGS)
def test_other_spellings_at_the_same_place_are_the_same(name: str) -> None:
    other = BusinessDescription(
        name=name, latitude=51.3325, longitude=12.3337, provider="osm", place_id="1"
    )

    found = compare(BAKERY, other)

    assert found.verdict is MatchVerdict.SAME, found
    assert found.matched_by is MatchEvidence.NAME_AND_DISTANCE


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Karl-Heine-Str. 46", "Karl-Heine-Straße", True),
        ("46 Walcot Street", "Walcot St", True),
        ("Karl-Heine-Str. 46a", "Karl-Heine-Straße", True),
        ("Karl-Heine-Str. 81", "Karl-Heine-Straße", False),
        ("5th Avenue 46", "5th Ave", True),
    ],
)
def test_a_number_may_stand_in_the_line_of_the_street(one: str, other: str, same: bool) -> None:
    line = BusinessDescription(name="Kornblume", street=one, city="Leipzig")
    apart = BusinessDescription(name="Kornblume", street=other, house_number="46", city="Leipzig")

    assert (compare(line, apart).verdict is MatchVerdict.SAME) is same


@pytest.mark.parametrize(
    "more",
    [
        {"street": "Zschochersche Straße", "latitude": 51.3260, "phone": None},
        {"house_number": "90", "latitude": 51.3339, "phone": None},
        {"city": "Halle", "postal_code": "06108", "latitude": 51.48, "longitude": 11.97},
        {"country": "AT", "phone": None},
    ],
)
def test_a_branch_that_shares_name_and_site_is_not_the_same(more: dict[str, str]) -> None:
    branch = replace(BAKERY, provider="osm", place_id="node/1", **more)  # type: ignore[arg-type]

    assert compare(BAKERY, branch).verdict is not MatchVerdict.SAME


def test_two_places_of_google_are_at_most_doubtful() -> None:
    everything_else_fits = compare(BAKERY, replace(BAKERY, place_id="two"))
    without_phone = compare(BAKERY, replace(BAKERY, place_id="two", phone=None))

    assert everything_else_fits.verdict is MatchVerdict.DOUBTFUL
    assert without_phone.verdict is MatchVerdict.DIFFERENT
    assert "The provider lists them as two places." in without_phone.reasons


def test_a_number_that_everybody_of_a_chain_has_proves_little() -> None:
    hotline = BusinessDescription(name="Pizza Turbo", city="Leipzig", phone="+498001234567")
    other = BusinessDescription(name="Turbo Pizza Service", phone="+498001234567")
    shared = replace(other, phone="+49341998877", phone_is_shared=True)

    assert compare(hotline, other).verdict is not MatchVerdict.SAME
    assert compare(replace(hotline, phone="+49341998877"), shared).verdict is not MatchVerdict.SAME
    assert (
        compare(
            replace(hotline, phone="+49341998877"), replace(other, phone="+49341998877")
        ).verdict
        is MatchVerdict.SAME
    )


def test_names_that_many_have_need_more_than_the_town() -> None:
    many = BusinessDescription(name="Bäckerei Müller", city="Leipzig")
    rare = BusinessDescription(name="Bäckerei Kornblume", city="Leipzig")

    assert compare(many, many).verdict is MatchVerdict.DOUBTFUL
    assert compare(rare, rare).verdict is MatchVerdict.SAME


def test_the_reasons_can_be_read() -> None:
    hotel = BusinessDescription(
        name="Hotel Adlerhorst", street="Markt", house_number="1", phone="+49341777"
    )
    restaurant = replace(hotel, name="Restaurant Adlerhorst")

    found = compare(hotel, restaurant)

    assert found.verdict is MatchVerdict.DOUBTFUL
    assert found.reasons == (
        "The names are similar: Hotel Adlerhorst, Restaurant Adlerhorst.",
        "They are in different trades.",
        "They have the same address.",
        "The phone number is the same.",
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bäckerei Müller GmbH", "MUELLER Baeckerei"),
        ("Joe's Garage Ltd.", "Garage Joe"),
        ("Café & Bar Zenith", "Cafe und Bar Zenith"),
        ("Gebr. Straßer OHG", "Gebrüder Strasser"),
        ("S.A.R.L. Les Épis", "Epis"),
    ],
)
def test_spellings_of_one_name_have_one_key(one: str, other: str) -> None:
    assert build_name_key(one) == build_name_key(other) is not None


@pytest.mark.parametrize("name", ["", "   ", "–", "!!!", "\u0301"])
def test_what_is_no_name_has_no_key(name: str) -> None:
    assert build_name_key(name) is None


@pytest.mark.parametrize("name", ["GmbH", "The", "Dr.", "€ & @", "x" * 10_000, "a " * 5_000, "龍"])
def test_odd_names_are_compared_like_others(name: str) -> None:
    odd = replace(BAKERY, name=name, provider="csv", place_id="7")

    assert compare(odd, BAKERY).verdict in MatchVerdict
    assert compare(odd, replace(odd, provider="osm")).score > 0.5


def test_nothing_is_nobody() -> None:
    assert compare(BusinessDescription(), BusinessDescription()).verdict is MatchVerdict.DIFFERENT
    assert compare(BAKERY, BusinessDescription()).verdict is MatchVerdict.DIFFERENT
