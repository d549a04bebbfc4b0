"""Field masks contain existing fields and are billed accordingly."""

from __future__ import annotations

import pytest

from scrapersky.scraper.providers.google import (
    DETAILS_FULL,
    DETAILS_ID,
    SEARCH_FULL,
    SEARCH_IDS,
    FieldMask,
)
from scrapersky.scraper.providers.google.field_masks import (
    DETAILS_TIERS,
    FIELD_PARTS,
    SEARCH_TIERS,
    PriceTier,
    UnknownField,
)
from scrapersky.scraper.providers.prices import list_skus

ALL = (SEARCH_FULL, SEARCH_IDS, DETAILS_FULL, DETAILS_ID)


@pytest.mark.parametrize(
    ("mask", "sku"),
    [
        (SEARCH_FULL, "text_search.enterprise"),
        (SEARCH_IDS, "text_search.ids"),
        (DETAILS_FULL, "place_details.enterprise"),
        (DETAILS_ID, "place_details.ids"),
    ],
)
def test_each_mask_is_billed_as_it_is_meant_to(mask: FieldMask, sku: str) -> None:
    assert mask.sku == sku
    assert sku in list_skus()


@pytest.mark.parametrize("mask", ALL)
def test_every_field_that_is_asked_for_exists(mask: FieldMask) -> None:
    known = {**DETAILS_TIERS, "nextPageToken": PriceTier.IDS}
    for path in mask.paths:
        field, _, part = path.removeprefix("places.").partition(".")
        assert field in known
        assert not part or part in FIELD_PARTS[field].split()


@pytest.mark.parametrize("mask", [SEARCH_FULL, SEARCH_IDS])
def test_searches_ask_for_the_token_of_the_next_page(mask: FieldMask) -> None:
    assert "nextPageToken" in mask.paths
    assert all(path.startswith("places.") for path in mask.paths if path != "nextPageToken")
    assert mask.method == "SearchText"


def test_a_mask_has_no_spaces_and_names_each_field_once() -> None:
    for mask in ALL:
        assert " " not in mask.header
        assert len(set(mask.paths)) == len(mask.paths)
        assert "*" not in mask.header


def test_only_the_full_masks_bring_the_details() -> None:
    assert [mask.covers_details for mask in ALL] == [True, False, True, False]


@pytest.mark.parametrize(
    ("paths", "tier"),
    [
        (("places.id", "places.displayName"), "pro"),
        (("places.location",), "pro"),
        (("places.photos",), "pro"),
        (("places.displayName.text", "places.rating"), "enterprise"),
        (("places.id", "places.reviews"), "enterprise_atmosphere"),
        (("nextPageToken", "places.name", "places.attributions"), "ids"),
        (("searchUri", "places.id"), "pro"),
        (("*",), "enterprise_atmosphere"),
        (("places",), "enterprise_atmosphere"),
    ],
)
def test_the_dearest_field_of_a_search_decides(paths: tuple[str, ...], tier: str) -> None:
    assert FieldMask("SearchText", paths).sku == f"text_search.{tier}"


@pytest.mark.parametrize(
    ("paths", "tier"),
    [
        (("id", "photos"), "ids"),
        (("id", "location"), "essentials"),
        (("types", "displayName"), "pro"),
        (("websiteUri",), "enterprise"),
        (("servesBeer",), "enterprise_atmosphere"),
    ],
)
def test_the_dearest_field_of_details_decides(paths: tuple[str, ...], tier: str) -> None:
    assert FieldMask("GetPlace", paths).sku == f"place_details.{tier}"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("SearchText", "id"),
        ("SearchText", "places.hue"),
        ("SearchText", "places.displayName.colour"),
        ("SearchText", " places.id"),
        ("GetPlace", "places.id"),
        ("GetPlace", ""),
        ("GetPlace", "nextPageToken"),
    ],
)
def test_a_field_that_there_is_not_is_named(method: str, path: str) -> None:
    with pytest.raises(UnknownField) as caught:
        _ = FieldMask(method, (path,)).sku

    assert caught.value.path == path


def test_search_and_details_know_the_same_fields() -> None:
    assert SEARCH_TIERS.keys() == DETAILS_TIERS.keys()
    assert len(DETAILS_TIERS) == 80
    assert all(SEARCH_TIERS[name] >= DETAILS_TIERS[name] for name in SEARCH_TIERS)
