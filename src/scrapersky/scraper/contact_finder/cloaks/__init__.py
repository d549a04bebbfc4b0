"""Undo what sites do to hide addresses from programs; a module for each way."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scrapersky.scraper.contact_finder.cloaks.at_dot import (
    read_at_dot,
    read_at_dot_attributes,
    read_at_dot_links,
)
from scrapersky.scraper.contact_finder.cloaks.cloudflare import read_cloudflare
from scrapersky.scraper.contact_finder.cloaks.encoded import read_encoded_attributes
from scrapersky.scraper.contact_finder.cloaks.enkoder import read_enkoder
from scrapersky.scraper.contact_finder.cloaks.escaped import read_escaped_text
from scrapersky.scraper.contact_finder.cloaks.javascript import read_javascript
from scrapersky.scraper.contact_finder.cloaks.joomla import read_joomla
from scrapersky.scraper.contact_finder.cloaks.spamspan import read_spamspan
from scrapersky.scraper.contact_finder.cloaks.split_attributes import read_split_attributes
from scrapersky.scraper.contact_finder.cloaks.style_content import read_style_content
from scrapersky.scraper.contact_finder.cloaks.turned import read_turned_text
from scrapersky.scraper.contact_finder.cloaks.typo3 import read_typo3
from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked
from scrapersky.scraper.contact_finder.cloaks.wordpress import read_cryptx, read_wordpress
from scrapersky.scraper.contact_finder.page import Page

__all__ = ["Uncloaked", "read_at_dot", "uncloaked"]

_READERS: tuple[Callable[[Page], Iterator[Uncloaked]], ...] = (
    read_cloudflare,
    read_typo3,
    read_joomla,
    read_spamspan,
    read_wordpress,
    read_cryptx,
    read_split_attributes,
    read_encoded_attributes,
    read_enkoder,
    read_javascript,
    read_turned_text,
    read_escaped_text,
    read_style_content,
    read_at_dot_links,
    read_at_dot_attributes,
)


def uncloaked(page: Page) -> Iterator[Uncloaked]:
    for read in _READERS:
        yield from read(page)
    yield from read_at_dot(page.text, site=page.site)
