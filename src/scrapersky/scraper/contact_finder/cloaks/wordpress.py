"""Undo what WordPress plugins do to addresses: Email Encoder, CryptX."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from scrapersky.scraper.contact_finder.cloaks.literals import LITERAL, literal_value
from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked, rot13
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.markup import unescaped
from scrapersky.scraper.contact_finder.page import Page

MAX_SCRIPTS = 50
_ENCODED = re.compile(r"""data-enc-email\s?=\s?["']([^"'<>]{5,400})""", re.IGNORECASE)
_LETTERS = re.compile(
    rf"\b[mM][lL]\s?=\s?({LITERAL})\s?[;,]\s{{0,80}}(?:var )?[mM][iI]\s?=\s?({LITERAL})"
)
_CRYPTX = re.compile(r"decryptx\(([^)]{5,2000})\)", re.IGNORECASE)


def read_wordpress(page: Page) -> Iterator[Uncloaked]:
    if "data-enc-email" in page.data_names:
        for match in _ENCODED.finditer(page.attributes):
            text = rot13(unescaped(match[1])).replace("[ng]", "@").replace("[at]", "@")
            yield Uncloaked(text, match[1], Method.WORDPRESS_ENCODER, match.start())
    picking = [found for found in page.scripts if "charAt(" in found[0].text]
    for script, place in picking[:MAX_SCRIPTS]:
        if letters := _LETTERS.search(script.text[:10_000]):
            text = unquote(picked_letters(*map(literal_value, letters.groups())))
            yield Uncloaked(text, letters[0][:200], Method.WORDPRESS_ENCODER, place)


def picked_letters(letters: str, picks: str) -> str:
    """The script keeps each letter once, and the text as a row of places among them."""
    places = (ord(pick) - 48 for pick in picks)
    return "".join(letters[place] for place in places if 0 <= place < len(letters))


def read_cryptx(page: Page) -> Iterator[Uncloaked]:
    if "decryptx" not in page.lowered:
        return
    for match in _CRYPTX.finditer(page.attributes):
        code = unescaped(unquote(match[1])).strip().strip("'\"")
        for text in (_without_digits(code), _one_back(code)):
            yield Uncloaked(text.removeprefix("mailto:"), match[1], Method.CRYPTX, match.start())


def _without_digits(code: str) -> str:
    """Newer versions: before each character stands how far it was moved."""
    pairs = zip(code[::2], code[1::2], strict=False)
    return "".join(chr(max(0, ord(c) - int(by))) if by in "0123456789" else "" for by, c in pairs)


def _one_back(code: str) -> str:
    return "".join(chr(max(0, ord(character) - 1)) for character in code)
