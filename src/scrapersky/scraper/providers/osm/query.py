"""Translate a business type to OpenStreetMap tags and an Overpass QL query.

User input only ever becomes a quoted string of the language.

"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from scrapersky.errors import InvalidInput
from scrapersky.scraper.providers.geography import check_area
from scrapersky.scraper.providers.model import Area
from scrapersky.scraper.providers.values import parse_text

CATEGORY_KEYS = ("shop", "amenity", "office", "craft", "tourism", "leisure", "healthcare", "club")
_ENDINGS = (
    ("ies", "y"),
    ("es", ""),
    ("s", ""),
    ("en", ""),
    ("er", ""),
    ("nen", ""),
    ("n", ""),
    ("e", ""),
)
"""Plural endings with their singular replacement."""
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"})


class OsmTag(NamedTuple):
    key: str
    value: str


def find_tags(business_type: str) -> tuple[OsmTag, ...]:
    """Return the tags for a business type, or an empty result if it is unknown."""
    for spelling in _iter_spellings(normalise_words(business_type)):
        if found := _load_tags().get(spelling):
            return found
    return ()


def list_words() -> frozenset[str]:
    return frozenset(_load_tags())


def normalise_words(words: str) -> str:
    """Normalise words for comparison: no case, accents or hyphens."""
    folded = unicodedata.normalize("NFKD", words.casefold().replace("-", " ").replace("_", " "))
    return " ".join("".join(c for c in folded if not unicodedata.combining(c)).split())


def _iter_spellings(words: str) -> Iterator[str]:
    yield words
    yield words.replace(" ", "")
    # `agences immobilières`, `experts-comptables`
    yield " ".join(each.removesuffix("s") for each in words.split())
    for ending, singular in _ENDINGS:
        if words.endswith(ending) and len(words) - len(ending) >= 3:
            yield words.removesuffix(ending) + singular


@cache
def _load_tags() -> dict[str, tuple[OsmTag, ...]]:
    """Load lines such as `shop=bakery craft=bakery: bakery, Bäckerei`. The first use of a word
    wins.
    """
    table: dict[str, tuple[OsmTag, ...]] = {}
    text = (files(__package__) / "kinds.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        tags, colon, words = line.partition(": ")
        if line.startswith("#") or not colon:
            continue
        meant = tuple(OsmTag(*each.split("=", 1)) for each in tags.split())
        for word in words.split(","):
            for spelling in (
                normalise_words(word),
                normalise_words(word.casefold().translate(_UMLAUTS)),
            ):
                table.setdefault(spelling, meant)
    return table


DIETS = frozenset({"vegan", "vegetarian"})
_CUISINE_PREFIXES = {
    "african": "afrikanisch africain african",
    "american": "amerikanisch americain american",
    "arab": "arabisch arabe",
    "asian": "asiatisch asiatique asiatico",
    "chinese": "chinesisch chinois chino cinese",
    "french": "franzosisch francais frances",
    "german": "deutsch allemand aleman tedesc",
    "greek": "griechisch grec grieg",
    "indian": "indisch indien indian",
    "italian": "italienisch italien italian",
    "japanese": "japanisch japonais japones giappones",
    "korean": "koreanisch coreen corean",
    "lebanese": "libanesisch libanais libanes",
    "mexican": "mexikanisch mexicain mexican messican",
    "spanish": "spanisch espagnol espanol spagnol",
    "thai": "thailandisch thailandais tailandes",
    "turkish": "turkisch turc turco turca",
    "vegan": "vegan",
    "vegetarian": "vegetarisch vegetarien vegetarian",
    "vietnamese": "vietnamesisch vietnamien vietnamita",
}
"""OpenStreetMap's cuisine, and prefixes of its names in other languages (endings vary by gender).
"""


def find_cuisine(words: str) -> str | None:
    """Return the cuisine, or None if it is unknown."""
    looked_for = normalise_words(words)
    for cuisine, beginnings in _CUISINE_PREFIXES.items():
        if looked_for == cuisine or looked_for.startswith(tuple(beginnings.split())):
            return cuisine
    return None


MAX_QUERY_SECONDS = 60
MAX_WORDS_CHARACTERS = 100
_SPECIAL_CHARACTERS = re.compile(r"[.\\^$|?*+()\[\]{}]")
_ANY_CATEGORY = f'[~"^({"|".join(CATEGORY_KEYS)})$"~"."]'


def build_query(business_type: str, area: Area, *, seconds: int = MAX_QUERY_SECONDS) -> str:
    boxes = [_format_box(each) for each in _split_at_date_line(check_area(area))]
    asked = [f"nwr{filters}{box};" for filters in build_filters(business_type) for box in boxes]
    return f"[out:json][timeout:{seconds}];({''.join(asked)});out tags center;"


def build_filters(business_type: str) -> list[str]:
    """Return alternative filters: the tags of the business type, or else its words in a name."""
    words = parse_text(business_type, at_most=MAX_WORDS_CHARACTERS)
    if words is None:
        raise InvalidInput("Enter a type of business to search for.")
    if tags := find_tags(words):
        return [_format_tag(each) for each in tags]
    for kind, rest in _split_kind(words.split()):
        if tags := find_tags(kind):
            return [
                _format_tag(tag) + narrowed for tag in tags for narrowed in _iter_refinements(rest)
            ]
    value = f'[~"^({"|".join(CATEGORY_KEYS)})$"~{quote_text("^" + _format_value(words) + "$")},i]'
    return [value, f'["name"~{quote_text(escape_pattern(words))},i]{_ANY_CATEGORY}']


def _split_kind(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the possible splits into type and rest: `vegan restaurants`, `restaurants italiens`."""
    if len(words) > 1:
        yield words[-1], " ".join(words[:-1])
        yield words[0], " ".join(words[1:])


def _iter_refinements(words: str) -> Iterator[str]:
    """Yield filters for the rest of a type (`vegan`): by cuisine, diet or name."""
    cuisine = find_cuisine(words)
    yield f'["cuisine"~{quote_text(escape_pattern(cuisine or words))},i]'
    if cuisine in DIETS:
        yield f'["diet:{cuisine}"~"yes|only"]'
    yield f'["name"~{quote_text(escape_pattern(words))},i]'


def _format_tag(tag: OsmTag) -> str:
    return f"[{quote_text(tag.key)}={quote_text(tag.value)}]"


def quote_text(text: str) -> str:
    """Quote text as a string literal that user input cannot terminate."""
    plain = parse_text(text, at_most=4 * MAX_WORDS_CHARACTERS) or ""
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def escape_pattern(text: str) -> str:
    """Escape text as a regular expression that matches it literally."""
    return _SPECIAL_CHARACTERS.sub(r"\\\g<0>", text)


def _format_value(words: str) -> str:
    return escape_pattern(words).replace(" ", "_")


def _split_at_date_line(area: Area) -> list[Area]:
    """Split an area that crosses the date line into two."""
    if area.west <= area.east:
        return [area]
    return [
        Area(area.south, area.west, area.north, 180.0),
        Area(area.south, -180.0, area.north, area.east),
    ]


def _format_box(area: Area) -> str:
    """Format in the order south, west, north, east."""
    return f"({area.south:.7f},{area.west:.7f},{area.north:.7f},{area.east:.7f})"
