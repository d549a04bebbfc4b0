"""What OpenStreetMap calls the kinds of businesses that people look for, in several languages."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

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
"""Of plurals, and what stands there in the singular."""
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"})


class Tag(NamedTuple):
    key: str
    value: str


def tags_for(business_type: str) -> tuple[Tag, ...]:
    """Nothing when no word for it is known."""
    for spelling in _spellings(plain(business_type)):
        if found := _table().get(spelling):
            return found
    return ()


def known_words() -> frozenset[str]:
    return frozenset(_table())


def plain(words: str) -> str:
    """As words are compared: without case, accents, hyphens."""
    folded = unicodedata.normalize("NFKD", words.casefold().replace("-", " ").replace("_", " "))
    return " ".join("".join(c for c in folded if not unicodedata.combining(c)).split())


def _spellings(words: str) -> Iterator[str]:
    yield words
    yield words.replace(" ", "")
    # `agences immobilières`, `experts-comptables`
    yield " ".join(each.removesuffix("s") for each in words.split())
    for ending, singular in _ENDINGS:
        if words.endswith(ending) and len(words) - len(ending) >= 3:
            yield words.removesuffix(ending) + singular


@cache
def _table() -> dict[str, tuple[Tag, ...]]:
    """From lines `shop=bakery craft=bakery: bakery, Bäckerei`; a word means the first it is in."""
    table: dict[str, tuple[Tag, ...]] = {}
    text = (files(__package__) / "kinds.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        tags, colon, words = line.partition(": ")
        if line.startswith("#") or not colon:
            continue
        meant = tuple(Tag(*each.split("=", 1)) for each in tags.split())
        for word in words.split(","):
            for spelling in (plain(word), plain(word.casefold().translate(_UMLAUTS))):
                table.setdefault(spelling, meant)
    return table
