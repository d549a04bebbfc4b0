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
    for prepare in (str, _repair):
        try:
            return json.loads(prepare(text), strict=False)
        except (ValueError, RecursionError):
            continue
    return None


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
            parent, current = current, list(current.values())
        if isinstance(current, list):
            waiting.extend((v, parent) for v in reversed(current) if isinstance(v, dict | list))


def list_strings(value: Any) -> list[str]:
    """Return the values of a property that may have none, one or several."""
    values = value if isinstance(value, list) else [value]
    return [str(v) for v in values[:100] if isinstance(v, str | int) and not isinstance(v, bool)]


_PHONE_KEY = re.compile(r"(?:tele)?phone(?:_?number)?\Z|tel\Z|mobile\Z|telefon\Z", re.IGNORECASE)
_PROFILE_URL = re.compile(r"(?:https?:)?//[^\s\"'<>]{4,300}\Z")


def read_json_data(page: TokenizedPage) -> Iterator[ContactStatement]:
    for script, place in page.scripts:
        if "json" in script.kind and "ld+json" not in script.kind:
            value = load_json(script.text)
            if value is None:
                pairs = find_pairs(script.text)
            else:
                pairs = (
                    (key, text)
                    for item, _ in walk_objects(value)
                    for key, content in item.items()
                    for text in (content if isinstance(content, list) else (content,))
                    if isinstance(text, str)
                )
            for key, written in pairs:
                kind = _classify_value(key, written)
                if kind:
                    yield ContactStatement(
                        kind,
                        written,
                        ExtractionMethod.JSON,
                        place,
                        snippet=f"{key}: {written}"[:200],
                    )
        elif not script.kind or "javascript" in script.kind or script.kind == "module":
            yield from _read_data_script(script.text, place)


def _read_data_script(text: str, place: int) -> Iterator[ContactStatement]:
    """Read phone numbers and profiles; e-mail addresses are found by `read_script_emails`."""
    if not is_data_script(text):
        return
    # Data is often a string inside a program.
    data = unescape_script(text[:MAX_DATA_CHARACTERS])
    for match in islice(_PHONE_PAIR.finditer(data), MAX_PAIRS):
        yield ContactStatement(
            StatementKind.PHONE, match[1], ExtractionMethod.JSON, place, snippet=match[1]
        )
    for match in islice(_QUOTED_URL.finditer(data), MAX_PAIRS):
        yield ContactStatement(
            StatementKind.PROFILE, match[1], ExtractionMethod.JSON, place, snippet=match[1][:200]
        )


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
        for key, written in find_pairs(text):
            if says := KIND_BY_PROPERTY.get(key.lower()):
                snippet = f"{key}: {written}"[:200]
                method = ExtractionMethod.JSON_LD
                yield ContactStatement(says, written, method, place, snippet=snippet)
        return
    for item, parent in walk_objects(value):
        name, role = _get_person(item, parent)
        for key, content in item.items():
            says = KIND_BY_PROPERTY.get(key.rpartition(":")[2].lower())
            for written in list_strings(_unwrap_value(content)) if says else ():
                snippet = " · ".join(part for part in (_get_type(item), name, role) if part)
                snippet = f"{snippet} · {key}: {written}"[:200].removeprefix(" · ")
                method, kind = ExtractionMethod.JSON_LD, says or StatementKind.EMAIL
                yield ContactStatement(kind, written, method, place, name, role, snippet)


def _unwrap_value(value: Any) -> Any:
    """Unwrap objects: a country with a `name`, or any value with a language tag (`@value`)."""
    if isinstance(value, list):
        return [_unwrap_value(each) for each in value[:100] if not isinstance(each, list)]
    return value.get("@value", value.get("name")) if isinstance(value, dict) else value


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
    parts = (shorten(item.get("givenName")), shorten(item.get("familyName")))
    name = shorten(item.get("name")) or " ".join(part for part in parts if part)
    return name or None, shorten(role)


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
            head, _, body = href[:50_000].partition(",")
            body = unquote(body)
            yield from _parse_vcards(from_base64_text(body) if "base64" in head else body, place)
    if "BEGIN:VCARD" in page.text:
        yield from _parse_vcards(page.text, None)


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
                snippet = " · ".join(part for part in (name, role, value) if part)[:200]
                method, kind = ExtractionMethod.VCARD, _KIND_BY_VCARD_PROPERTY[key]
                yield ContactStatement(kind, value, method, place, name, role, snippet)


def read_structured_data(page: TokenizedPage) -> Iterator[ContactStatement]:
    for read in (read_json_ld, read_microdata, read_vcards, read_json_data):
        yield from read(page)
