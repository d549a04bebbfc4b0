"""Parse a page's JSON-LD and list its schema.org types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from scrapersky.scraper.html.document import Document, clean_text, get_attribute

MAX_SCRIPTS = 50
MAX_SCRIPT_CHARACTERS = 512 * 1024
MAX_NODES = 5_000
MAX_TYPES = 50

_WRAPPING_START = re.compile(r"\A(?:\s|<!--|//\s*<!\[CDATA\[|<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/)+")
_WRAPPING_END = re.compile(r"(?:;|-->|//\s*\]\]>|\]\]>|/\*\s*\]\]>\s*\*/)\s*\Z")

JsonObject = dict[str, Any]


def parse_json_ld(document: Document) -> list[JsonObject]:
    """Return all objects in the page's JSON-LD, outer objects before nested ones."""
    found: list[JsonObject] = []
    scripts = [each for each in document.scripts if "ld+json" in each.type]
    for script in scripts[:MAX_SCRIPTS]:
        for node in _walk_objects(_parse_json(script.text)):
            found.append(node)
            if len(found) >= MAX_NODES:
                return found
    return found


def _parse_json(text: str) -> Any:
    if len(text) > MAX_SCRIPT_CHARACTERS:
        return None
    text = _WRAPPING_END.sub("", _WRAPPING_START.sub("", text).rstrip()[-MAX_SCRIPT_CHARACTERS:])
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _walk_objects(value: Any) -> Iterator[JsonObject]:
    """Yield objects breadth first, without recursion."""
    row = [value]
    for each in row:
        if isinstance(each, dict):
            yield each
            row.extend(each.values())
        elif isinstance(each, list):
            row.extend(each[:MAX_NODES])


def get_types(node: JsonObject) -> tuple[str, ...]:
    """Return the type names: `http://schema.org/Bakery` and `schema:Bakery` become `Bakery`."""
    given = node.get("@type")
    names = given if isinstance(given, list) else [given]
    return tuple(filter(None, (_get_type_name(name) for name in names[:20])))


def _get_type_name(name: object) -> str | None:
    if not isinstance(name, str):
        return None
    return clean_text(re.split(r"[/#:]", name.strip().rstrip("/"))[-1], limit=80)


def list_schema_types(document: Document, nodes: list[JsonObject]) -> tuple[str, ...]:
    found = dict.fromkeys(each for node in nodes for each in get_types(node))
    for node in document.tree.css("[itemtype], [typeof]")[:MAX_NODES]:
        given = get_attribute(node, "itemtype") or get_attribute(node, "typeof")
        found.update(dict.fromkeys(filter(None, map(_get_type_name, given.split()[:5]))))
    return tuple(found)[:MAX_TYPES]
