"""Parse a Google place. Missing or invalid values are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scrapersky.scraper.providers.model import OperationalStatus, PlaceAddress, PlaceFacts
from scrapersky.scraper.providers.values import (
    MAX_PROVIDER_URL_CHARACTERS,
    as_list,
    as_mapping,
    parse_count,
    parse_location,
    parse_name,
    parse_number,
    parse_provider_phone,
    parse_text,
    parse_texts,
    to_storable,
)

_CITY_TYPES = (
    "locality",
    "postal_town",
    "sublocality_level_1",
    "sublocality",
    "administrative_area_level_3",
    "administrative_area_level_2",
)
"""Address component types that contain the city, by country, in order of preference."""


def parse_address(place: Mapping[str, Any]) -> PlaceAddress:
    parts = _parse_components(place)
    postal = as_mapping(place.get("postalAddress"))
    city = next((parts[kind][0] for kind in _CITY_TYPES if kind in parts), None)
    return PlaceAddress(
        street=_get_long_text(parts, "route"),
        house_number=_get_long_text(parts, "street_number"),
        postal_code=_get_long_text(parts, "postal_code") or parse_text(postal.get("postalCode")),
        city=parse_text(postal.get("locality")) if city is None else city,
        region=_get_long_text(parts, "administrative_area_level_1")
        or parse_text(postal.get("administrativeArea")),
        country=_get_country(parts, postal),
    )


def _parse_components(place: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the first long and short text of each component type."""
    components: dict[str, tuple[str, str]] = {}
    for each in as_list(place.get("addressComponents"))[:50]:
        component = as_mapping(each)
        long, short = parse_text(component.get("longText")), parse_text(component.get("shortText"))
        for kind in as_list(component.get("types")):
            if isinstance(kind, str) and (long or short):
                components.setdefault(kind, (long or short or "", short or long or ""))
    return components


def _get_long_text(parts: Mapping[str, tuple[str, str]], kind: str) -> str | None:
    return parts[kind][0] if kind in parts else None


def _get_country(parts: Mapping[str, tuple[str, str]], postal: Mapping[str, Any]) -> str | None:
    short = parts["country"][1] if "country" in parts else ""
    return next(
        (
            each.upper()
            for each in (short, parse_text(postal.get("regionCode")) or "")
            if len(each) == 2 and each.isascii() and each.isalpha()
        ),
        None,
    )


MAX_PERIODS = 60


def parse_hours(value: object) -> Mapping[str, Any] | None:
    """Parse opening hours to `always_open`, `days` (display texts) and `periods` (structured).

    A period has a day from 0 (Sunday) and times as `HH:MM`.
    """
    hours = as_mapping(value)
    days = parse_texts(hours.get("weekdayDescriptions"), most=14)
    raw_periods = as_list(hours.get("periods"))[:MAX_PERIODS]
    periods = [period for each in raw_periods if (period := _parse_period(as_mapping(each)))]
    if not days and not periods:
        return None
    return {
        "always_open": _is_always_open(periods),
        "days": list(days),
        "periods": [] if _is_always_open(periods) else periods,
    }


def _is_always_open(periods: list[dict[str, Any]]) -> bool:
    """Whether a single period starts with the week and never closes."""
    return len(periods) == 1 and periods[0] == {"open": {"day": 0, "time": "00:00"}}


def _parse_period(period: Mapping[str, Any]) -> dict[str, Any] | None:
    opens, closes = _parse_time(period.get("open")), _parse_time(period.get("close"))
    if opens is None:
        return None
    return {"open": opens, **({"close": closes} if closes else {})}


def _parse_time(value: object) -> dict[str, Any] | None:
    point = as_mapping(value)
    # Google's JSON sometimes omits zeros: Sunday, midnight and full hours.
    day = parse_number(point.get("day", 0), 0, 6)
    hour = parse_number(point.get("hour", 0), 0, 24)
    minute = parse_number(point.get("minute", 0), 0, 59)
    if not point or day is None or hour is None or minute is None:
        return None
    return {"day": int(day), "time": f"{int(hour):02}:{int(minute):02}"}


PROVIDER = "google"
MAX_TYPES = 50
_PRICE_LEVELS = {
    "PRICE_LEVEL_FREE": 0,
    "PRICE_LEVEL_INEXPENSIVE": 1,
    "PRICE_LEVEL_MODERATE": 2,
    "PRICE_LEVEL_EXPENSIVE": 3,
    "PRICE_LEVEL_VERY_EXPENSIVE": 4,
}
_GENERIC_TYPES = frozenset({"establishment", "point_of_interest", "food", "store"})


def parse_place(
    document: object,
    *,
    asked_id: str | None = None,
    has_details: bool = False,
    region: str | None = None,
) -> PlaceFacts | None:
    """Parse a place, or return None if it has no id.

    `region` is the default country of phone numbers without a country code.
    """
    place = as_mapping(document)
    found_id = _get_id(place)
    place_id = asked_id or found_id
    if place_id is None:
        return None
    oddities: list[str] = []
    address = parse_address(place)
    latitude, longitude = _parse_location(place, oddities)
    phone, phone_raw = _parse_phone(place, address.country or region, oddities)
    types = parse_texts(place.get("types"), most=MAX_TYPES)
    return PlaceFacts(
        provider=PROVIDER,
        place_id=place_id,
        name=parse_name(as_mapping(place.get("displayName")).get("text"), oddities),
        address_text=parse_text(place.get("formattedAddress")),
        address=address,
        latitude=latitude,
        longitude=longitude,
        phone=phone,
        phone_raw=phone_raw,
        website=parse_text(place.get("websiteUri"), at_most=MAX_PROVIDER_URL_CHARACTERS),
        types=types,
        category=_get_category(place, types),
        rating=parse_number(place.get("rating"), 0, 5),
        reviews_count=parse_count(place.get("userRatingCount")),
        price_level=_PRICE_LEVELS.get(parse_text(place.get("priceLevel")) or ""),
        status=OperationalStatus.__members__.get(parse_text(place.get("businessStatus")) or ""),
        hours=parse_hours(place.get("regularOpeningHours")),
        maps_url=parse_text(place.get("googleMapsUri"), at_most=MAX_PROVIDER_URL_CHARACTERS),
        is_service_area=place.get("pureServiceAreaBusiness") is True,
        has_details=has_details,
        moved_to=_get_new_id(place, place_id, found_id),
        raw=to_storable(place),
        oddities=tuple(oddities),
    )


def _get_id(place: Mapping[str, Any]) -> str | None:
    place_id = parse_text(place.get("id"), at_most=500)
    return (
        place_id
        or (parse_text(place.get("name"), at_most=500) or "").removeprefix("places/")
        or None
    )


def _get_new_id(place: Mapping[str, Any], requested_id: str, returned_id: str | None) -> str | None:
    """Return the new id of a moved place. A response id other than the requested one counts too."""
    named = parse_text(place.get("movedPlaceId"), at_most=500)
    moved = parse_text(place.get("movedPlace"), at_most=500)
    target = named or (moved.removeprefix("places/") if moved else None) or returned_id
    return target if target and target != requested_id else None


def _parse_location(
    place: Mapping[str, Any], oddities: list[str]
) -> tuple[float, float] | tuple[None, None]:
    location = as_mapping(place.get("location"))
    if not location:
        return None, None
    # Google's JSON omits zeros: a place on the equator has only a longitude.
    return parse_location(location.get("latitude", 0), location.get("longitude", 0), oddities)


def _parse_phone(
    place: Mapping[str, Any], region: str | None, oddities: list[str]
) -> tuple[str | None, str | None]:
    spellings = (place.get("internationalPhoneNumber"), place.get("nationalPhoneNumber"))
    written = [text for each in spellings if (text := parse_text(each, at_most=200))]
    return parse_provider_phone(written, region, oddities)


def _get_category(place: Mapping[str, Any], types: tuple[str, ...]) -> str | None:
    """Return the category in the requested language, if Google names it."""
    return next(_iter_categories(place, types), None)


def _iter_categories(place: Mapping[str, Any], types: tuple[str, ...]) -> Iterator[str]:
    if label := parse_text(
        as_mapping(place.get("primaryTypeDisplayName")).get("text"), at_most=200
    ):
        yield label
    if primary := parse_text(place.get("primaryType"), at_most=200):
        yield primary.replace("_", " ")
    yield from (each.replace("_", " ") for each in types if each not in _GENERIC_TYPES)
