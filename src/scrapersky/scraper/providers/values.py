"""Values out of somebody else's JSON: what is not as it should be is not there."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST_TEXT = 1_000
"""No name or address is longer; what goes on is cut."""
LONGEST_URL = 4_000
LONGEST_RAW_TEXT = 20_000
"""Of a text that is only kept, not used."""
DEEPEST = 24
"""Levels of what is only kept; providers need about ten."""
MOST_ITEMS = 10_000
LARGEST_COUNT = 2**31 - 1

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""A database has no place for them, and no text needs them."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]+")


def read_json(body: bytes) -> Any:
    """The document, or `ValueError`; `NaN` and the like are nothing."""
    try:
        return json.loads(body, parse_constant=lambda _: None)
    except RecursionError as error:
        raise ValueError("It is nested too deeply.") from error


def text_of(value: object, *, at_most: int = LONGEST_TEXT) -> str | None:
    """One line without characters that cannot be seen; nothing when nothing is left."""
    if not isinstance(value, str):
        return None
    return " ".join(_CONTROL.sub(" ", value[: 4 * at_most]).split())[:at_most].rstrip() or None


def number_of(value: object, low: float, high: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # An integer of many digits is no float at all.
    return float(value) if low <= value <= high else None


def count_of(value: object) -> int | None:
    """A whole number from 0 on; providers write large ones as text at times."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        value = int(value)
    number = number_of(value, 0, LARGEST_COUNT)
    return int(number) if number is not None and number.is_integer() else None


def mapping_of(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def items_of(value: object) -> list[Any]:
    return value[:MOST_ITEMS] if isinstance(value, list) else []


def texts_of(value: object, *, most: int) -> tuple[str, ...]:
    """The texts of a list, each once."""
    found = (text_of(each, at_most=200) for each in items_of(value))
    return tuple(dict.fromkeys(each for each in found if each))[:most]


def storable(value: object, *, depth: int = DEEPEST) -> Any:
    """The same, in a form that any database keeps."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("", value[:LONGEST_RAW_TEXT])
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    if depth == 0:
        return None
    if isinstance(value, dict):
        return dict(_storable_items(value, depth))
    if isinstance(value, list | tuple):
        return [storable(each, depth=depth - 1) for each in value[:MOST_ITEMS]]
    return None


def _storable_items(value: Mapping[Any, Any], depth: int) -> Iterator[tuple[str, Any]]:
    for name, each in value.items():
        yield storable(str(name)), storable(each, depth=depth - 1)
