"""Parse an OpenStreetMap element. Missing or invalid values are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scrapersky.scraper.contacts.profiles import parse_profile
from scrapersky.scraper.providers.model import PlaceAddress, PlaceFacts
from scrapersky.scraper.providers.osm.query import CATEGORY_KEYS
from scrapersky.scraper.providers.values import (
    MAX_PROVIDER_URL_CHARACTERS,
    as_mapping,
    parse_location,
    parse_name,
    parse_provider_phone,
    parse_text,
    to_storable,
)
from scrapersky.scraper.site.website import WebsiteType, classify_website

MAX_PROFILES = 20
_PROFILE_BASES = {
    "facebook": "https://www.facebook.com/",
    "instagram": "https://www.instagram.com/",
    "twitter": "https://x.com/",
    "x": "https://x.com/",
    "linkedin": "https://www.linkedin.com/company/",
    "youtube": "https://www.youtube.com/@",
    "tiktok": "https://www.tiktok.com/@",
    "pinterest": "https://www.pinterest.com/",
    "telegram": "https://t.me/",
    "xing": "https://www.xing.com/companies/",
    "vimeo": "https://vimeo.com/",
    "threads": "https://www.threads.net/@",
}
_HANDLE = re.compile(r"@?([\w.&'-]{2,100})")
_PROFILE_URL = re.compile(r"(?:https?:)?//|(?:[\w-]+\.)+[a-z]{2,}/", re.I)


def parse_profiles(tags: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_iter_profiles(tags)))[:MAX_PROFILES]


def _iter_profiles(tags: Mapping[str, Any]) -> Iterator[str]:
    for platform, base in _PROFILE_BASES.items():
        for name in (f"contact:{platform}", platform):
            for value in (parse_text(tags.get(name)) or "").split(";"):
                if url := _build_profile_url(value.strip(), base):
                    yield url


def _build_profile_url(value: str, base: str) -> str | None:
    """Return the canonical URL of a profile, or None if it is not one."""
    if _PROFILE_URL.match(value):
        found = parse_profile(value)
    else:
        handle = _HANDLE.fullmatch(value)
        found = parse_profile(base + handle[1]) if handle else None
    return found.url if found else None


PROVIDER = "osm"
MAX_VALUES = 10
_ELEMENT_TYPES = ("node", "way", "relation")
_NAME_TAGS = ("name", "brand", "operator")
_WEBSITE_TAGS = ("website", "contact:website", "url")
_PHONE_TAGS = ("phone", "contact:phone", "contact:mobile", "mobile")
_EMAIL_TAGS = ("email", "contact:email")
_IGNORED_VALUES = frozenset({"yes", "no", "fixme"})

OsmTags = Mapping[str, Any]


def parse_element(document: object, *, region: str | None = None) -> PlaceFacts | None:
    """Parse an element, or return None if it has no id or no data."""
    element = as_mapping(document)
    kind, number, tags = element.get("type"), element.get("id"), as_mapping(element.get("tags"))
    if (
        kind not in _ELEMENT_TYPES
        or isinstance(number, bool)
        or not isinstance(number, int)
        or not tags
    ):
        return None
    oddities: list[str] = []
    address = _parse_address(tags)
    latitude, longitude = _parse_location(element, oddities)
    phone, phone_raw = parse_provider_phone(
        _split_values(tags, _PHONE_TAGS), address.country or region, oddities
    )
    types = tuple(dict.fromkeys(_iter_types(tags)))
    return PlaceFacts(
        provider=PROVIDER,
        place_id=f"{kind}/{number}",
        name=_parse_name(tags, oddities),
        address_text=_build_address_text(tags, address),
        address=address,
        latitude=latitude,
        longitude=longitude,
        phone=phone,
        phone_raw=phone_raw,
        website=_find_website(tags),
        emails=tuple(each for each in _split_values(tags, _EMAIL_TAGS) if "@" in each)[:MAX_VALUES],
        profiles=parse_profiles(tags),
        types=types,
        category=types[0].replace("_", " ") if types else None,
        hours=_parse_hours(tags),
        maps_url=f"https://www.openstreetmap.org/{kind}/{number}",
        has_details=True,
        raw=to_storable(element),
        oddities=tuple(oddities),
    )


def _get_first(tags: OsmTags, names: tuple[str, ...], *, at_most: int = 300) -> str | None:
    found = (parse_text(tags.get(name), at_most=at_most) for name in names)
    return next((each for each in found if each), None)


def _find_website(tags: OsmTags) -> str | None:
    """Find the website in any of the tags. An own site wins over a profile or directory page."""
    texts = (
        parse_text(tags.get(name), at_most=MAX_PROVIDER_URL_CHARACTERS) for name in _WEBSITE_TAGS
    )
    named = [each for each in texts if each]
    own = (each for each in named if classify_website(each).kind is WebsiteType.OWN)
    return next(own, named[0] if named else None)


def _split_values(tags: OsmTags, names: tuple[str, ...]) -> list[str]:
    """Split a tag value at semicolons, without duplicates."""
    texts = (parse_text(tags.get(name), at_most=600) or "" for name in names)
    parts = (part.strip() for text in texts for part in text.split(";"))
    return list(dict.fromkeys(part for part in parts if part))


def _parse_name(tags: OsmTags, oddities: list[str]) -> str | None:
    read = (parse_name(tags.get(name), oddities) for name in _NAME_TAGS)
    return next((each for each in read if each), None)


def _parse_location(
    element: Mapping[str, Any], oddities: list[str]
) -> tuple[float, float] | tuple[None, None]:
    """Return the coordinates of a node, or the centre of a larger element."""
    where = element if "lat" in element else as_mapping(element.get("center"))
    return parse_location(where.get("lat"), where.get("lon"), oddities)


def _iter_types(tags: OsmTags) -> Iterator[str]:
    for key in CATEGORY_KEYS:
        for value in _split_values(tags, (key,)):
            if value not in _IGNORED_VALUES:
                yield value[:100]


def _parse_address(tags: OsmTags) -> PlaceAddress:
    country = parse_text(tags.get("addr:country"), at_most=3)
    is_code = country is not None and len(country) == 2 and country.isascii() and country.isalpha()
    return PlaceAddress(
        street=_get_first(tags, ("addr:street", "addr:place")),
        house_number=_get_first(tags, ("addr:housenumber",)),
        postal_code=_get_first(tags, ("addr:postcode",)),
        city=_get_first(tags, ("addr:city", "addr:town", "addr:village", "addr:suburb")),
        region=_get_first(tags, ("addr:state", "addr:province")),
        country=country.upper() if country and is_code else None,
    )


def _build_address_text(tags: OsmTags, address: PlaceAddress) -> str | None:
    if whole := _get_first(tags, ("addr:full",)):
        return whole
    line = " ".join(filter(None, (address.street, address.house_number)))
    town = " ".join(filter(None, (address.postal_code, address.city)))
    return ", ".join(filter(None, (line, town))) or None


def _parse_hours(tags: OsmTags) -> Mapping[str, Any] | None:
    """Return the hours in OpenStreetMap's notation, with the keys all providers share."""
    written = parse_text(tags.get("opening_hours"), at_most=500)
    if written is None:
        return None
    return {"always_open": written == "24/7", "days": [], "periods": [], "osm": written}
