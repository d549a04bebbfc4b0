"""Which country the postal addresses in a text are in, where a page does not say so otherwise."""

import re
from collections.abc import Iterator
from itertools import islice

from scrapersky.scraper.contact_finder.phone_regions import region_named

MAX_LINES = 3_000
_MAX_NAME_CHARACTERS = 40
_MAX_CHARACTERS = 200
_SIGNS_BEFORE_POSTCODE = {
    "A": "AT", "B": "BE", "CH": "CH", "CZ": "CZ", "D": "DE", "DK": "DK", "F": "FR", "FIN": "FI",
    "FL": "LI", "I": "IT", "L": "LU", "N": "NO", "NL": "NL", "PL": "PL", "S": "SE", "SK": "SK",
}  # fmt: skip
_POSTCODE = re.compile(r"(?<=[A-Z])[-–] ?\d{4,5} (?=[A-ZÀ-Ž][a-zà-ž])")
_SIGN = re.compile(r"(?<![\w-])[A-Z]{1,3}\Z")
_AUSTRALIAN = re.compile(r"\b(?:NSW|VIC|QLD|TAS)[ ,]{1,2}\d{4}\b")


def country_of_addresses(text: str) -> str | None:
    """The one country that lines of the text end with or postcodes name; None when there are more.

    A list of countries to choose from names many, and so tells nothing.
    """
    regions = {*_named(text), *_signed(text)}
    if _AUSTRALIAN.search(text):
        regions.add("AU")
    return regions.pop() if len(regions) == 1 else None


def _signed(text: str) -> Iterator[str]:
    for match in islice(_POSTCODE.finditer(text), MAX_LINES):
        sign = _SIGN.search(text, max(0, match.start() - 4), match.start())
        if sign and sign[0] in _SIGNS_BEFORE_POSTCODE:
            yield _SIGNS_BEFORE_POSTCODE[sign[0]]


def _named(text: str) -> Iterator[str]:
    lines = text.split("\n", MAX_LINES)[:MAX_LINES]
    ends = {line.rpartition(",")[2].strip(" .;") for line in lines if len(line) <= _MAX_CHARACTERS}
    for name in ends:
        region = region_named(name) if 3 < len(name) <= _MAX_NAME_CHARACTERS else None
        if region:
            yield region
