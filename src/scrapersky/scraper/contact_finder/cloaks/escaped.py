"""Read addresses escaped once too often, so that people see `info&#64;example.org`."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape

from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.page import Page

MAX_CANDIDATES = 500
_SIGNS = ("&#64;", "&#064;", "&#x40;", "&#x0040;", "&commat;", "%40")
_REACH = 80


def read_escaped_text(page: Page) -> Iterator[Uncloaked]:
    if "&" not in page.text and "%40" not in page.text:
        return
    looked_at = 0
    for sign in _SIGNS:
        place = page.text.find(sign)
        while place >= 0 and looked_at < MAX_CANDIDATES:
            looked_at += 1
            start = max(0, place - _REACH)
            written = page.text[start : place + _REACH].replace("%40", "@")
            span = (place, place + len(sign))
            yield Uncloaked(unescape(written), written, Method.ENTITIES, span=span)
            place = page.text.find(sign, place + len(sign))
