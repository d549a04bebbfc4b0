"""Put addresses together again that a site spread over several attributes of one element."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain

from scrapersky.scraper.contact_finder.cloaks.encoded import from_base64
from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked, rot13
from scrapersky.scraper.contact_finder.emails import email_of
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.page import Page
from scrapersky.scraper.contact_finder.words import words_of

_PREFIX = re.compile(r"data-(?:e?-?mail-|contact-|obfuscated?-|cloak-|addr(?:ess)?-|m-)?")
_USER = words_of(
    "user username name local localpart local-part mailbox account u n l part1 part-1 p1 "
    "first before prefix left login box recipient to who person usr a one 1"
)
_DOMAIN = words_of(
    "domain host hostname d h part2 part-2 p2 last after right server site website dom "
    "provider at where domainname b two 2 domain-name second"
)
_TLD = words_of("tld ext extension suffix t part3 part-3 p3 end com c three 3 topleveldomain")


def read_split_attributes(page: Page) -> Iterator[Uncloaked]:
    second_halves = [name for name in page.data_names if _kind_of(_bare(name)) == "domain"]
    for tag in chain.from_iterable(map(page.tags_saying, sorted(second_halves))):
        parts = _parts(tag.attributes)
        address = parts and _assembled(parts, page.site)
        if address:
            place = page.place_of(tag.index)
            yield Uncloaked(address, " ".join(parts), Method.SPLIT_ATTRIBUTES, place)


def _bare(name: str) -> str:
    match = _PREFIX.match(name)
    return name[match.end() :] if match else ""


def _parts(attributes: dict[str, str]) -> list[str]:
    """User, domain and, where it stands alone, the top-level domain."""
    found: dict[str, str] = {}
    for name, value in attributes.items():
        kind = _kind_of(_bare(name))
        if kind and value:
            found.setdefault(kind, value.strip())
    if "user" not in found or "domain" not in found:
        return []
    return [found[kind] for kind in ("user", "domain", "tld") if kind in found]


def _kind_of(name: str) -> str:
    if name in _USER:
        return "user"
    if name in _DOMAIN:
        return "domain"
    return "tld" if name in _TLD else ""


def _assembled(parts: list[str], site: str | None) -> str | None:
    readers: tuple[Callable[[str], str | None], ...] = (str, _reversed, from_base64, rot13)
    for read in readers:
        user, domain, *rest = (read(part) or "" for part in parts)
        for end in ["." + rest[0].lstrip("."), ""] if rest else [""]:
            address = f"{user}@{domain.rstrip('.') if end else domain}{end}"
            if email_of(address, site=site):
                return address
    return None


def _reversed(text: str) -> str:
    return text[::-1]
