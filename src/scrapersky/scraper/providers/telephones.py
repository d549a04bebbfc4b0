"""A provider's phone numbers, read into E.164."""

from __future__ import annotations

from collections.abc import Iterable

from scrapersky.scraper.contact_finder.phones import phone_of, regions_of


def read_phone(
    written: Iterable[str], country: str | None, oddities: list[str]
) -> tuple[str | None, str | None]:
    """(E.164, as written) of the first that is a number; else the first as it is written."""
    spellings = list(written)
    regions = regions_of(None, "", country) if country else ()
    for spelling in spellings:
        if number := phone_of(spelling, regions=regions):
            return number, spelling
    if not spellings:
        return None, None
    oddities.append(f"Its phone, {spellings[0][:40]!r}, cannot be read as a number.")
    return None, spellings[0]
