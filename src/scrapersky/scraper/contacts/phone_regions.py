"""Guess the countries in which a page's national phone numbers are valid."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from importlib.resources import files
from itertools import islice
from urllib.parse import urlsplit

from phonenumbers import SUPPORTED_REGIONS

_TABLES = tomllib.loads(files(__package__).joinpath("countries.toml").read_text("utf-8"))
_NATIONAL_SECOND_LEVELS = (["com"], ["org"], ["net"], ["edu"], ["gov"])
"""Second-level domains under a worldwide TLD that residents register: `com.co`."""


def _fold_name(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.strip().lower())
    return "".join(c for c in letters if not unicodedata.combining(c))


_LANGUAGE_TABLES = ("region_by_language", "second_region_by_language")
_WORLDWIDE_TLDS = frozenset(_TABLES["tlds"]["worldwide"].split())
_REGION_BY_TLD = {
    tld: region for region, tlds in _TABLES["tlds"]["places"].items() for tld in tlds.split()
}
_REGION_BY_NAME = {
    spelling: region
    for region, names in _TABLES["names"].items()
    for name in names.split("|")
    for spelling in (name, _fold_name(name))
}


def guess_regions(
    language: str | None,
    url: str,
    address_country: str | None = None,
    default_region: str | None = None,
    *,
    named_region: str | None = None,
) -> tuple[str, ...]:
    """Return the regions in which to parse national numbers, most likely first.

    The order is: an address's country, the TLD, the territory in the language tag, the country
    named in the text, the language, the default. English is spoken everywhere, so for English pages
    the default comes before the country named in the text.
    """
    spoken = re.split(r"[-_]", (language or "").strip().lower()[:40], maxsplit=1)[0]
    guess = [
        _get_country_region(address_country),
        _get_tld_region(url),
        _get_language_territory(language),
    ]
    default = [_to_supported_region(default_region)]
    rest = [named_region, *(_TABLES[name].get(spoken) for name in _LANGUAGE_TABLES)]
    rest = [*default, *rest] if spoken == "en" else [*rest, *default]
    return tuple(dict.fromkeys(region for region in (*guess, *rest) if region))


def _to_supported_region(region: str | None) -> str | None:
    code = (region or "").strip().upper()
    code = "GB" if code == "UK" else code
    return code if code in SUPPORTED_REGIONS else None


def has_country_hint(language: str | None, url: str) -> bool:
    """Return whether the page's URL or language tag names a country."""
    return (_get_tld_region(url) or _get_language_territory(language)) is not None


def _get_country_region(country: str | None) -> str | None:
    if not country or len(country) > 80:
        return None
    return _to_supported_region(country) or _REGION_BY_NAME.get(_fold_name(country))


def _get_language_territory(language: str | None) -> str | None:
    subtags = re.split(r"[-_]", (language or "").strip()[:40])[1:]
    return next(
        (region for tag in subtags if len(tag) == 2 and (region := _to_supported_region(tag))), None
    )


def _get_tld_region(url: str) -> str | None:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return None
    labels = host.rstrip(".").split(".")
    tld = labels[-1]
    is_sold_worldwide = tld in _WORLDWIDE_TLDS and labels[-2:-1] not in _NATIONAL_SECOND_LEVELS
    country = None if is_sold_worldwide else _to_supported_region(tld)
    return _REGION_BY_TLD.get(tld, country)


MAX_ADDRESS_LINES = 3_000
_MAX_NAME_CHARACTERS = 40
_MAX_LINE_CHARACTERS = 200
_REGION_BY_POSTCODE_PREFIX = {
    "A": "AT", "B": "BE", "CH": "CH", "CZ": "CZ", "D": "DE", "DK": "DK", "F": "FR", "FIN": "FI",
    "FL": "LI", "I": "IT", "L": "LU", "N": "NO", "NL": "NL", "PL": "PL", "S": "SE", "SK": "SK",
}  # fmt: skip
_POSTCODE = re.compile(r"(?<=[A-Z])[-–] ?\d{4,5} (?=[A-ZÀ-Ž][a-zà-ž])")
_POSTCODE_PREFIX = re.compile(r"(?<![\w-])[A-Z]{1,3}\Z")
_AUSTRALIAN_ADDRESS = re.compile(r"\b(?:NSW|VIC|QLD|TAS)[ ,]{1,2}\d{4}\b")


def find_address_country(text: str) -> str | None:
    """Return the country that line endings or postcodes in the text name; None unless it is unique.

    A country selector names many countries and therefore reveals nothing.
    """
    regions = {*_find_country_names(text), *_find_postcode_countries(text)}
    if _AUSTRALIAN_ADDRESS.search(text):
        regions.add("AU")
    return regions.pop() if len(regions) == 1 else None


def _find_postcode_countries(text: str) -> Iterator[str]:
    for match in islice(_POSTCODE.finditer(text), MAX_ADDRESS_LINES):
        sign = _POSTCODE_PREFIX.search(text, max(0, match.start() - 4), match.start())
        if sign and sign[0] in _REGION_BY_POSTCODE_PREFIX:
            yield _REGION_BY_POSTCODE_PREFIX[sign[0]]


def _find_country_names(text: str) -> Iterator[str]:
    lines = text.split("\n", MAX_ADDRESS_LINES)[:MAX_ADDRESS_LINES]
    ends = {
        line.rpartition(",")[2].strip(" .;") for line in lines if len(line) <= _MAX_LINE_CHARACTERS
    }
    for name in ends:
        # A lookup, because a text has many lines.
        if 3 < len(name) <= _MAX_NAME_CHARACTERS and name.lower() in _REGION_BY_NAME:
            yield _REGION_BY_NAME[name.lower()]
