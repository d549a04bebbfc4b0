"""CSV lists of businesses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.errors import InvalidInput
from scrapersky.scraper.providers import OperationalStatus, PlaceAddress, PlaceFacts
from scrapersky.scraper.providers.csv import EMPTY_ROW, is_column_name, parse_header, parse_row
from tests.scraper.providers.canned import texts


def facts_of(header: list[str], row: list[str], region: str | None = None) -> PlaceFacts:
    read = parse_row(parse_header(header), row, region=region)
    assert read.wrong is None
    assert read.facts is not None
    return read.facts


def test_a_german_list_is_read_whole() -> None:
    facts = facts_of(
        [
            "Kundennummer",
            "Firma",
            "Straße",
            "Hausnummer",
            "PLZ",
            "Ort",
            "Land",
            "Telefon",
            "E-Mail",
            "Webseite",
            "Branche",
            "Breitengrad",
            "Längengrad",
            "Bewertung",
        ],
        [
            "K-7",
            "Bäckerei Süß",
            "Markt",
            "1a",
            "04109",
            "Leipzig",
            "Deutschland",
            "0341 123456",
            "a@suess.example; b@suess.example",
            "suess.example",
            "Bäckerei",
            "51,34",
            "12,37",
            "4,5",
        ],
    )

    assert (facts.provider, facts.place_id) == ("csv", "K-7")
    assert facts.name == "Bäckerei Süß"
    assert facts.address == PlaceAddress("Markt", "1a", "04109", "Leipzig", None, "DE")
    assert facts.address_text == "Markt 1a, 04109 Leipzig"
    assert facts.phone == "+49341123456"
    assert facts.emails == ("a@suess.example", "b@suess.example")
    assert facts.website == "suess.example"
    assert (facts.category, facts.types) == ("Bäckerei", ("bäckerei",))
    assert (facts.latitude, facts.longitude, facts.rating) == (51.34, 12.37, 4.5)
    assert facts.has_details
    assert facts.raw["Firma"] == "Bäckerei Süß"
    assert facts.oddities == ()


@pytest.mark.parametrize(
    ("column", "meaning"),
    [
        ("Company Name", "name"),
        ("COMPANY_NAME", "name"),
        ("Raison sociale", "name"),
        ("url", "website"),
        ("Sito web", "website"),
        ("Tel.", "phone"),
        ("Téléphone", "phone"),
        ("e-mail", "email"),
        ("Straße", "street"),
        ("STRASSE", "street"),
        ("Postleitzahl", "postal_code"),
        ("ZIP", "postal_code"),
        ("Ville", "city"),
        ("País", "country"),
        ("lng", "longitude"),
        ("Lat", "latitude"),
        ("Kategorie", "category"),
        ("user_ratings_total", "reviews_count"),
        ("Place ID", "id"),
        ("Business Status", "status"),
    ],
)
def test_columns_are_known_by_many_names(column: str, meaning: str) -> None:
    columns = parse_header(["name", "website", column])

    assert columns.places[meaning] == (2 if meaning not in ("name", "website") else 0) or (
        meaning == "website" and columns.places[meaning] == 1
    )
    assert is_column_name(column)


def test_the_likeliest_of_several_columns_is_taken() -> None:
    columns = parse_header(["Title", "Link", "Website", "Name", "Notes"])

    assert columns.places == {"name": 3, "website": 2}
    assert columns.unused == ("Title", "Link", "Notes")


def test_a_list_without_a_column_to_go_by_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Name one of the columns"):
        parse_header(["Notes", "City", "PLZ"])


@pytest.mark.parametrize(
    "row", [["", "", ""], [], ["  ", "", "no number"], ["---", "", ""], ["\x00", "\n", " "]]
)
def test_a_row_with_nothing_to_go_by_is_refused_with_a_sentence(row: list[str]) -> None:
    read = parse_row(parse_header(["name", "website", "phone"]), row)

    assert read.facts is None
    assert read.wrong == EMPTY_ROW


@pytest.mark.parametrize(
    "row", [["X", "", ""], ["", "x.example", ""], ["", "", "+49 341 123456"], ["X"]]
)
def test_one_of_name_website_and_phone_is_enough(row: list[str]) -> None:
    assert parse_row(parse_header(["name", "website", "phone"]), row).facts is not None


def test_the_same_row_is_the_same_place_and_another_is_another() -> None:
    header = ["Name", "City", "Notes"]

    first = facts_of(header, ["Süß", "Leipzig", "call"]).place_id

    assert first.startswith("row-")
    assert facts_of(header, [" süß ", "LEIPZIG", "called"]).place_id == first
    assert facts_of(["City", "Company"], ["Leipzig", "Süß"]).place_id == first
    assert facts_of(header, ["Süß", "Dresden", "call"]).place_id != first


def test_coordinates_that_cannot_be_are_left_out_and_noted() -> None:
    header = ["name", "lat", "lng"]

    for row in (["X", "95", "12"], ["X", "north", "12"], ["X", "51", ""]):
        facts = facts_of(header, row)
        assert (facts.latitude, facts.longitude) == (None, None)
        assert len(facts.oddities) == 1
    assert facts_of(header, ["X", "", ""]).oddities == ()


def test_a_number_is_read_for_the_region_that_is_given() -> None:
    assert facts_of(["name", "phone"], ["X", "0341 123456"], "DE").phone == "+49341123456"
    unread = facts_of(["name", "phone"], ["X", "0341 123456"])
    assert (unread.phone, unread.phone_raw) == (None, "0341 123456")


def test_a_status_is_taken_when_it_is_one() -> None:
    assert facts_of(["name", "status"], ["X", "Closed Permanently"]).status is (
        OperationalStatus.CLOSED_PERMANENTLY
    )
    assert facts_of(["name", "status"], ["X", "new lead"]).status is None


@given(
    header=st.lists(texts | st.sampled_from(["name", "phone", "lat", "lng", "rating", "email"])),
    row=st.lists(texts | st.sampled_from(["1e999", "-0", "9" * 400, "+49 341 123456", "@", "a@b"])),
)
def test_any_list_is_read_or_refused(header: list[str], row: list[str]) -> None:
    read = parse_row(parse_header(["name", *header]), ["X", *row])

    assert read.facts is not None
    assert read.facts.place_id
    str(read.facts.raw).encode()


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (["Praxisname", "PLZ / Ort", "Tel."], ["Dr. Weber", "04109 Leipzig", "0341 123456"]),
        (["Name 1", "Ort", "Telefon 1"], ["Dr. Weber", "D-04109 Leipzig", "0341 123456"]),
        (
            ["Kunde", "PLZ", "Stadt", "Telefon (Zentrale)"],
            ["Dr. Weber", "04109", "Leipzig", "0341 123456"],
        ),
    ],
)
def test_columns_are_known_by_the_names_that_programs_give_them(
    header: list[str], row: list[str]
) -> None:
    facts = facts_of(header, row, region="DE")

    assert (facts.name, facts.phone) == ("Dr. Weber", "+49341123456")
    assert facts.address == PlaceAddress(postal_code="04109", city="Leipzig")


def test_a_town_that_begins_with_a_number_of_its_own_keeps_it() -> None:
    facts = facts_of(["name", "city"], ["Bakery", "29 Palms"])

    assert (facts.address.postal_code, facts.address.city) == (None, "29 Palms")
