"""Read one of OpenStreetMap's elements; whatever is absent or odd is absent in what comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scrapersky.scraper.providers.model import Address, PlaceFacts
from scrapersky.scraper.providers.oddities import read_location, read_name
from scrapersky.scraper.providers.osm.kinds import CATEGORY_KEYS
from scrapersky.scraper.providers.osm.profiles import read_profiles
from scrapersky.scraper.providers.telephones import read_phone
from scrapersky.scraper.providers.values import LONGEST_URL, mapping_of, storable, text_of
from scrapersky.scraper.websites import WebsiteKind, read_website

PROVIDER = "osm"
MOST_VALUES = 10
_KINDS = ("node", "way", "relation")
_NAMES = ("name", "brand", "operator")
_WEBSITES = ("website", "contact:website", "url")
_PHONES = ("phone", "contact:phone", "contact:mobile", "mobile")
_EMAILS = ("email", "contact:email")
_SAYS_NOTHING = frozenset({"yes", "no", "fixme"})

Tags = Mapping[str, Any]


def read_element(document: object, *, region: str | None = None) -> PlaceFacts | None:
    """Nothing when it has no id, or says nothing at all."""
    element = mapping_of(document)
    kind, number, tags = element.get("type"), element.get("id"), mapping_of(element.get("tags"))
    if kind not in _KINDS or isinstance(number, bool) or not isinstance(number, int) or not tags:
        return None
    oddities: list[str] = []
    address = _address(tags)
    latitude, longitude = _location(element, oddities)
    phone, phone_raw = read_phone(_values(tags, _PHONES), address.country or region, oddities)
    types = tuple(dict.fromkeys(_types(tags)))
    return PlaceFacts(
        provider=PROVIDER,
        place_id=f"{kind}/{number}",
        name=_name(tags, oddities),
        address_text=_address_text(tags, address),
        address=address,
        latitude=latitude,
        longitude=longitude,
        phone=phone,
        phone_raw=phone_raw,
        website=_website(tags),
        emails=tuple(each for each in _values(tags, _EMAILS) if "@" in each)[:MOST_VALUES],
        profiles=read_profiles(tags),
        types=types,
        category=types[0].replace("_", " ") if types else None,
        hours=_hours(tags),
        maps_url=f"https://www.openstreetmap.org/{kind}/{number}",
        has_details=True,
        raw=storable(element),
        oddities=tuple(oddities),
    )


def _first(tags: Tags, names: tuple[str, ...], *, at_most: int = 300) -> str | None:
    found = (text_of(tags.get(name), at_most=at_most) for name in names)
    return next((each for each in found if each), None)


def _website(tags: Tags) -> str | None:
    """A site of its own before a profile or a directory's page, whichever tag has it."""
    texts = (text_of(tags.get(name), at_most=LONGEST_URL) for name in _WEBSITES)
    named = [each for each in texts if each]
    own = (each for each in named if read_website(each).kind is WebsiteKind.OWN)
    return next(own, named[0] if named else None)


def _values(tags: Tags, names: tuple[str, ...]) -> list[str]:
    """Several stand in one tag with semicolons between them; each once."""
    texts = (text_of(tags.get(name), at_most=600) or "" for name in names)
    parts = (part.strip() for text in texts for part in text.split(";"))
    return list(dict.fromkeys(part for part in parts if part))


def _name(tags: Tags, oddities: list[str]) -> str | None:
    read = (read_name(tags.get(name), oddities) for name in _NAMES)
    return next((each for each in read if each), None)


def _location(
    element: Mapping[str, Any], oddities: list[str]
) -> tuple[float, float] | tuple[None, None]:
    """A node's own; of what is larger, its middle."""
    where = element if "lat" in element else mapping_of(element.get("center"))
    return read_location(where.get("lat"), where.get("lon"), oddities)


def _types(tags: Tags) -> Iterator[str]:
    for key in CATEGORY_KEYS:
        for value in _values(tags, (key,)):
            if value not in _SAYS_NOTHING:
                yield value[:100]


def _address(tags: Tags) -> Address:
    country = text_of(tags.get("addr:country"), at_most=3)
    is_code = country is not None and len(country) == 2 and country.isascii() and country.isalpha()
    return Address(
        street=_first(tags, ("addr:street", "addr:place")),
        house_number=_first(tags, ("addr:housenumber",)),
        postal_code=_first(tags, ("addr:postcode",)),
        city=_first(tags, ("addr:city", "addr:town", "addr:village", "addr:suburb")),
        region=_first(tags, ("addr:state", "addr:province")),
        country=country.upper() if country and is_code else None,
    )


def _address_text(tags: Tags, address: Address) -> str | None:
    if whole := _first(tags, ("addr:full",)):
        return whole
    line = " ".join(filter(None, (address.street, address.house_number)))
    town = " ".join(filter(None, (address.postal_code, address.city)))
    return ", ".join(filter(None, (line, town))) or None


def _hours(tags: Tags) -> Mapping[str, Any] | None:
    """In OpenStreetMap's own notation, beside the keys that all providers share."""
    written = text_of(tags.get("opening_hours"), at_most=500)
    if written is None:
        return None
    return {"always_open": written == "24/7", "days": [], "periods": [], "osm": written}
