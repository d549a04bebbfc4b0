"""Undo TYPO3's spam protection: letters shifted along by an offset the site chose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.markup import unescaped
from scrapersky.scraper.contact_finder.page import Page

_CALL = re.compile(r"uncryptmailto\(([^)]{5,1000})", re.IGNORECASE)
_TOKEN = re.compile(r"""data-mailto-token\s{0,9}=\s{0,9}["']([^"'<>]{5,1000})""", re.IGNORECASE)
_RANGES = ((0x2B, 0x3A), (0x40, 0x5A), (0x61, 0x7A))
_PREFIX = "mailto:"


def read_typo3(page: Page) -> Iterator[Uncloaked]:
    if "uncryptmailto" in page.lowered:
        for match in _CALL.finditer(page.attributes):
            argument = unescaped(unquote(match[1])).strip()
            yield from _read(argument.lstrip("'\"").partition("'")[0].partition('"')[0], match)
    if "data-mailto-token" in page.data_names:
        for match in _TOKEN.finditer(page.attributes):
            yield from _read(unescaped(match[1]), match)


def _read(token: str, match: re.Match[str]) -> Iterator[Uncloaked]:
    text = decrypted(token) if token else None
    if text is not None:
        yield Uncloaked(text[len(_PREFIX) :], match[1], Method.TYPO3, match.start())


def decrypted(token: str) -> str | None:
    """By the offset that makes a `mailto:` of it; its first letter tells which that can be."""
    offset = ord(_PREFIX[0]) - ord(token[0])
    for text in (
        _shifted(token, offset),
        *(_rotated(token, offset + turn) for turn in (0, 26, -26)),
    ):
        if text.lower().startswith(_PREFIX):
            return text
    return None


def _rotated(text: str, offset: int) -> str:
    return "".join(_rotated_character(character, offset) for character in text)


def _rotated_character(character: str, offset: int) -> str:
    code = ord(character)
    for first, last in _RANGES:
        if first <= code <= last:
            return chr(first + (code - first + offset) % (last - first + 1))
    return character


def _shifted(text: str, offset: int) -> str:
    """As old versions did: along the character codes, wherever that leads."""
    return "".join(chr(min(max(0, ord(character) + offset), 0xFFFF)) for character in text)
