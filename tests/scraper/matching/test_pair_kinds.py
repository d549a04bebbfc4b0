"""Typical pairs: chains, practices, several businesses at one address, other spellings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scrapersky.scraper.matching.comparison import compare
from scrapersky.scraper.matching.model import BusinessDescription, MatchVerdict

DOOR: dict[str, Any] = {
    "street": "Hauptstraße",
    "house_number": "5",
    "postal_code": "04109",
    "city": "Leipzig",
    "country": "DE",
    "latitude": 51.34,
    "longitude": 12.37,
}
SPOT: dict[str, Any] = {"latitude": 51.3401, "longitude": 12.3702}
"""Some metres on, from somebody who knows no address."""
PHONE = "+493411234567"


def one(name: str, *kinds: str, **more: Any) -> BusinessDescription:
    return BusinessDescription(
        **{"name": name, "categories": kinds, "provider": "google", **DOOR, **more}
    )


def other(name: str, *kinds: str, **more: Any) -> BusinessDescription:
    return one(name, *kinds, **{"provider": "osm", **more})


def on_map(name: str, *kinds: str) -> BusinessDescription:
    return BusinessDescription(name=name, categories=kinds, provider="osm", **SPOT)


PARIS = {"city": "Paris", "country": "FR", "postal_code": "75004", "house_number": "12"}
KRAKOW = {"country": "PL", "postal_code": "31-147"}
NEW_YORK = {"city": "New York", "country": "US", "street": "Carmine St", "postal_code": "10014"}

THE_SAME = {
    "a chain's shop and who runs it": (
        one("REWE Sven Müller oHG", "supermarket"),
        on_map("REWE", "supermarket"),
    ),
    "a chain's name with its trade": (
        one("ROSSMANN Drogeriemarkt", "drugstore"),
        on_map("Rossmann", "chemist"),
    ),
    "a saint in the street": (
        one("Boulangerie Maison Dupont", "bakery", **PARIS, street="Rue Saint-Antoine"),
        other("Maison Dupont", "bakery", **PARIS, street="rue St Antoine"),
    ),
    "a street with and without its article": (
        one("Chez Paul", "restaurant", **PARIS, street="Place de la Gare"),
        other("Paul", "restaurant", **PARIS, street="Pl. Gare"),
    ),
    "a legal form and `ul.`": (
        one("Piekarnia Łódź Sp. z o.o.", **KRAKOW, city="Kraków", street="ul. Długa"),
        other("Piekarnia Lodz", **KRAKOW, city="Krakow", street="Długa"),
    ),
    "an apostrophe that is left out": (
        one("Joe's Pizza", "restaurant", **NEW_YORK),
        other("Joes Pizza", "restaurant", **NEW_YORK),
    ),
    "an inn has rooms": (
        one("Gasthof zum Goldenen Hirschen", "restaurant"),
        other("Goldener Hirsch", "hotel"),
    ),
    "who speaks to customers in its name": (
        one("Friseur Schnittpunkt - Ihr Friseur in Leipzig", "hair_salon"),
        other("Schnittpunkt", "hairdresser"),
    ),
    "Greek letters": (
        one("Taverna Ouzeri", "restaurant", phone=PHONE),
        other("Ταβέρνα Ουζερί", "restaurant", phone=PHONE),
    ),
    "Cyrillic letters": (one("Pekarnya Khleb", "bakery"), other("Пекарня Хлеб", "bakery")),
    "a first name and its initial": (
        one("Dr. med. T. Krüger", "doctor", phone=PHONE),
        other("Dr. Thomas Krüger", "doctor", phone=PHONE),
    ),
}


@pytest.mark.parametrize("pair", THE_SAME.values(), ids=THE_SAME)
def test_they_are_one(pair: tuple[BusinessDescription, BusinessDescription]) -> None:
    found = compare(*pair)

    assert found.verdict is MatchVerdict.SAME, found


PRACTICE = {"phone": PHONE, "site_key": "praxis-am-markt.de"}
NOT_ONE = {
    "a couple with one practice": (
        one("Dr. A. Weber", "dentist", **PRACTICE),
        other("Dr. S. Weber", "dentist", **PRACTICE),
    ),
    "specialists in one house": (
        one("Augenarztpraxis am Markt", "doctor"),
        other("Hautarztpraxis am Markt", "doctors"),
    ),
    "a supermarket and its drinks": (
        one("REWE", "supermarket"),
        other("REWE Getränkemarkt", "beverages"),
    ),
    "a filling station and its car wash": (
        one("Shell", "gas_station"),
        other("Shell Waschanlage", "car_wash"),
    ),
    "a bank and a machine of it": (
        one("Sparkasse Leipzig", "bank"),
        other("Sparkasse Geldautomat", "atm"),
    ),
    "a branch somewhere else in town": (
        one("Apollo-Optik", "optician", site_key="apollo.de"),
        BusinessDescription(
            name="Apollo-Optik", city="Leipzig", postal_code="04229", site_key="apollo.de"
        ),
    ),
    "a chain's hotline, and no address": (
        one("Boots", "pharmacy", country="GB", phone="+443451234567", site_key="boots.com"),
        BusinessDescription(
            name="Boots", city="Leipzig", phone="+443451234567", site_key="boots.com"
        ),
    ),
    "a hotel and its restaurant": (
        one("Hotel Adler", "hotel", phone=PHONE, site_key="adler.de"),
        other("Restaurant Adler", "restaurant", phone=PHONE, site_key="adler.de"),
    ),
    "a bakery in a supermarket": (
        one("Bäckerei Steinecke im REWE", "bakery"),
        other("REWE", "supermarket"),
    ),
}


@pytest.mark.parametrize("pair", NOT_ONE.values(), ids=NOT_ONE)
def test_they_are_not_taken_for_one(pair: tuple[BusinessDescription, BusinessDescription]) -> None:
    found = compare(*pair)

    assert found.verdict is not MatchVerdict.SAME, found


def test_two_doctors_of_one_practice_are_two_and_nobody_is_asked() -> None:
    left = one("Dr. med. Anna Weber", "doctor", **PRACTICE)
    right = other("Dr. med. Peter Krause", "doctors", **PRACTICE)

    assert compare(left, right).verdict is MatchVerdict.DIFFERENT


def test_another_name_with_the_number_and_the_door_is_asked_about() -> None:
    before = one("Trattoria Da Mario", "restaurant", phone=PHONE)
    after = other("Ristorante Bella Vista", "restaurant", phone=PHONE)

    assert compare(before, after).verdict is MatchVerdict.DOUBTFUL
    assert compare(before, replace(after, phone=None)).verdict is MatchVerdict.DIFFERENT


@pytest.mark.parametrize(
    "hotline", ["+498001234567", "+443451234567", "+18005551234", "+33800123456", "+49180512345"]
)
def test_a_hotline_says_little(hotline: str) -> None:
    here = BusinessDescription(name="Pizza Turbo", city="Leipzig", phone=hotline)
    there = BusinessDescription(name="Turbo Pizza Service", phone=hotline)

    assert compare(here, there).verdict is not MatchVerdict.SAME
