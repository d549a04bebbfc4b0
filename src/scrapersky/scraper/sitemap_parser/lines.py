"""Read a plain text file with one URL per line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapersky.scraper.sitemap_parser.model import Entry
from scrapersky.scraper.sitemap_parser.rows import in_steps
from scrapersky.scraper.sitemap_parser.values import Values

_URL = re.compile(r"https?://\S+", re.IGNORECASE)


class LineReader:
    """Every line that begins with an address counts; the others are counted as dropped."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def steps(self, text: str) -> Iterator[list[Entry]]:
        return in_steps(self.read(text))

    def read(self, text: str) -> Iterator[Entry]:
        for line in text.splitlines():
            line = line.strip("\ufeff\u200b \t\0")
            if not line:
                continue
            match = _URL.match(line)
            if match is None:
                self._values.dropped["not_a_url"] += 1
            elif loc := self._values.loc_of_text(match[0]):
                yield Entry(loc)
