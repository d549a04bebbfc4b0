"""Parse values from untrusted JSON and lists: strings, numbers, coordinates, phone numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from scrapersky.scraper.contacts.model import strip_unstorable
from scrapersky.scraper.contacts.phone_numbers import parse_phone
from scrapersky.scraper.contacts.phone_regions import guess_regions


def parse_provider_phone(
    written: Iterable[str], country: str | None, oddities: list[str]
) -> tuple[str | None, str | None]:
    """Return (E.164, as written) of the first valid number, or (None, the first as written)."""
    spellings = list(written)
    regions = guess_regions(None, "", country) if country else ()
    for spelling in spellings:
        if number := parse_phone(spelling, regions=regions):
            return number, spelling
    if not spellings:
        return None, None
    oddities.append(f"Phone {spellings[0][:40]!r} is not a valid number.")
    return None, spellings[0]


MAX_TEXT_CHARACTERS = 1_000
"""Longer names and addresses are truncated."""
MAX_PROVIDER_URL_CHARACTERS = 4_000
MAX_RAW_TEXT_CHARACTERS = 20_000
"""Limit for strings that are stored as raw data only."""
MAX_DEPTH = 24
"""Nesting limit of raw data. Providers need about ten levels."""
MAX_ITEMS = 10_000
MAX_COUNT = 2**31 - 1

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]+")


def parse_json(body: bytes) -> Any:
    """Parse JSON. `NaN` and `Infinity` become None. Raises ValueError if the input is invalid."""
    try:
        return json.loads(body, parse_constant=lambda _: None)
    except RecursionError as error:
        raise ValueError("The JSON is nested too deeply.") from error


def parse_text(value: object, *, at_most: int = MAX_TEXT_CHARACTERS) -> str | None:
    """Return a single line without control characters, or None if it is empty."""
    if not isinstance(value, str):
        return None
    return " ".join(_CONTROL.sub(" ", value[: 4 * at_most]).split())[:at_most].rstrip() or None


def parse_number(value: object, low: float, high: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Compare before converting: a very large integer does not fit a float.
    return float(value) if low <= value <= high else None


def parse_count(value: object) -> int | None:
    """Parse a non-negative integer. Providers sometimes write large numbers as strings."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        value = int(value)
    number = parse_number(value, 0, MAX_COUNT)
    return int(number) if number is not None and number.is_integer() else None


def as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value[:MAX_ITEMS] if isinstance(value, list) else []


def parse_texts(value: object, *, most: int) -> tuple[str, ...]:
    """Return the distinct strings of a list."""
    texts = (parse_text(each, at_most=200) for each in as_list(value))
    return tuple(dict.fromkeys(each for each in texts if each))[:most]


def to_storable(value: object, *, depth: int = MAX_DEPTH) -> Any:
    """Convert a value to a form that PostgreSQL can store as JSON."""
    if isinstance(value, str):
        return strip_unstorable(value[:MAX_RAW_TEXT_CHARACTERS])
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    if depth == 0:
        return None
    if isinstance(value, dict):
        items = ((str(name), to_storable(each, depth=depth - 1)) for name, each in value.items())
        return {to_storable(name): each for name, each in items}
    if isinstance(value, list | tuple):
        return [to_storable(each, depth=depth - 1) for each in value[:MAX_ITEMS]]
    return None


def parse_name(value: object, oddities: list[str]) -> str | None:
    name = parse_text(value)
    if name is None and isinstance(value, str):
        oddities.append("The name is blank.")
    if name is not None and not any(each.isalnum() for each in name):
        oddities.append(f"The name {name[:40]!r} has no letters or digits.")
        return None
    return name


def parse_location(
    latitude: object, longitude: object, oddities: list[str]
) -> tuple[float, float] | tuple[None, None]:
    """Return both coordinates or neither."""
    north, east = parse_number(latitude, -90, 90), parse_number(longitude, -180, 180)
    if north is not None and east is not None:
        return north, east
    if latitude is not None or longitude is not None:
        oddities.append(
            f"The coordinates {_shorten(latitude)}, {_shorten(longitude)} are not valid."
        )
    return None, None


def _shorten(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if abs(value) < 1e300 else "a huge number"
    return repr(parse_text(value, at_most=20)) if isinstance(value, str) else type(value).__name__
