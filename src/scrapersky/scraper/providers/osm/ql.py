"""Queries in Overpass's language, in which what a person typed is never more than a text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapersky.errors import InvalidInput
from scrapersky.scraper.providers.geography import check_area
from scrapersky.scraper.providers.model import Area
from scrapersky.scraper.providers.osm.cuisines import DIETS, cuisine_of
from scrapersky.scraper.providers.osm.kinds import CATEGORY_KEYS, Tag, tags_for
from scrapersky.scraper.providers.values import text_of

MOST_SECONDS = 60
LONGEST_WORDS = 100
_SPECIAL = re.compile(r"[.\\^$|?*+()\[\]{}]")
_ANY_CATEGORY = f'[~"^({"|".join(CATEGORY_KEYS)})$"~"."]'


def query_text(business_type: str, area: Area, *, seconds: int = MOST_SECONDS) -> str:
    boxes = [_box(each) for each in _within_the_map(check_area(area))]
    asked = [f"nwr{filters}{box};" for filters in filters_for(business_type) for box in boxes]
    return f"[out:json][timeout:{seconds}];({''.join(asked)});out tags center;"


def filters_for(business_type: str) -> list[str]:
    """Any of these: the tags that OpenStreetMap has for the kind, or else its words in a name."""
    words = text_of(business_type, at_most=LONGEST_WORDS)
    if words is None:
        raise InvalidInput("Say what kind of business is looked for.")
    if tags := tags_for(words):
        return [_tag(each) for each in tags]
    for kind, rest in _kind_and_rest(words.split()):
        if tags := tags_for(kind):
            return [_tag(tag) + narrowed for tag in tags for narrowed in _narrowed(rest)]
    value = f'[~"^({"|".join(CATEGORY_KEYS)})$"~{quoted("^" + _as_value(words) + "$")},i]'
    return [value, f'["name"~{quoted(pattern(words))},i]{_ANY_CATEGORY}']


def _kind_and_rest(words: list[str]) -> Iterator[tuple[str, str]]:
    """`vegan restaurants`, `restaurants italiens`."""
    if len(words) > 1:
        yield words[-1], " ".join(words[:-1])
        yield words[0], " ".join(words[1:])


def _narrowed(words: str) -> Iterator[str]:
    """`vegan` restaurants: by what they cook, or what they are called."""
    cuisine = cuisine_of(words)
    yield f'["cuisine"~{quoted(pattern(cuisine or words))},i]'
    if cuisine in DIETS:
        yield f'["diet:{cuisine}"~"yes|only"]'
    yield f'["name"~{quoted(pattern(words))},i]'


def _tag(tag: Tag) -> str:
    return f"[{quoted(tag.key)}={quoted(tag.value)}]"


def quoted(text: str) -> str:
    """As one text of the language: nothing in it ends it."""
    plain = text_of(text, at_most=4 * LONGEST_WORDS) or ""
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def pattern(text: str) -> str:
    """A regular expression that finds just this."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _as_value(words: str) -> str:
    return pattern(words).replace(" ", "_")


def _within_the_map(area: Area) -> list[Area]:
    """Two areas where one crosses the date line."""
    if area.west <= area.east:
        return [area]
    return [
        Area(area.south, area.west, area.north, 180.0),
        Area(area.south, -180.0, area.north, area.east),
    ]


def _box(area: Area) -> str:
    """South, west, north, east."""
    return f"({area.south:.7f},{area.west:.7f},{area.north:.7f},{area.east:.7f})"
