"""Helpers of the contact finder's tests."""

from __future__ import annotations

from scrapersky.scraper.contacts.finder import find_contacts
from scrapersky.scraper.contacts.model import ContactChannel, ExtractionMethod, FoundContact

URL = "https://www.northwind.de/kontakt"


def contacts(page: str, *, url: str = URL, decode: bool = True) -> list[FoundContact]:
    return find_contacts(page, url=url, default_region="DE", decode_obfuscated=decode)


def values(
    page: str, kind: ContactChannel = ContactChannel.EMAIL, *, decode: bool = True
) -> list[str]:
    return sorted(found.value for found in contacts(page, decode=decode) if found.kind is kind)


def only(page: str) -> FoundContact:
    (found,) = contacts(page)
    return found


def methods(page: str) -> dict[str, ExtractionMethod]:
    return {found.value: found.method for found in contacts(page)}
