"""Parse business names into weighted words, using the vocabulary of `words.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from scrapersky.scraper.matching.text import fold_text, split_words


@dataclass(frozen=True)
class BusinessTrade:
    goes_with: frozenset[str]
    of_persons: bool
    """Practitioners at one address are listed individually: doctors, lawyers."""


@dataclass(frozen=True)
class NameVocabulary:
    legal: frozenset[str]
    legal_at_end: frozenset[str]
    filler: frozenset[str]
    titles: frozenset[str]
    places: frozenset[str]
    branches: frozenset[str]
    common: frozenset[str]
    abbreviations: Mapping[str, str]
    trades: Mapping[str, BusinessTrade]
    trades_of: Mapping[str, frozenset[str]]
    """Trades by word."""


@cache
def load_vocabulary() -> NameVocabulary:
    source = files(__package__).joinpath("words.toml")
    data: dict[str, Any] = tomllib.loads(source.read_text("utf-8"))
    lists = {name: frozenset(map(fold_text, data[name].split())) for name in _WORD_LISTS}
    trades = {
        name: BusinessTrade(frozenset(each.get("with", ())), bool(each.get("persons")))
        for name, each in data["trades"].items()
    }
    return NameVocabulary(
        **lists,
        abbreviations={fold_text(k): fold_text(v) for k, v in data["abbreviations"].items()},
        trades=trades,
        trades_of=_map_trades(data["trades"]),
    )


_WORD_LISTS = ("legal", "legal_at_end", "filler", "titles", "places", "branches", "common")


def _map_trades(trades: Mapping[str, Any]) -> Mapping[str, frozenset[str]]:
    words: dict[str, set[str]] = {}
    for name, fields in trades.items():
        for word in (name, *fields["words"].split()):
            words.setdefault(fold_text(word), set()).add(name)
    return {word: frozenset(names) for word, names in words.items()}


def are_related(left: Iterable[str], right: Iterable[str]) -> bool:
    """Return whether one business can have both trades: bakery and café, not hotel and bank."""
    trades = load_vocabulary().trades
    mine, theirs = frozenset(left), frozenset(right)
    if mine & theirs:
        return True
    near = frozenset(other for each in mine for other in trades[each].goes_with)
    back = frozenset(other for each in theirs for other in trades[each].goes_with)
    return bool(near & theirs or back & mine)


_OWNER = re.compile(r"[,;(]?\s*\b(?:inh\.|inhaber(?:in)?\b|owner\b|prop\.|titulaire\b).*", re.I)
_INITIAL = re.compile(r"(?<![^\W_])([A-ZÄÖÜ])\.\s?(?=(?:[A-ZÄÖÜ]\.\s?)*[A-ZÄÖÜ][^\W\d_]{2,})")
_TAGLINE = re.compile(r"\s*[|•·].*")

MAX_NAME_CHARACTERS, MAX_NAME_WORDS = 300, 16
(
    TRADE_WEIGHT,
    PLACE_WEIGHT,
    COMMON_WEIGHT,
    RARE_WEIGHT,
    INITIAL_WEIGHT,
    BRANCH_WEIGHT,
    NUMBER_WEIGHT,
) = 0.25, 0.2, 0.7, 1.0, 0.4, 0.6, 0.8
"""Weights of words by type."""


@dataclass(frozen=True)
class NameWord:
    text: str
    weight: float
    trades: frozenset[str] = frozenset()
    tells_branches: bool = False


@dataclass(frozen=True)
class ParsedName:
    words: tuple[NameWord, ...]
    joined: str
    """The significant words without spaces."""
    has_legal_form: bool = False

    @property
    def trades(self) -> frozenset[str]:
        return frozenset(trade for each in self.words for trade in each.trades)

    @property
    def branch(self) -> frozenset[str]:
        return frozenset(each.text for each in self.words if each.tells_branches)


def build_name_key(name: str) -> str | None:
    """Return the significant words in alphabetical order.

    `Bäckerei Müller GmbH` and `Mueller Baeckerei` have the same key.
    """
    return " ".join(sorted(set(_list_significant_words(name)))) or None


@lru_cache(maxsize=16_384)
def parse_name(name: str, places: frozenset[str] = frozenset()) -> ParsedName:
    """Parse a name; words in `places`, such as its town, get a low weight."""
    meant = _list_significant_words(name)
    words = tuple(_weigh_word(each, places) for each in meant)
    return ParsedName(words, "".join(meant), _has_legal_form(name))


def list_place_words(*towns: str | None) -> frozenset[str]:
    return frozenset(word for town in towns if town for word in split_words(town))


def strip_tagline(name: str) -> str:
    """Shorten `Zahnarzt Weber | Implantate in Leipzig` to `Zahnarzt Weber`."""
    return _TAGLINE.sub("", name).strip() or name


def find_trades(categories: Iterable[str]) -> frozenset[str]:
    """Return the trades of provider categories: `shop=bakery`, `hair_care`, `Zahnarztpraxis`."""
    known = load_vocabulary().trades_of
    whole = {fold_text(each).rpartition("=")[2].replace(" ", "_") for each in categories}
    parts = {part for each in whole for part in each.split("_")} - _GENERIC_CATEGORY_WORDS
    return frozenset(trade for each in whole | parts for trade in known.get(each, ()))


_GENERIC_CATEGORY_WORDS = {
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


def _list_significant_words(name: str) -> list[str]:
    known = load_vocabulary()
    words = [known.abbreviations.get(each, each) for each in _list_first_words(name)]
    full = _strip_legal_form(words) or words
    nothing = (known.filler | known.titles) - _find_initials(name)
    bare = [each for each in full if each not in nothing]
    return bare or full


def _find_initials(name: str) -> frozenset[str]:
    """Return the initials of people, which are not fillers: `A. Weber` and `S. Weber` differ."""
    return frozenset(map(fold_text, _INITIAL.findall(name[:MAX_NAME_CHARACTERS])))


def _has_legal_form(name: str) -> bool:
    words = [load_vocabulary().abbreviations.get(each, each) for each in _list_first_words(name)]
    return len(_strip_legal_form(words)) < len(words)


def _list_first_words(name: str) -> tuple[str, ...]:
    """Return the first words; a longer name is a description, and its start is enough."""
    return split_words(_OWNER.sub("", name[:MAX_NAME_CHARACTERS]))[:MAX_NAME_WORDS]


def _strip_legal_form(words: Sequence[str]) -> list[str]:
    known = load_vocabulary()
    left = list(words)
    while len(left) > 1 and (left[-1] in known.legal_at_end or left[-1] in known.legal):
        left.pop()
    return [each for each in left if each not in known.legal]


def _weigh_word(word: str, places: frozenset[str]) -> NameWord:
    known = load_vocabulary()
    if trades := known.trades_of.get(word):
        return NameWord(word, TRADE_WEIGHT, trades)
    if word in known.branches or word.isdecimal():
        return NameWord(
            word, BRANCH_WEIGHT if word in known.branches else NUMBER_WEIGHT, tells_branches=True
        )
    if word in places or word in known.places:
        return NameWord(word, PLACE_WEIGHT)
    if len(word) == 1:
        return NameWord(word, INITIAL_WEIGHT)
    return NameWord(word, COMMON_WEIGHT if word in known.common else RARE_WEIGHT)
