"""Read JSON as it is found in pages: with comments, trailing commas, wrapped in HTML remains."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

MAX_CHARACTERS = 400_000
MAX_VALUES = 20_000
_WRAPPING = re.compile(r"\A\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/)")
_STRING_OR_COMMENT = re.compile(
    r'"(?:[^"\\]|\\.)*+"|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/', re.DOTALL
)
_TRAILING_COMMA = re.compile(r",(\s*+[}\]])")
_START = re.compile(r"[\[{]")
_PAIR = re.compile(r'"([A-Za-z@_-]{1,40})"\s{0,9}:\s{0,9}"((?:[^"\\]|\\.){1,2000})"')


def loads(text: str) -> Any:
    """The value, or None when nothing can be made of it."""
    text = text[:MAX_CHARACTERS].strip()
    for attempt in (_as_is, _repaired):
        try:
            return json.loads(attempt(text), strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _as_is(text: str) -> str:
    return text


def _repaired(text: str) -> str:
    text = _WRAPPING.sub("", text)
    text = _STRING_OR_COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else "", text)
    text = _TRAILING_COMMA.sub(r"\1", text)
    if "&quot;" in text and '"' not in text:
        text = unescape(text)
    start = _START.search(text)
    end = max(text.rfind("}"), text.rfind("]"))
    return text[start.start() : end + 1] if start else text


def pairs_in(text: str) -> Iterator[tuple[str, str]]:
    """Names with strings, for what no parser can read any more."""
    for number, match in enumerate(_PAIR.finditer(text[:MAX_CHARACTERS])):
        if number == MAX_VALUES:
            return
        try:
            yield match[1], json.loads(f'"{match[2]}"', strict=False)
        except ValueError:
            yield match[1], match[2]


def objects_in(value: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Every object with the one it lies in, in the order of the text; no recursion."""
    waiting: list[tuple[Any, dict[str, Any] | None]] = [(value, None)]
    for _ in range(MAX_VALUES):
        if not waiting:
            return
        current, parent = waiting.pop()
        if isinstance(current, dict):
            yield current, parent
            waiting.extend((v, current) for v in _inner(reversed(list(current.values()))))
        elif isinstance(current, list):
            waiting.extend((v, parent) for v in _inner(reversed(current)))


def _inner(values: Iterator[Any]) -> Iterator[Any]:
    return (value for value in values if isinstance(value, dict | list))


def strings_of(value: Any) -> list[str]:
    """A property's values: it may have one, several or none."""
    values = value if isinstance(value, list) else [value]
    return [str(v) for v in values[:100] if isinstance(v, str | int) and not isinstance(v, bool)]
