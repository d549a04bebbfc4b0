"""Undo encodings of a whole address: base64, percent signs, rot13, back to front."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from itertools import chain
from urllib.parse import unquote

from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked, rot13
from scrapersky.scraper.contact_finder.emails import find_emails
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.page import Page
from scrapersky.scraper.contact_finder.words import words_of

MAX_CHARACTERS = 500
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-]{4,}={0,2}\Z")
_OPEN = ("mailto:", "tel:", "http:", "https:", "//", "/")
_TELLING = words_of(
    "mail cloak obfus protect crypt encod data-enc spam b64 base64 rot13 revers znvygb"
)
_CARRIERS = frozenset(("href", "title", "rel"))
_ADDRESS_SIGN = re.compile(r"@|\bat\b|/at/|\[at\]|\(at\)", re.IGNORECASE)


def from_base64(text: str) -> str | None:
    """The text, when it is the base64 of one a person could read."""
    text = text.strip()
    if not 4 <= len(text) <= MAX_CHARACTERS or not _BASE64.match(text):
        return None
    result = from_base64_text(text)
    return result if result and result.isprintable() else None


def from_base64_text(text: str) -> str:
    """Whatever it decodes to; nothing when it is no base64."""
    padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
    try:
        decoded = base64.b64decode(padded, altchars=b"-_" if set("-_") & set(text) else None)
        return decoded.decode("utf-8")
    except (binascii.Error, ValueError):
        return ""


def read_encoded_attributes(page: Page) -> Iterator[Uncloaked]:
    """Attributes of elements that say, in a name or class, that they are about mail."""
    seen: set[int] = set()
    for tag in chain.from_iterable(map(page.tags_saying, sorted(_TELLING))):
        if tag.index in seen:
            continue
        seen.add(tag.index)
        for name, value in tag.attributes.items():
            if name.startswith("data-") or name in _CARRIERS:
                for text, method in readings(value):
                    yield Uncloaked(text, value, method, page.place_of(tag.index))


def readings(value: str) -> Iterator[tuple[str, Method]]:
    """The way to read a value that may be an address in disguise, if it is none as it stands.

    One of them is meant: as soon as one gives an address, the others are not tried, for what they
    make of an address (rot13 of a name is a name too) is nobody's.
    """
    value = value.strip().removeprefix("javascript:").removeprefix("#").strip()
    if not 6 <= len(value) <= MAX_CHARACTERS or value.lower().startswith(_OPEN):
        return
    if _has_address(value):
        return
    for text, method in _possible_readings(value):
        yield text, method
        if _has_address(text):
            return


def _possible_readings(value: str) -> Iterator[tuple[str, Method]]:
    plain = from_base64(value)
    if plain:
        yield plain, Method.BASE64
        yield plain[::-1], Method.BASE64
        yield rot13(plain), Method.BASE64
    if "%40" in value:
        yield unquote(value), Method.ATTRIBUTE
    if "@" in value or "[at]" in value or "(at)" in value:
        yield value[::-1], Method.REVERSED
    turned = rot13(value)
    if _ADDRESS_SIGN.search(turned):
        yield turned, Method.ROT13
        yield turned[::-1], Method.ROT13


def _has_address(text: str) -> bool:
    return next(find_emails(text, limit=5), None) is not None
