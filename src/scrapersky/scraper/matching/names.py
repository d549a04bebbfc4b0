"""What a name consists of: which of its words tell it from others, and how much."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from scrapersky.scraper.matching.folding import folded, words_of
from scrapersky.scraper.matching.vocabulary import vocabulary

_OWNER = re.compile(r"[,;(]?\s*\b(?:inh\.|inhaber(?:in)?\b|owner\b|prop\.|titulaire\b).*", re.I)
_INITIAL = re.compile(r"(?<![^\W_])([A-ZÄÖÜ])\.\s?(?=(?:[A-ZÄÖÜ]\.\s?)*[A-ZÄÖÜ][^\W\d_]{2,})")
_TAGLINE = re.compile(r"\s*[|•·].*")

MAX_CHARACTERS, MAX_WORDS = 300, 16
TRADE, PLACE, COMMON, RARE, INITIAL, BRANCH, NUMBER = 0.25, 0.2, 0.7, 1.0, 0.4, 0.6, 0.8
"""What a word weighs."""


@dataclass(frozen=True)
class Word:
    text: str
    weight: float
    trades: frozenset[str] = frozenset()
    tells_branches: bool = False


@dataclass(frozen=True)
class Name:
    words: tuple[Word, ...]
    joined: str
    """All of it without spaces."""
    has_legal_form: bool = False

    @property
    def trades(self) -> frozenset[str]:
        return frozenset(trade for each in self.words for trade in each.trades)

    @property
    def branch(self) -> frozenset[str]:
        return frozenset(each.text for each in self.words if each.tells_branches)


def name_key(name: str) -> str | None:
    """The words that count, in the order of the alphabet: `Bäckerei Müller GmbH` and `Mueller
    Baeckerei` have the same."""
    return " ".join(sorted(set(_meant(name)))) or None


@lru_cache(maxsize=16_384)
def read_name(name: str, places: frozenset[str] = frozenset()) -> Name:
    """`places` are the words of its town, which tell little in a name."""
    meant = _meant(name)
    words = tuple(_weighed(each, places) for each in meant)
    return Name(words, "".join(meant), _has_legal_form(name))


def place_words(*towns: str | None) -> frozenset[str]:
    return frozenset(word for town in towns if town for word in words_of(town))


def without_tagline(name: str) -> str:
    """`Zahnarzt Weber | Implantate in Leipzig` is called `Zahnarzt Weber`."""
    return _TAGLINE.sub("", name).strip() or name


def trades_in(categories: Iterable[str]) -> frozenset[str]:
    """Of a provider's words: `shop=bakery`, `hair_care`, `Zahnarztpraxis`."""
    known = vocabulary().trades_of
    whole = {folded(each).rpartition("=")[2].replace(" ", "_") for each in categories}
    parts = {part for each in whole for part in each.split("_")} - _MEANINGLESS
    return frozenset(trade for each in whole | parts for trade in known.get(each, ()))


_MEANINGLESS = {
    "shop",
    "store",
    "point",
    "of",
    "interest",
    "establishment",
    "food",
    "house",
    "auto",
}


def _meant(name: str) -> list[str]:
    known = vocabulary()
    words = [known.abbreviations.get(each, each) for each in _first_words(name)]
    full = _without_legal_form(words) or words
    nothing = (known.filler | known.titles) - _initials(name)
    bare = [each for each in full if each not in nothing]
    return bare or full


def _initials(name: str) -> frozenset[str]:
    """`A. Weber` and `S. Weber` are two people, whatever else `a` and `s` are in names."""
    return frozenset(map(folded, _INITIAL.findall(name[:MAX_CHARACTERS])))


def _has_legal_form(name: str) -> bool:
    words = [vocabulary().abbreviations.get(each, each) for each in _first_words(name)]
    return len(_without_legal_form(words)) < len(words)


def _first_words(name: str) -> tuple[str, ...]:
    """A name that goes on for longer is a text; its beginning tells enough."""
    return words_of(_OWNER.sub("", name[:MAX_CHARACTERS]))[:MAX_WORDS]


def _without_legal_form(words: Sequence[str]) -> list[str]:
    known = vocabulary()
    left = list(words)
    while len(left) > 1 and (left[-1] in known.legal_at_end or left[-1] in known.legal):
        left.pop()
    return [each for each in left if each not in known.legal]


def _weighed(word: str, places: frozenset[str]) -> Word:
    known = vocabulary()
    if trades := known.trades_of.get(word):
        return Word(word, TRADE, trades)
    if word in known.branches or word.isdecimal():
        return Word(word, BRANCH if word in known.branches else NUMBER, tells_branches=True)
    if word in places or word in known.places:
        return Word(word, PLACE)
    if len(word) == 1:
        return Word(word, INITIAL)
    return Word(word, COMMON if word in known.common else RARE)
