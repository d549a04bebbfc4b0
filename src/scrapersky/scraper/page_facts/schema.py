"""The structured data in a page: JSON-LD, and the types that microdata and RDFa name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from scrapersky.scraper.page_facts.document import Document, attribute, clean_text

MAX_SCRIPTS = 50
MAX_SCRIPT_CHARACTERS = 512 * 1024
MAX_NODES = 5_000
MAX_TYPES = 50

_WRAPPING = re.compile(r"\A(?:\s|<!--|//\s*<!\[CDATA\[|<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/)+")
_WRAPPED = re.compile(r"(?:;|-->|//\s*\]\]>|\]\]>|/\*\s*\]\]>\s*\*/)\s*\Z")

JsonObject = dict[str, Any]


def json_ld_of(document: Document) -> list[JsonObject]:
    """All objects of the page's JSON-LD, outer ones before those within them."""
    found: list[JsonObject] = []
    scripts = [each for each in document.scripts if "ld+json" in each.type]
    for script in scripts[:MAX_SCRIPTS]:
        for node in _objects(_parsed(script.text)):
            found.append(node)
            if len(found) >= MAX_NODES:
                return found
    return found


def _parsed(text: str) -> Any:
    if len(text) > MAX_SCRIPT_CHARACTERS:
        return None
    text = _WRAPPED.sub("", _WRAPPING.sub("", text).rstrip()[-MAX_SCRIPT_CHARACTERS:])
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _objects(value: Any) -> Iterator[JsonObject]:
    """Without recursion: what nests is put in a row, breadth first."""
    row = [value]
    for each in row:
        if isinstance(each, dict):
            yield each
            row.extend(each.values())
        elif isinstance(each, list):
            row.extend(each[:MAX_NODES])


def types_of(node: JsonObject) -> tuple[str, ...]:
    """`http://schema.org/Bakery` and `schema:Bakery` are a Bakery."""
    given = node.get("@type")
    names = given if isinstance(given, list) else [given]
    return tuple(filter(None, (_type_name(name) for name in names[:20])))


def _type_name(name: object) -> str | None:
    if not isinstance(name, str):
        return None
    return clean_text(re.split(r"[/#:]", name.strip().rstrip("/"))[-1], limit=80)


def schema_types_of(document: Document, nodes: list[JsonObject]) -> tuple[str, ...]:
    found = dict.fromkeys(each for node in nodes for each in types_of(node))
    for node in document.tree.css("[itemtype], [typeof]")[:MAX_NODES]:
        given = attribute(node, "itemtype") or attribute(node, "typeof")
        found.update(dict.fromkeys(filter(None, map(_type_name, given.split()[:5]))))
    return tuple(found)[:MAX_TYPES]
