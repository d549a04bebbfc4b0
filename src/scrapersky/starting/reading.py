"""What a person typed into one box: taken apart, and each part taken for what it looks like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from urllib.parse import parse_qsl, urlsplit

from scrapersky.errors import InvalidInput
from scrapersky.http.intake.sites import SiteReader
from scrapersky.scraper.urls import Site

MOST_ENTRIES = 1_000
TOO_MANY = (
    f"This box takes up to {MOST_ENTRIES:,} at once; save a longer list as a CSV file and import "
    "that."
)
NOTHING = "There is nothing to start with; give a domain, for example example.com."

_APART = re.compile(r"[,;]\s+|[,;](?=https?://)|[,;]\s*\Z", re.IGNORECASE)
"""Where a comma ends an entry for certain; one inside of a path may belong to the path."""
_AROUND = " \t,;"
_BARE = re.compile(r"([^/,;]+)[,;](.*)", re.DOTALL)
_SITEMAP = re.compile(r"\.xml(\.gz)?\Z|sitemap[^/]*\.(txt|gz)\Z|sitemap[^/]*\.txt\.gz\Z")
_TRACKING = re.compile(r"utm_\w+|gclid|gbraid|wbraid|fbclid|msclkid\Z", re.IGNORECASE)


class Kind(StrEnum):
    """What an entry can be taken for."""

    DOMAIN = "domain"
    SITEMAP = "sitemap"
    PAGE = "page"


def entries_of(text: str) -> list[str]:
    """One per line, or divided by commas or semicolons; `InvalidInput` when there are too many."""
    found: list[str] = []
    for line in text.splitlines():
        found += [each for each in _parts(line) if each]
        if len(found) > MOST_ENTRIES:
            raise InvalidInput(TOO_MANY)
    if not found:
        raise InvalidInput(NOTHING)
    return found


def _parts(line: str) -> Iterator[str]:
    """`a.example,b.example/x,y` → `a.example` and `b.example/x,y`: no domain has a comma in it."""
    for part in _APART.split(line):
        rest = part
        while bare := _BARE.fullmatch(rest):
            yield bare[1].strip(_AROUND)
            rest = bare[2]
        yield rest.strip(_AROUND)


def kind_of(text: str, reader: SiteReader) -> Kind:
    """`InvalidInput` says why it can be nothing."""
    site = reader.site_of(text)
    if _is_home(site):
        return Kind.DOMAIN
    path = urlsplit(site.path).path.lower()
    return Kind.SITEMAP if _SITEMAP.search(path) else Kind.PAGE


def _is_home(site: Site) -> bool:
    """What advertisements add to an address does not make another page of it."""
    parts = urlsplit(site.path)
    asked = parse_qsl(parts.query, keep_blank_values=True)
    return parts.path == "/" and all(_TRACKING.match(name) for name, _ in asked)
