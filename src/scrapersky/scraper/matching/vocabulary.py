"""What is known of the words of names, in many languages; read once from `words.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from scrapersky.scraper.matching.folding import folded


@dataclass(frozen=True)
class Trade:
    goes_with: frozenset[str]
    of_persons: bool
    """Those who practise it behind one door are listed one by one: doctors, lawyers."""


@dataclass(frozen=True)
class Vocabulary:
    legal: frozenset[str]
    legal_at_end: frozenset[str]
    filler: frozenset[str]
    titles: frozenset[str]
    places: frozenset[str]
    branches: frozenset[str]
    common: frozenset[str]
    abbreviations: Mapping[str, str]
    trades: Mapping[str, Trade]
    trades_of: Mapping[str, frozenset[str]]
    """The trades that a word stands for."""


@cache
def vocabulary() -> Vocabulary:
    source = files("scrapersky.scraper.matching").joinpath("words.toml")
    data: dict[str, Any] = tomllib.loads(source.read_text("utf-8"))
    lists = {name: frozenset(map(folded, data[name].split())) for name in _LISTS}
    trades = {name: _trade(each) for name, each in data["trades"].items()}
    return Vocabulary(
        **lists,
        abbreviations={folded(k): folded(v) for k, v in data["abbreviations"].items()},
        trades=trades,
        trades_of=_trades_of(data["trades"]),
    )


_LISTS = ("legal", "legal_at_end", "filler", "titles", "places", "branches", "common")


def _trade(said: Mapping[str, Any]) -> Trade:
    return Trade(frozenset(said.get("with", ())), bool(said.get("persons")))


def _trades_of(trades: Mapping[str, Any]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for name, said in trades.items():
        for word in (name, *said["words"].split()):
            found.setdefault(folded(word), set()).add(name)
    return {word: frozenset(names) for word, names in found.items()}


def are_related(left: Iterable[str], right: Iterable[str]) -> bool:
    """Whether one business may be of both: a bakery with a café, but not a hotel and a bank."""
    trades = vocabulary().trades
    mine, theirs = frozenset(left), frozenset(right)
    if mine & theirs:
        return True
    near = frozenset(other for each in mine for other in trades[each].goes_with)
    back = frozenset(other for each in theirs for other in trades[each].goes_with)
    return bool(near & theirs or back & mine)
