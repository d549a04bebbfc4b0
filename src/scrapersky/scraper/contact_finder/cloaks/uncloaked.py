"""What undoing a disguise gives: a text that may hold an address."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from scrapersky.scraper.contact_finder.found import Method


@dataclass(frozen=True)
class Uncloaked:
    text: str
    raw: str
    """What stood in the page."""
    method: Method
    place: int | None = None
    span: tuple[int, int] | None = None


def rot13(text: str) -> str:
    return codecs.encode(text, "rot13")
