"""Read contacts from the data that pages carry for their own programs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapersky.scraper.contact_finder.data_scripts import (
    addresses_in,
    carries_data,
    data_of,
    numbers_in,
)
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
        elif not script.kind or "javascript" in script.kind or script.kind == "module":
            yield from _read_program(script.text, place)


def _read_program(text: str, place: int) -> Iterator[Statement]:
    """Its e-mail addresses are found as in any other program."""
    if not carries_data(text):
        return
    data = data_of(text)
    for number in numbers_in(data):
        yield Statement(Says.PHONE, number, Method.JSON, place, said=number)
    for address in addresses_in(data):
        yield Statement(Says.PROFILE, address, Method.JSON, place, said=address[:200])


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
