"""Read the items of RSS and the entries of Atom as if they were a sitemap's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapersky.scraper.sitemap_parser.model import Entry
from scrapersky.scraper.sitemap_parser.rows import in_steps
from scrapersky.scraper.sitemap_parser.tokens import Token, attributes_of, tokens_of
from scrapersky.scraper.sitemap_parser.values import Values

ITEMS = frozenset({"item", "entry"})
_DATES = ("updated", "modified", "pubdate", "published", "issued", "date")
"""The date of change before that of publication."""
_FIELDS = frozenset({"link", "guid", "id", *_DATES})
_FOREIGN = frozenset({"atom", "atom10", "media", "source", "feedburner"})
_ABSOLUTE = re.compile(r"\s*https?://", re.IGNORECASE)


class FeedReader:
    """Reads whole items out of clean text; the channel's own links are not pages of it."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def steps(self, text: str) -> Iterator[list[Entry]]:
        return in_steps(self.read(text))

    def read(self, text: str) -> Iterator[Entry]:
        item: _Item | None = None
        for token in tokens_of(text):
            if token.name in ITEMS:
                if item is not None and (entry := item.entry()):
                    yield entry
                item = None if token.is_close or token.is_empty else _Item(token, self._values)
            elif item is not None:
                item.take(token)
        if item is not None and (entry := item.entry()):
            yield entry


class _Item:
    def __init__(self, token: Token, values: Values) -> None:
        self._values = values
        self._foreign = _FOREIGN - {token.prefix}
        self._texts: dict[str, str] = {}
        self._href: str | None = None
        self._depth = 0
        """Inside another element, whose links are not the item's."""
        self._about = attributes_of(token.attributes).get("about", "")
        """What an item of RSS 1.0 is about, as its own tag has it."""

    def take(self, token: Token) -> None:
        if token.name in ("source", "content", "author", "description", "summary"):
            self._depth += 0 if token.is_empty else -1 if token.is_close else 1
        if token.is_close or self._depth > 0 or token.prefix in self._foreign:
            return
        if token.name == "link" and (attributes := attributes_of(token.attributes)):
            self._take_link(attributes)
        if token.name in _FIELDS and token.tail.strip():
            self._texts.setdefault(token.name, token.tail)

    def _take_link(self, attributes: dict[str, str]) -> None:
        if attributes.get("rel", "alternate").lower() == "alternate" and "href" in attributes:
            self._href = self._href or attributes["href"]

    def entry(self) -> Entry | None:
        raw = self._texts.get("link") or self._href or self._identifier()
        loc = self._values.loc(raw)
        if loc is None:
            return None
        date = next((self._texts[name] for name in _DATES if name in self._texts), None)
        return Entry(loc, self._values.date(date))

    def _identifier(self) -> str:
        """Some feeds have no link but an address for an identifier."""
        text = self._texts.get("guid") or self._texts.get("id") or self._about
        return text if _ABSOLUTE.match(text) else ""
