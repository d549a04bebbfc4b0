"""Undo Joomla's `<joomla-hidden-mail>`: both halves of the address in base64."""

from __future__ import annotations

from collections.abc import Iterator

from scrapersky.scraper.contact_finder.cloaks.encoded import from_base64
from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.page import Page


def read_joomla(page: Page) -> Iterator[Uncloaked]:
    if " first=" not in page.lowered:
        return
    for tag in page.tags_saying(" first="):
        first, last = (from_base64(tag.attributes.get(name, "")) for name in ("first", "last"))
        if tag.name == "joomla-hidden-mail" and first and last:
            raw = f"{tag.attributes['first']} {tag.attributes['last']}"
            yield Uncloaked(f"{first}@{last}", raw, Method.JOOMLA, page.place_of(tag.index))
