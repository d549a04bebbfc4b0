"""Read contacts from JSON-LD, with the person or contact point they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.page import Page
from scrapersky.scraper.contact_finder.structured.json_values import (
    loads,
    objects_in,
    pairs_in,
    strings_of,
)
from scrapersky.scraper.contact_finder.structured.statement import (
    PROPERTIES,
    Says,
    Statement,
    short,
)

_PEOPLE = frozenset(("person", "contactpoint", "patient", "physician"))


def read_json_ld(page: Page) -> Iterator[Statement]:
    for script, place in page.scripts:
        if "ld+json" in script.kind:
            yield from _read(script.text, place)


def _read(text: str, place: int) -> Iterator[Statement]:
    value = loads(text)
    if value is None:
        yield from _unreadable(text, place)
        return
    for item, parent in objects_in(value):
        name, role = _whose(item, parent)
        for key, found in item.items():
            says = PROPERTIES.get(key.rpartition(":")[2].lower())
            for written in strings_of(_named(found)) if says else ():
                said = " · ".join(part for part in (_type_of(item), name, role) if part)
                said = f"{said} · {key}: {written}"[:200].removeprefix(" · ")
                yield Statement(
                    says or Says.EMAIL, written, Method.JSON_LD, place, name, role, said
                )


def _named(value: Any) -> Any:
    """A country may be an object with a name, and any value one that says its language."""
    if isinstance(value, list):
        return [_named(each) for each in value[:100] if not isinstance(each, list)]
    return value.get("@value", value.get("name")) if isinstance(value, dict) else value


def _unreadable(script: str, place: int) -> Iterator[Statement]:
    for key, text in pairs_in(script):
        says = PROPERTIES.get(key.lower())
        if says:
            yield Statement(says, text, Method.JSON_LD, place, said=f"{key}: {text}"[:200])


def _type_of(item: dict[str, Any]) -> str:
    return next(iter(strings_of(item.get("@type"))), "").rpartition("/")[2]


def _whose(item: dict[str, Any], parent: dict[str, Any] | None) -> tuple[str | None, str | None]:
    """Name and role, where the object is a person or a contact point."""
    if _type_of(item).lower() not in _PEOPLE:
        return None, None
    role = item.get("jobTitle") or item.get("contactType") or item.get("roleName")
    if isinstance(role, list):
        role = role[0] if role else None
    return short(item.get("name")) or _composed_name(item), short(role)


def _composed_name(item: dict[str, Any]) -> str | None:
    parts = (short(item.get("givenName")), short(item.get("familyName")))
    return " ".join(part for part in parts if part) or None
