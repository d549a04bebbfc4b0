"""What structured data says: a value, what it is, and whose."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scrapersky.scraper.contact_finder.found import Method


class Says(StrEnum):
    EMAIL = "email"
    PHONE = "phone"
    PROFILE = "profile"
    COUNTRY = "country"


@dataclass(frozen=True)
class Statement:
    says: Says
    value: str
    method: Method
    place: int | None = None
    name: str | None = None
    role: str | None = None
    said: str = ""


PROPERTIES: dict[str, Says] = {
    "email": Says.EMAIL,
    "e-mail": Says.EMAIL,
    "mbox": Says.EMAIL,
    "telephone": Says.PHONE,
    "phone": Says.PHONE,
    "tel": Says.PHONE,
    "mobile": Says.PHONE,
    "sameas": Says.PROFILE,
    "account": Says.PROFILE,
    "addresscountry": Says.COUNTRY,
    "country-name": Says.COUNTRY,
}
"""By the property's name in lower case, of schema.org, FOAF and vCard; faxes are not phones."""


def short(text: object, limit: int = 120) -> str | None:
    """A name or role as a person would read it; None when there is none."""
    if not isinstance(text, str):
        return None
    return " ".join(text.split())[:limit] or None
