"""Read vCards that a page carries with it: in a data link, or as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from scrapersky.scraper.contact_finder.cloaks.encoded import from_base64_text
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.page import Page
from scrapersky.scraper.contact_finder.structured.statement import (
    Says,
    Statement,
    short,
)

MAX_CARDS = 100
_CARD = re.compile(r"BEGIN:VCARD((?:[^E]++|E(?!ND:VCARD))*+)", re.IGNORECASE)
_LINE = re.compile(
    r"^(?:item\d+\.)?([A-Z-]{2,20})((?:;[^:\n]{0,200})?):([^\n]{1,500})",
    re.IGNORECASE | re.MULTILINE,
)
_SAYS = {
    "EMAIL": Says.EMAIL,
    "TEL": Says.PHONE,
    "URL": Says.PROFILE,
    "X-SOCIALPROFILE": Says.PROFILE,
}


def read_vcards(page: Page) -> Iterator[Statement]:
    for href, place in page.links if "vcard" in page.lowered else ():
        if href[:40].lower().startswith(("data:text/vcard", "data:text/x-vcard")):
            yield from _cards(_data(href), place)
    if "BEGIN:VCARD" in page.text:
        yield from _cards(page.text, None)


def _data(href: str) -> str:
    head, _, body = href[:50_000].partition(",")
    body = unquote(body)
    return from_base64_text(body) if "base64" in head else body


def _cards(text: str, place: int | None) -> Iterator[Statement]:
    for number, card in enumerate(_CARD.finditer(text)):
        if number == MAX_CARDS:
            return
        lines = [(line[1].upper(), line[2], line[3].strip()) for line in _LINE.finditer(card[1])]
        name = next((short(value) for key, _, value in lines if key == "FN"), None)
        role = next((short(value) for key, _, value in lines if key in ("TITLE", "ROLE")), None)
        for key, parameters, value in lines:
            if key in _SAYS and "fax" not in parameters.lower():
                said = " · ".join(part for part in (name, role, value) if part)[:200]
                yield Statement(_SAYS[key], value, Method.VCARD, place, name, role, said)
