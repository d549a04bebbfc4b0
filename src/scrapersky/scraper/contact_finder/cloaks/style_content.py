"""Read addresses that a style sheet writes into the page: `content: "desk@example.org"`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.page import Page

MAX_CANDIDATES = 100
_CONTENT = re.compile(r"""content\s{0,9}:\s{0,9}(?:"([^"{}]{6,200})"|'([^'{}]{6,200})')""")
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")


def read_style_content(page: Page) -> Iterator[Uncloaked]:
    for match in islice(_CONTENT.finditer(page.styles), MAX_CANDIDATES):
        written = match[1] or match[2]
        text = _ESCAPE.sub(lambda escape: chr(min(int(escape[1], 16), 0x10FFFF)), written)
        if "@" in text:
            yield Uncloaked(text, written, Method.TEXT)
