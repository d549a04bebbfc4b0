"""Whose site it is, from the structured data of its home page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from scrapersky.scraper.page_facts.document import Document, clean_value
from scrapersky.scraper.page_facts.schema import JsonObject, types_of
from scrapersky.scraper.site_metadata.model import Address, Organisation
from scrapersky.scraper.site_metadata.organisation_types import ORGANISATION_TYPES

MAX_VALUES = 50
_OF_OTHERS = (
    *("review", "itemReviewed", "author", "creator", "performer", "organizer", "sponsor", "funder"),
    *("brand", "manufacturer", "seller", "offers", "parentOrganization", "memberOf", "member"),
    *("affiliation", "worksFor", "hiringOrganization"),
)
"""An organisation under one of these is not the one whose site it is."""


def organisation_of(document: Document, nodes: list[JsonObject]) -> Organisation | None:
    """The organisation that the page says most about; None when it names none."""
    by_id = {node["@id"]: node for node in reversed(nodes) if isinstance(node.get("@id"), str)}
    others = {id(other) for node in nodes for key in _OF_OTHERS for other in _each(node.get(key))}
    candidates = [
        _read(node, document, by_id)
        for node in nodes
        if ORGANISATION_TYPES.intersection(types_of(node)) and id(node) not in others
    ]
    named = [each for each in candidates if each.name or each.legal_name]
    return max(named, key=_said, default=None)


def _said(organisation: Organisation) -> int:
    return sum(1 for each in fields(organisation) if getattr(organisation, each.name))


def _read(node: JsonObject, document: Document, by_id: dict[str, JsonObject]) -> Organisation:
    location = _object(node.get("location"), by_id)
    geo = _object(node.get("geo") or location.get("geo"), by_id)
    address = node.get("address") or location.get("address")
    contact = _object(node.get("contactPoint"), by_id)
    return Organisation(
        types=types_of(node),
        name=_text(node.get("name")),
        legal_name=_text(node.get("legalName")),
        address=_address(address, by_id),
        telephone=_text(node.get("telephone")) or _text(contact.get("telephone")),
        email=_text(node.get("email")) or _text(contact.get("email")),
        opening_hours=_opening_hours(node),
        latitude=_number(geo.get("latitude"), 90),
        longitude=_number(geo.get("longitude"), 180),
        same_as=_urls(_each(node.get("sameAs")), document),
        url=_url(node.get("url"), document),
        logo=_picture(node.get("logo"), document, by_id),
    )


def _each(value: Any) -> list[Any]:
    if value is None:
        return []
    return value[:MAX_VALUES] if isinstance(value, list) else [value]


def _object(value: Any, by_id: dict[str, JsonObject]) -> JsonObject:
    """The object itself, or the one elsewhere in the page that it refers to."""
    first = next((each for each in _each(value) if isinstance(each, dict)), {})
    reference = first.get("@id")
    if len(first) == 1 and isinstance(reference, str):
        return by_id.get(reference, first)
    return first


def _text(value: Any) -> str | None:
    """The first text; one in several languages is an object with a value."""
    for each in _each(value):
        if isinstance(each, dict):
            each = each.get("@value") or each.get("name")
        if text := clean_value(each, limit=300):
            return text
    return None


def _number(value: Any, most: float) -> float | None:
    try:
        number = float(str(value)[:40].replace(",", "."))
    except ValueError:
        return None
    return number if -most <= number <= most else None


def _address(value: Any, by_id: dict[str, JsonObject]) -> Address | None:
    given = _object(value, by_id)
    if not given:
        street = _text(value)
        return Address(street=street) if street else None
    address = Address(
        street=_text(given.get("streetAddress")),
        postal_code=_text(given.get("postalCode")) or _code(given.get("postalCode")),
        locality=_text(given.get("addressLocality")),
        region=_text(given.get("addressRegion")),
        country=_text(given.get("addressCountry")),
    )
    return address if address != Address() else None


def _code(value: Any) -> str | None:
    """Some write a postal code as a number."""
    return str(value) if type(value) is int and 0 < value < 10**9 else None


def _opening_hours(node: JsonObject) -> tuple[str, ...]:
    given = [_text(each) for each in _each(node.get("openingHours"))]
    given += [_spelled(each) for each in _each(node.get("openingHoursSpecification"))]
    return tuple(dict.fromkeys(filter(None, given)))


def _spelled(hours: Any) -> str | None:
    """`Monday, Tuesday 09:00-18:00`, in the page's own words and times."""
    if not isinstance(hours, dict):
        return None
    names = (_text(day) for day in _each(hours.get("dayOfWeek")))
    days = ", ".join(name.rstrip("/").rpartition("/")[2] for name in names if name)
    opens, closes = _text(hours.get("opens")), _text(hours.get("closes"))
    times = f"{opens}-{closes}" if opens and closes else None
    return " ".join(filter(None, (days, times))) if times else None


def _url(value: Any, document: Document) -> str | None:
    text = _text(value)
    return document.absolute(text) if text else None


def _urls(values: Iterable[Any], document: Document) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (_url(value, document) for value in values))))


def _picture(value: Any, document: Document, by_id: dict[str, JsonObject]) -> str | None:
    given = _object(value, by_id)
    return _url((given.get("contentUrl") or given.get("url")) if given else value, document)
