"""A place in Google's words, and as much of it as a mask lets through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scrapersky.demo.provider.map import FakePlace

_PRICE_WORDS = ("FREE", "INEXPENSIVE", "MODERATE", "EXPENSIVE", "VERY_EXPENSIVE")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def whole_place(place: FakePlace, language: str) -> dict[str, Any]:
    """Everything the fake knows; what it does not know is not there at all."""
    said: dict[str, Any] = {
        "name": f"places/{place.place_id}",
        "id": place.place_id,
        "types": [*place.types, "point_of_interest", "establishment"],
        "primaryType": place.types[0] if place.types else None,
        "primaryTypeDisplayName": {"text": place.category, "languageCode": language},
        "displayName": _localized(place.name, language),
        "nationalPhoneNumber": place.phone_national or _national(place.phone),
        "internationalPhoneNumber": place.phone,
        "rating": place.rating,
        "userRatingCount": place.reviews_count,
        "websiteUri": place.website,
        "googleMapsUri": f"https://maps.google.com/?cid={place.osm_id}",
        "businessStatus": place.status.value.upper(),
        "priceLevel": _price(place.price_level),
        "regularOpeningHours": _hours(place),
        "utcOffsetMinutes": 60,
        "timeZone": {"id": "Europe/Berlin"},
        "pureServiceAreaBusiness": place.is_service_area or None,
        "movedPlace": f"places/{place.moved_to}" if place.moved_to else None,
        "movedPlaceId": place.moved_to,
        **({} if place.is_service_area else _whereabouts(place, language)),
        **place.extra,
    }
    return {name: value for name, value in said.items() if value is not None}


def masked(document: Mapping[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """Only what the paths name; of a field of which parts are asked for, these parts."""
    wanted: dict[str, list[str]] = {}
    for path in paths:
        name, _, rest = path.partition(".")
        wanted.setdefault(name, []).append(rest)
    if "*" in wanted:
        return dict(document)
    return {name: _part(document[name], wanted[name]) for name in document if name in wanted}


def _part(value: Any, parts: list[str]) -> Any:
    if "" in parts:
        return value
    if isinstance(value, list):
        return [_part(each, parts) for each in value]
    return masked(value, parts) if isinstance(value, Mapping) else value


def _localized(text: str | None, language: str) -> dict[str, str] | None:
    return None if text is None else {"text": text, "languageCode": language}


def _national(phone: str | None) -> str | None:
    return None if phone is None else "0" + phone.partition(" ")[2]


def _price(level: int | None) -> str | None:
    return None if level is None else f"PRICE_LEVEL_{_PRICE_WORDS[level]}"


def _hours(place: FakePlace) -> dict[str, Any]:
    if place.always_open:
        opens = {"day": 0, "hour": 0, "minute": 0}
        lines = [f"{day}: Open 24 hours" for day in _DAYS]
        return {"openNow": True, "periods": [{"open": opens}], "weekdayDescriptions": lines}
    periods = [
        {
            "open": {"day": day, "hour": 7, "minute": 30},
            "close": {"day": day, "hour": 18, "minute": 0},
        }
        for day in range(1, 6)
    ]
    open_days = [f"{day}: 7:30 AM – 6:00 PM" for day in _DAYS[:5]]
    lines = [*open_days, "Saturday: Closed", "Sunday: Closed"]
    return {"openNow": place.open_now, "periods": periods, "weekdayDescriptions": lines}


def _whereabouts(place: FakePlace, language: str) -> dict[str, Any]:
    line = " ".join(filter(None, (place.street, place.house_number)))
    town = " ".join(filter(None, (place.postal_code, place.city)))
    postal = {
        "regionCode": place.country,
        "languageCode": language,
        "postalCode": place.postal_code,
        "administrativeArea": place.region,
        "locality": place.city,
        "addressLines": [line] if line else None,
    }
    return {
        "formattedAddress": ", ".join(filter(None, (line, town, place.country))),
        "shortFormattedAddress": ", ".join(filter(None, (line, place.city))),
        "addressComponents": _components(place, language),
        "postalAddress": {name: each for name, each in postal.items() if each is not None},
        "location": {"latitude": place.latitude, "longitude": place.longitude},
        "viewport": {
            "low": {"latitude": place.latitude - 0.001, "longitude": place.longitude - 0.001},
            "high": {"latitude": place.latitude + 0.001, "longitude": place.longitude + 0.001},
        },
    }


def _components(place: FakePlace, language: str) -> list[dict[str, Any]]:
    parts = (
        (place.house_number, ["street_number"]),
        (place.street, ["route"]),
        (place.city, ["locality", "political"]),
        (place.region, ["administrative_area_level_1", "political"]),
        (place.country, ["country", "political"]),
        (place.postal_code, ["postal_code"]),
    )
    return [
        {"longText": text, "shortText": text, "types": types, "languageCode": language}
        for text, types in parts
        if text
    ]
