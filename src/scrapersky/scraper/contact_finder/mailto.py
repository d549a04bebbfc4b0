"""Read the addresses out of `mailto:` links, with all that people get wrong in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from scrapersky.scraper.contact_finder.markup import visible_characters

MAX_CHARACTERS = 65_536
_SCHEME = re.compile(
    r"\s*(?:https?:/{0,2}|//)?\s*(?:e?-?mail-?to|mailt0|mailo|mail|email)\s{0,3}(?::|%3a)"
    r"(?:\s|/|%20|mailto:)*",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"[,;]")
_FIELDS = ("to=", "cc=", "bcc=")


def is_mailto(href: str) -> bool:
    return _SCHEME.match(href[:60]) is not None


def recipients(href: str) -> Iterator[str]:
    """The addressees as written, each by itself; subjects and bodies are not looked at."""
    href = visible_characters(href[:MAX_CHARACTERS])
    match = _SCHEME.match(href)
    rest = href[match.end() :] if match else href
    path, mark, query = rest.partition("?")
    if not mark:
        path, _, query = rest.partition("&")
    yield from _each(path)
    for field in re.split(r"[&?]", query):
        if field.lower().startswith(_FIELDS):
            yield from _each(field.partition("=")[2])


def _each(written: str) -> Iterator[str]:
    decoded = unquote(unquote(written)).partition("?")[0]  # its "?" may have been encoded, too
    for part in _SEPARATORS.split(decoded):
        if part.count("@") > 1:
            yield from (word for word in part.split() if "@" in word)
        elif "<" in part:
            yield part.rpartition("<")[2].partition(">")[0]
        elif part.strip():
            yield part.strip()
