"""Decode addresses in attribute values: base64, percent-encoding, rot13 and reversed text."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from urllib.parse import unquote

from scrapersky.scraper.contacts.emails import find_emails
from scrapersky.scraper.contacts.model import ExtractionMethod
from scrapersky.scraper.contacts.page import TokenizedPage
from scrapersky.scraper.contacts.words import split_words


@dataclass(frozen=True)
class DecodedText:
    text: str
    raw: str
    """The value as it appears in the page."""
    method: ExtractionMethod
    place: int | None = None
    span: tuple[int, int] | None = None


def rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


MAX_ENCODED_CHARACTERS = 500
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-]{4,}={0,2}\Z")
_PLAIN_PREFIXES = ("mailto:", "tel:", "http:", "https:", "//", "/")
_HINT_WORDS = split_words(
    "mail cloak obfus protect crypt encod data-enc spam b64 base64 rot13 revers znvygb"
)
_VALUE_ATTRIBUTES = frozenset(("href", "title", "rel"))
_ADDRESS_SIGN = re.compile(r"@|\bat\b|/at/|\[at\]|\(at\)", re.IGNORECASE)


def from_base64(text: str) -> str | None:
    """Return the decoded text if the value is base64 of printable text, else None."""
    text = text.strip()
    if not 4 <= len(text) <= MAX_ENCODED_CHARACTERS or not _BASE64.match(text):
        return None
    result = from_base64_text(text)
    return result if result and result.isprintable() else None


def from_base64_text(text: str) -> str:
    """Return the decoded text, or an empty string if the value is not base64 of UTF-8."""
    padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
    try:
        decoded = base64.b64decode(padded, altchars=b"-_" if set("-_") & set(text) else None)
        return decoded.decode("utf-8")
    except (binascii.Error, ValueError):
        return ""


def read_encoded_attributes(page: TokenizedPage) -> Iterator[DecodedText]:
    """Decode attributes of elements whose attributes hint at an obfuscated address."""
    seen: set[int] = set()
    for tag in chain.from_iterable(map(page.find_tags, sorted(_HINT_WORDS))):
        if tag.index in seen:
            continue
        seen.add(tag.index)
        for name, value in tag.attributes.items():
            if name.startswith("data-") or name in _VALUE_ATTRIBUTES:
                for text, method in list_decodings(value):
                    yield DecodedText(text, value, method, page.get_position(tag.index))


def list_decodings(value: str) -> Iterator[tuple[str, ExtractionMethod]]:
    """Yield the decodings of a value that may be an encoded address.

    Yields nothing if the value contains a plain address. Stops at the first decoding that yields an
    address: at most one decoding is the intended one, and applying another to a real address
    produces a wrong one (rot13 of a name looks like a name, too).
    """
    value = value.strip().removeprefix("javascript:").removeprefix("#").strip()
    if not 6 <= len(value) <= MAX_ENCODED_CHARACTERS or value.lower().startswith(_PLAIN_PREFIXES):
        return
    if _has_email(value):
        return
    for text, method in _list_possible_decodings(value):
        yield text, method
        if _has_email(text):
            return


def _list_possible_decodings(value: str) -> Iterator[tuple[str, ExtractionMethod]]:
    plain = from_base64(value)
    if plain:
        yield plain, ExtractionMethod.BASE64
        yield plain[::-1], ExtractionMethod.BASE64
        yield rot13(plain), ExtractionMethod.BASE64
    if "%40" in value:
        yield unquote(value), ExtractionMethod.ATTRIBUTE
    if "@" in value or "[at]" in value or "(at)" in value:
        yield value[::-1], ExtractionMethod.REVERSED
    turned = rot13(value)
    if _ADDRESS_SIGN.search(turned):
        yield turned, ExtractionMethod.ROT13
        yield turned[::-1], ExtractionMethod.ROT13


def _has_email(text: str) -> bool:
    return next(find_emails(text, limit=5), None) is not None
