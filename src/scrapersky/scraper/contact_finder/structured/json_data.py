"""Read contacts from the data that pages carry for their own programs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.page import Page
from scrapersky.scraper.contact_finder.structured.json_values import loads, objects_in, pairs_in
from scrapersky.scraper.contact_finder.structured.statement import Says, Statement

_PHONE_KEY = re.compile(r"(?:tele)?phone(?:_?number)?\Z|tel\Z|mobile\Z|telefon\Z", re.IGNORECASE)
_PROFILE = re.compile(r"(?:https?:)?//[^\s\"'<>]{4,300}\Z")


def read_json_data(page: Page) -> Iterator[Statement]:
    for script, place in page.scripts:
        if "json" in script.kind and "ld+json" not in script.kind:
            yield from _read(script.text, place)


def _read(text: str, place: int) -> Iterator[Statement]:
    value = loads(text)
    if value is None:
        pairs = pairs_in(text)
    else:
        pairs = ((key, found) for item, _ in objects_in(value) for key, found in _strings(item))
    for key, written in pairs:
        says = _kind_of(key, written)
        if says:
            yield Statement(says, written, Method.JSON, place, said=f"{key}: {written}"[:200])


def _strings(item: dict[str, object]) -> Iterator[tuple[str, str]]:
    for key, value in item.items():
        for text in value if isinstance(value, list) else (value,):
            if isinstance(text, str):
                yield key, text


def _kind_of(key: str, text: str) -> Says | None:
    if "@" in text:
        return Says.EMAIL if not _PROFILE.match(text) else Says.PROFILE
    if _PHONE_KEY.search(key):
        return Says.PHONE
    return Says.PROFILE if _PROFILE.match(text) else None
