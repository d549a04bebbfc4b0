"""Business types that people type, and the matching OpenStreetMap tags."""

from __future__ import annotations

import re

import pytest

from scrapersky.scraper.providers.osm.overpass import (
    OsmTag,
    build_filters,
    find_tags,
    list_words,
    normalise_words,
)


@pytest.mark.parametrize(
    ("words", "tag"),
    [
        ("bakery", "shop=bakery"),
        ("Bakeries", "shop=bakery"),
        ("Bäckerei", "shop=bakery"),
        ("baeckerei", "shop=bakery"),
        ("Bäckereien", "shop=bakery"),
        ("boulangerie", "shop=bakery"),
        ("restaurants", "amenity=restaurant"),
        ("Café", "amenity=cafe"),
        ("cafes", "amenity=cafe"),
        ("hairdressers", "shop=hairdresser"),
        ("Friseure", "shop=hairdresser"),
        ("Dentists", "amenity=dentist"),
        ("Zahnärzte", "amenity=dentist"),
        ("zahnaerztin", "amenity=dentist"),
        ("law firms", "office=lawyer"),
        ("Rechtsanwälte", "office=lawyer"),
        ("plumber", "craft=plumber"),
        ("Klempner", "craft=plumber"),
        ("hotels", "tourism=hotel"),
        ("Apotheken", "amenity=pharmacy"),
        ("farmacia", "amenity=pharmacy"),
        ("florists", "shop=florist"),
        ("bike shops", "shop=bicycle"),
        ("Fahrradläden", "shop=bicycle"),
        ("KFZ-Werkstatt", "shop=car_repair"),
        ("car repair", "shop=car_repair"),
        ("coffee shop", "amenity=cafe"),
        ("  Physical   Therapist ", "healthcare=physiotherapist"),
        ("gym", "leisure=fitness_centre"),
        ("Steuerberater", "office=tax_advisor"),
        ("breweries", "craft=brewery"),
    ],
)
def test_words_lead_to_their_tag(words: str, tag: str) -> None:
    assert OsmTag(*tag.split("=")) in find_tags(words)


@pytest.mark.parametrize("words", ["", " ", "submarine yard", "s", "es", '"];out;', "\x00"])
def test_words_that_are_not_known_lead_to_none(words: str) -> None:
    assert find_tags(words) == ()


def test_the_table_is_large_and_its_tags_are_tags() -> None:
    words = list_words()

    assert len(words) > 800
    assert "" not in words
    for word in words:
        assert word == normalise_words(word)
        for tag in find_tags(word):
            assert re.fullmatch(r"[a-z]+(:[a-z]+)?", tag.key)
            assert re.fullmatch(r"[a-z_]+", tag.value)


@pytest.mark.parametrize(
    ("words", "cuisine"),
    [
        ("italienische Restaurants", "italian"),
        ("restaurants italiens", "italian"),
        ("restaurante chino", "chinese"),
        ("griechisches Restaurant", "greek"),
        ("sushi restaurants", "sushi"),
    ],
)
def test_cooking_is_looked_for_by_the_word_that_the_map_has(words: str, cuisine: str) -> None:
    first, *_ = build_filters(words)

    assert first == f'["amenity"="restaurant"]["cuisine"~"{cuisine}",i]'


def test_vegan_is_a_diet_too() -> None:
    assert '["amenity"="restaurant"]["diet:vegan"~"yes|only"]' in build_filters(
        "vegane Restaurants"
    )


@pytest.mark.parametrize(
    ("words", "tag"),
    [
        ("Kinderärzte", "healthcare:speciality=paediatrics"),
        ("agences immobilières", "office=estate_agent"),
        ("experts-comptables", "office=accountant"),
    ],
)
def test_plurals_of_several_words_and_specialists_are_known(words: str, tag: str) -> None:
    assert "=".join(find_tags(words)[0]) == tag
