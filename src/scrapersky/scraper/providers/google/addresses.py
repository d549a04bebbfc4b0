"""The parts of an address, out of Google's two ways to give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrapersky.scraper.providers.model import Address
from scrapersky.scraper.providers.values import items_of, mapping_of, text_of

_CITY = (
    "locality",
    "postal_town",
    "sublocality_level_1",
    "sublocality",
    "administrative_area_level_3",
    "administrative_area_level_2",
)
"""What stands for the town, by country; the first that is there."""


def read_address(place: Mapping[str, Any]) -> Address:
    parts = _components(place)
    postal = mapping_of(place.get("postalAddress"))
    city = next((parts[kind][0] for kind in _CITY if kind in parts), None)
    return Address(
        street=_long(parts, "route"),
        house_number=_long(parts, "street_number"),
        postal_code=_long(parts, "postal_code") or text_of(postal.get("postalCode")),
        city=text_of(postal.get("locality")) if city is None else city,
        region=_long(parts, "administrative_area_level_1")
        or text_of(postal.get("administrativeArea")),
        country=_country(parts, postal),
    )


def _components(place: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """By type: the long and the short text; the first of each."""
    found: dict[str, tuple[str, str]] = {}
    for each in items_of(place.get("addressComponents"))[:50]:
        component = mapping_of(each)
        long, short = text_of(component.get("longText")), text_of(component.get("shortText"))
        for kind in items_of(component.get("types")):
            if isinstance(kind, str) and (long or short):
                found.setdefault(kind, (long or short or "", short or long or ""))
    return found


def _long(parts: Mapping[str, tuple[str, str]], kind: str) -> str | None:
    return parts[kind][0] if kind in parts else None


def _country(parts: Mapping[str, tuple[str, str]], postal: Mapping[str, Any]) -> str | None:
    short = parts["country"][1] if "country" in parts else ""
    return next(
        (
            each.upper()
            for each in (short, text_of(postal.get("regionCode")) or "")
            if len(each) == 2 and each.isascii() and each.isalpha()
        ),
        None,
    )
