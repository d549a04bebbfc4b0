"""Read contacts from structured data: JSON-LD, embedded JSON, microdata and vCards."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from itertools import islice
from typing import Any
from urllib.parse import unquote

from scrapersky.scraper.contacts.encodings import from_base64_text
from scrapersky.scraper.contacts.javascript_strings import unescape_script
from scrapersky.scraper.contacts.microdata import read_microdata
from scrapersky.scraper.contacts.model import (
    KIND_BY_PROPERTY,
    ContactStatement,
    ExtractionMethod,
    StatementKind,
    shorten,
)
from scrapersky.scraper.contacts.page import TokenizedPage

MAX_DATA_CHARACTERS = 200_000
MAX_PAIRS = 300
_DATA_MARKERS = re.compile(
    r"__next_f|__NUXT__|__[A-Z_]*STATE__|__[A-Z_]*DATA__|__[A-Z_]*PROPS__|__APOLLO|JSON\.parse\("
)
_PHONE_PAIR = re.compile(
    r"""\b(?:(?:tele)?phone(?:_?number)?|tel|mobile|telefon)["']?\s{0,5}:\s{0,5}["']([^"'\n]{6,60})["']""",
    re.IGNORECASE,
)
_QUOTED_URL = re.compile(r"""["'](https?://[^"'\s<>]{6,300})["']""")


def is_data_script(script: str) -> bool:
    return _DATA_MARKERS.search(script[:300]) is not None


def unescape_data(script: str) -> str:
    """Resolve the escapes in a data script: data is often a string inside a program."""
    return unescape_script(script[:MAX_DATA_CHARACTERS])


def find_phone_values(data: str) -> Iterator[str]:
    """Yield the values of phone number keys."""
    return (match[1] for match in islice(_PHONE_PAIR.finditer(data), MAX_PAIRS))


def find_urls(data: str) -> Iterator[str]:
    """Yield URLs that are complete string values."""
    return (match[1] for match in islice(_QUOTED_URL.finditer(data), MAX_PAIRS))


MAX_JSON_CHARACTERS = 400_000
MAX_JSON_VALUES = 20_000
_WRAPPING = re.compile(r"\A\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/)")
_STRING_OR_COMMENT = re.compile(
    r'"(?:[^"\\]|\\.)*+"|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/', re.DOTALL
)
_TRAILING_COMMA = re.compile(r",(\s*+[}\]])")
_JSON_START = re.compile(r"[\[{]")
_JSON_PAIR = re.compile(r'"([A-Za-z@_-]{1,40})"\s{0,9}:\s{0,9}"((?:[^"\\]|\\.){1,2000})"')


def load_json(text: str) -> Any:
    """Parse JSON, repairing common defects; None if it remains invalid."""
    text = text[:MAX_JSON_CHARACTERS].strip()
    for attempt in (_as_is, _repair):
        try:
            return json.loads(attempt(text), strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _as_is(text: str) -> str:
    return text


def _repair(text: str) -> str:
    text = _WRAPPING.sub("", text)
    text = _STRING_OR_COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else "", text)
    text = _TRAILING_COMMA.sub(r"\1", text)
    if "&quot;" in text and '"' not in text:
        text = unescape(text)
    start = _JSON_START.search(text)
    end = max(text.rfind("}"), text.rfind("]"))
    return text[start.start() : end + 1] if start else text


def find_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of keys and string values from JSON too broken to parse."""
    for number, match in enumerate(_JSON_PAIR.finditer(text[:MAX_JSON_CHARACTERS])):
        if number == MAX_JSON_VALUES:
            return
        try:
            yield match[1], json.loads(f'"{match[2]}"', strict=False)
        except ValueError:
            yield match[1], match[2]


def walk_objects(value: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Yield every object with its parent, in document order, without recursion."""
    waiting: list[tuple[Any, dict[str, Any] | None]] = [(value, None)]
    for _ in range(MAX_JSON_VALUES):
        if not waiting:
            return
        current, parent = waiting.pop()
        if isinstance(current, dict):
            yield current, parent
            waiting.extend(
                (v, current) for v in _filter_containers(reversed(list(current.values())))
            )
        elif isinstance(current, list):
            waiting.extend((v, parent) for v in _filter_containers(reversed(current)))


def _filter_containers(values: Iterator[Any]) -> Iterator[Any]:
    return (value for value in values if isinstance(value, dict | list))


def list_strings(value: Any) -> list[str]:
    """Return the values of a property that may have none, one or several."""
    values = value if isinstance(value, list) else [value]
    return [str(v) for v in values[:100] if isinstance(v, str | int) and not isinstance(v, bool)]


_PHONE_KEY = re.compile(r"(?:tele)?phone(?:_?number)?\Z|tel\Z|mobile\Z|telefon\Z", re.IGNORECASE)
_PROFILE_URL = re.compile(r"(?:https?:)?//[^\s\"'<>]{4,300}\Z")


def read_json_data(page: TokenizedPage) -> Iterator[ContactStatement]:
    for script, place in page.scripts:
        if "json" in script.kind and "ld+json" not in script.kind:
            yield from _read_json_script(script.text, place)
        elif not script.kind or "javascript" in script.kind or script.kind == "module":
            yield from _read_data_script(script.text, place)


def _read_data_script(text: str, place: int) -> Iterator[ContactStatement]:
    """Read phone numbers and profiles; e-mail addresses are found by `read_script_emails`."""
    if not is_data_script(text):
        return
    data = unescape_data(text)
    for number in find_phone_values(data):
        yield ContactStatement(
            StatementKind.PHONE, number, ExtractionMethod.JSON, place, said=number
        )
    for address in find_urls(data):
        yield ContactStatement(
            StatementKind.PROFILE, address, ExtractionMethod.JSON, place, said=address[:200]
        )


def _read_json_script(text: str, place: int) -> Iterator[ContactStatement]:
    value = load_json(text)
    if value is None:
        pairs = find_pairs(text)
    else:
        pairs = (
            (key, found)
            for item, _ in walk_objects(value)
            for key, found in _list_string_pairs(item)
        )
    for key, written in pairs:
        says = _classify_value(key, written)
        if says:
            yield ContactStatement(
                says, written, ExtractionMethod.JSON, place, said=f"{key}: {written}"[:200]
            )


def _list_string_pairs(item: dict[str, object]) -> Iterator[tuple[str, str]]:
    for key, value in item.items():
        for text in value if isinstance(value, list) else (value,):
            if isinstance(text, str):
                yield key, text


def _classify_value(key: str, text: str) -> StatementKind | None:
    if "@" in text:
        return StatementKind.EMAIL if not _PROFILE_URL.match(text) else StatementKind.PROFILE
    if _PHONE_KEY.search(key):
        return StatementKind.PHONE
    return StatementKind.PROFILE if _PROFILE_URL.match(text) else None


_PERSON_TYPES = frozenset(("person", "contactpoint", "patient", "physician"))


def read_json_ld(page: TokenizedPage) -> Iterator[ContactStatement]:
    for script, place in page.scripts:
        if "ld+json" in script.kind:
            yield from _read_json_ld_script(script.text, place)


def _read_json_ld_script(text: str, place: int) -> Iterator[ContactStatement]:
    value = load_json(text)
    if value is None:
        yield from _read_broken_json_ld(text, place)
        return
    for item, parent in walk_objects(value):
        name, role = _get_person(item, parent)
        for key, found in item.items():
            says = KIND_BY_PROPERTY.get(key.rpartition(":")[2].lower())
            for written in list_strings(_unwrap_value(found)) if says else ():
                said = " · ".join(part for part in (_get_type(item), name, role) if part)
                said = f"{said} · {key}: {written}"[:200].removeprefix(" · ")
                yield ContactStatement(
                    says or StatementKind.EMAIL,
                    written,
                    ExtractionMethod.JSON_LD,
                    place,
                    name,
                    role,
                    said,
                )


def _unwrap_value(value: Any) -> Any:
    """Unwrap objects: a country with a `name`, or any value with a language tag (`@value`)."""
    if isinstance(value, list):
        return [_unwrap_value(each) for each in value[:100] if not isinstance(each, list)]
    return value.get("@value", value.get("name")) if isinstance(value, dict) else value


def _read_broken_json_ld(script: str, place: int) -> Iterator[ContactStatement]:
    for key, text in find_pairs(script):
        says = KIND_BY_PROPERTY.get(key.lower())
        if says:
            yield ContactStatement(
                says, text, ExtractionMethod.JSON_LD, place, said=f"{key}: {text}"[:200]
            )


def _get_type(item: dict[str, Any]) -> str:
    return next(iter(list_strings(item.get("@type"))), "").rpartition("/")[2]


def _get_person(
    item: dict[str, Any], parent: dict[str, Any] | None
) -> tuple[str | None, str | None]:
    """Return name and role if the object is a person or a contact point."""
    if _get_type(item).lower() not in _PERSON_TYPES:
        return None, None
    role = item.get("jobTitle") or item.get("contactType") or item.get("roleName")
    if isinstance(role, list):
        role = role[0] if role else None
    return shorten(item.get("name")) or _compose_name(item), shorten(role)


def _compose_name(item: dict[str, Any]) -> str | None:
    parts = (shorten(item.get("givenName")), shorten(item.get("familyName")))
    return " ".join(part for part in parts if part) or None


MAX_VCARDS = 100
_VCARD = re.compile(r"BEGIN:VCARD((?:[^E]++|E(?!ND:VCARD))*+)", re.IGNORECASE)
_VCARD_LINE = re.compile(
    r"^(?:item\d+\.)?([A-Z-]{2,20})((?:;[^:\n]{0,200})?):([^\n]{1,500})",
    re.IGNORECASE | re.MULTILINE,
)
_KIND_BY_VCARD_PROPERTY = {
    "EMAIL": StatementKind.EMAIL,
    "TEL": StatementKind.PHONE,
    "URL": StatementKind.PROFILE,
    "X-SOCIALPROFILE": StatementKind.PROFILE,
}


def read_vcards(page: TokenizedPage) -> Iterator[ContactStatement]:
    for href, place in page.links if "vcard" in page.lowercase_attributes else ():
        if href[:40].lower().startswith(("data:text/vcard", "data:text/x-vcard")):
            yield from _parse_vcards(_decode_data_url(href), place)
    if "BEGIN:VCARD" in page.text:
        yield from _parse_vcards(page.text, None)


def _decode_data_url(href: str) -> str:
    head, _, body = href[:50_000].partition(",")
    body = unquote(body)
    return from_base64_text(body) if "base64" in head else body


def _parse_vcards(text: str, place: int | None) -> Iterator[ContactStatement]:
    for number, card in enumerate(_VCARD.finditer(text)):
        if number == MAX_VCARDS:
            return
        lines = [
            (line[1].upper(), line[2], line[3].strip()) for line in _VCARD_LINE.finditer(card[1])
        ]
        name = next((shorten(value) for key, _, value in lines if key == "FN"), None)
        role = next((shorten(value) for key, _, value in lines if key in ("TITLE", "ROLE")), None)
        for key, parameters, value in lines:
            if key in _KIND_BY_VCARD_PROPERTY and "fax" not in parameters.lower():
                said = " · ".join(part for part in (name, role, value) if part)[:200]
                yield ContactStatement(
                    _KIND_BY_VCARD_PROPERTY[key],
                    value,
                    ExtractionMethod.VCARD,
                    place,
                    name,
                    role,
                    said,
                )


def read_structured_data(page: TokenizedPage) -> Iterator[ContactStatement]:
    for read in (read_json_ld, read_microdata, read_vcards, read_json_data):
        yield from read(page)
