"""Undo Drupal's SpamSpan: user and host in spans of their own, dots spelled out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.page import Page

_DOT = re.compile(r"\s{0,3}[\[({]\s{0,3}(?:dot|\.)\s{0,3}[\])}]\s{0,3}", re.IGNORECASE)
_TAGS_INSIDE = 12


def read_spamspan(page: Page) -> Iterator[Uncloaked]:
    for tag in page.tags_saying("spamspan"):
        parts = _parts(page, tag.index)
        if len(parts) == 2:
            user, host = (_DOT.sub(".", parts[name]).strip() for name in "ud")
            place = page.place_of(tag.index)
            yield Uncloaked(f"{user}@{host}", f"{user} {host}", Method.SPAMSPAN, place)


def _parts(page: Page, index: int) -> dict[str, str]:
    """The first span of each class: `u` for the user, `d` for the domain."""
    found: dict[str, str] = {}
    for inner in range(index + 1, min(index + _TAGS_INSIDE, len(page.row.names) - 1)):
        class_ = page.tag(inner).attributes.get("class", "").strip()
        if class_ in ("u", "d"):
            found.setdefault(class_, page.row.text(inner, inner + 1))
    return found
