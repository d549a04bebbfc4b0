"""Turn the texts of fields into values, counting what cannot be read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Generic, TypeVar

from scrapersky.scraper.dates import parse_lastmod
from scrapersky.scraper.sitemap_parser.escapes import has_undefined, unescape
from scrapersky.scraper.urls import clean_url, origin_of

Value = TypeVar("Value")
MAX_REMEMBERED = 4_096
MAX_LOC_CHARACTERS = 8_192
"""Four times what the protocol allows; what is longer is not a URL anyone serves."""
CHANGEFREQS = {
    name: name for name in ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
}
"""Each is its own value, so that a million entries share seven texts."""
_USUAL_PRIORITIES = {
    f"{tenths / 10:.{digits}f}": tenths / 10 for tenths in range(11) for digits in (1, 2)
}

# Printable ASCII without space and backslash, and for a path without `?`, `#` and `;` too:
# nothing to clean or resolve.
_HOST = r"https?://[A-Za-z0-9](?:[A-Za-z0-9.\-]*[A-Za-z0-9])?(?::[1-9][0-9]{0,3})?"
PLAIN_URL = r"https?://[A-Za-z0-9][A-Za-z0-9.\-]{0,100}+/[!-;=?-\[\]-~]{0,8000}+"
"""Found in text, a URL that cleaning would not change, unless there are references in it."""
PLAIN_HREF = PLAIN_URL.replace("[!-;", "[!#-;")
"""The same between double quotes."""
PLAIN_ORIGIN = re.compile(rf"{_HOST}(?=/)")
_PLAIN_URL = re.compile(rf"{_HOST}(?:/[!-\[\]-~]*)?\Z")
_PLAIN_PATH = re.compile(r"/(?![/.])(?:[!-\"$-:<->@-\[\]-~](?<!/\.))*\Z")
_OTHER_SCHEME = re.compile(r"(?!https?:)[A-Za-z][A-Za-z0-9+.\-]*:", re.IGNORECASE)


class Remembered(dict[str, Value | None], Generic[Value]):
    """Texts that were read before, with their values; those without one are read every time."""

    def __init__(self, read: Callable[[str], Value | None]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> Value | None:
        value = self._read(text)
        if value is not None:
            if len(self) >= MAX_REMEMBERED:
                self.clear()
            self[text] = value
        return value


class Values:
    """Reads the values of one document: relative to its URL, with its declared entities."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._origin = origin_of(base)
        self.dropped: Counter[str] = Counter()
        self.entities: set[str] = set()
        self.dates = Remembered(self.date)
        self.changefreqs = Remembered(self.changefreq)
        self.priorities = Remembered(self.priority)

    def text(self, raw: str) -> str:
        return unescape(raw, self.entities).strip() if "&" in raw else raw.strip()

    def words(self, raw: str) -> str:
        """The text with single spaces between its words."""
        text = unescape(raw, self.entities) if "&" in raw else raw
        return " ".join(text.split())

    def loc(self, raw: str) -> str | None:
        """The URL of a page; None, counted by reason, when there is none in it."""
        if self.is_undefined(raw):
            self.dropped["undefined_entity"] += 1
            return None
        return self.loc_of_text(self.text(raw))

    def is_undefined(self, raw: str) -> bool:
        """Whether it has a reference whose text is not known, so that its URL is not either."""
        return "&" in raw and has_undefined(raw, self.entities)

    def loc_of_text(self, text: str) -> str | None:
        """The same for a text without references."""
        url = self.address(text)
        if url is None:
            self.dropped[_why_not(text)] += 1
        return url

    def address_of(self, raw: str) -> str | None:
        """The URL of a page as it is written, references and all, without counting."""
        return None if self.is_undefined(raw) else self.address(self.text(raw))

    def address(self, text: str) -> str | None:
        """The same for a text without references."""
        if len(text) > MAX_LOC_CHARACTERS:
            return None
        if _PLAIN_URL.match(text):
            return text
        if _PLAIN_PATH.match(text):
            return self._origin + text
        return clean_url(text, self.base) if text else None

    def url(self, raw: str) -> str | None:
        """A URL inside an extension; None when it is none."""
        return None if self.is_undefined(raw) else self.resolved(self.text(raw))

    def resolved(self, text: str) -> str | None:
        """The same for a text whose references were undone already."""
        if _PLAIN_URL.match(text):
            return text
        return clean_url(text, self.base) if text else None

    def date(self, raw: str | None) -> datetime | None:
        if raw is None or not (text := self.text(raw)):
            return None
        moment = parse_lastmod(text)
        if moment is None:
            self.dropped["bad_lastmod"] += 1
        return moment

    def changefreq(self, raw: str | None) -> str | None:
        if raw in CHANGEFREQS:
            return raw
        if raw is None or not (text := self.text(raw)):
            return None
        changefreq = changefreq_of(text)
        if changefreq is None:
            self.dropped["bad_changefreq"] += 1
        return changefreq

    def priority(self, raw: str | None) -> float | None:
        if raw in _USUAL_PRIORITIES:
            return _USUAL_PRIORITIES[raw]
        if raw is None or not (text := self.text(raw)):
            return None
        priority = priority_of(text)
        if priority is None:
            self.dropped["bad_priority"] += 1
        return priority


def changefreq_of(text: str) -> str | None:
    return CHANGEFREQS.get(text.lower())


def priority_of(text: str) -> float | None:
    number = number_of(text)
    return number if number is not None and 0 <= number <= 1 else None


def _why_not(text: str) -> str:
    if not text:
        return "empty_loc"
    if len(text) > MAX_LOC_CHARACTERS:
        return "too_long"
    return "not_http" if _OTHER_SCHEME.match(text) else "bad_url"


def number_of(text: str) -> float | None:
    """A decimal number, with the comma some write for a point."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return None
    return number if abs(number) < 1e15 else None
