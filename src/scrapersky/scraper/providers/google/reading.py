"""Read one of Google's places; whatever is absent or odd is absent in what comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scrapersky.scraper.providers.google.addresses import read_address
from scrapersky.scraper.providers.google.hours import read_hours
from scrapersky.scraper.providers.model import PlaceFacts, Status
from scrapersky.scraper.providers.oddities import read_location, read_name
from scrapersky.scraper.providers.telephones import read_phone
from scrapersky.scraper.providers.values import (
    LONGEST_URL,
    count_of,
    mapping_of,
    number_of,
    storable,
    text_of,
    texts_of,
)

PROVIDER = "google"
MOST_TYPES = 50
_STATUSES = {
    "OPERATIONAL": Status.OPERATIONAL,
    "CLOSED_TEMPORARILY": Status.CLOSED_TEMPORARILY,
    "CLOSED_PERMANENTLY": Status.CLOSED_PERMANENTLY,
    "FUTURE_OPENING": Status.FUTURE_OPENING,
}
_PRICES = {
    "PRICE_LEVEL_FREE": 0,
    "PRICE_LEVEL_INEXPENSIVE": 1,
    "PRICE_LEVEL_MODERATE": 2,
    "PRICE_LEVEL_EXPENSIVE": 3,
    "PRICE_LEVEL_VERY_EXPENSIVE": 4,
}
_SAYS_NOTHING = frozenset({"establishment", "point_of_interest", "food", "store"})


def read_place(
    document: object,
    *,
    asked_id: str | None = None,
    has_details: bool = False,
    region: str | None = None,
) -> PlaceFacts | None:
    """Nothing when it has no id; `region` is where numbers without a country code are from."""
    place = mapping_of(document)
    found_id = _id_of(place)
    place_id = asked_id or found_id
    if place_id is None:
        return None
    oddities: list[str] = []
    address = read_address(place)
    latitude, longitude = _location(place, oddities)
    phone, phone_raw = _phone(place, address.country or region, oddities)
    types = texts_of(place.get("types"), most=MOST_TYPES)
    return PlaceFacts(
        provider=PROVIDER,
        place_id=place_id,
        name=read_name(mapping_of(place.get("displayName")).get("text"), oddities),
        address_text=text_of(place.get("formattedAddress")),
        address=address,
        latitude=latitude,
        longitude=longitude,
        phone=phone,
        phone_raw=phone_raw,
        website=text_of(place.get("websiteUri"), at_most=LONGEST_URL),
        types=types,
        category=_category(place, types),
        rating=number_of(place.get("rating"), 0, 5),
        reviews_count=count_of(place.get("userRatingCount")),
        price_level=_PRICES.get(text_of(place.get("priceLevel")) or ""),
        status=_STATUSES.get(text_of(place.get("businessStatus")) or ""),
        hours=read_hours(place.get("regularOpeningHours")),
        maps_url=text_of(place.get("googleMapsUri"), at_most=LONGEST_URL),
        is_service_area=place.get("pureServiceAreaBusiness") is True,
        has_details=has_details,
        moved_to=_moved_to(place, place_id, found_id),
        raw=storable(place),
        oddities=tuple(oddities),
    )


def _id_of(place: Mapping[str, Any]) -> str | None:
    found = text_of(place.get("id"), at_most=500)
    return found or (text_of(place.get("name"), at_most=500) or "").removeprefix("places/") or None


def _moved_to(place: Mapping[str, Any], asked: str, found: str | None) -> str | None:
    """Another id than the one that was asked for is what the place is called now, too."""
    named = text_of(place.get("movedPlaceId"), at_most=500)
    moved = text_of(place.get("movedPlace"), at_most=500)
    target = named or (moved.removeprefix("places/") if moved else None) or found
    return target if target and target != asked else None


def _location(
    place: Mapping[str, Any], oddities: list[str]
) -> tuple[float, float] | tuple[None, None]:
    location = mapping_of(place.get("location"))
    if not location:
        return None, None
    # Zero is left out in Google's JSON: a place on the equator has a longitude only.
    return read_location(location.get("latitude", 0), location.get("longitude", 0), oddities)


def _phone(
    place: Mapping[str, Any], region: str | None, oddities: list[str]
) -> tuple[str | None, str | None]:
    spellings = (place.get("internationalPhoneNumber"), place.get("nationalPhoneNumber"))
    written = [text for each in spellings if (text := text_of(each, at_most=200))]
    return read_phone(written, region, oddities)


def _category(place: Mapping[str, Any], types: tuple[str, ...]) -> str | None:
    """In the language that was asked for, where Google says it."""
    return next(_categories(place, types), None)


def _categories(place: Mapping[str, Any], types: tuple[str, ...]) -> Iterator[str]:
    if label := text_of(mapping_of(place.get("primaryTypeDisplayName")).get("text"), at_most=200):
        yield label
    if primary := text_of(place.get("primaryType"), at_most=200):
        yield primary.replace("_", " ")
    yield from (each.replace("_", " ") for each in types if each not in _SAYS_NOTHING)
