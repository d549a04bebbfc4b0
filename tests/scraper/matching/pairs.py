"""Pairs of descriptions of businesses that do not exist, each labelled as one business or two."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapersky.scraper.matching.comparison import compare
from scrapersky.scraper.matching.model import BusinessDescription, MatchResult, MatchVerdict

FILE = Path(__file__).with_name("labelled_pairs.jsonl")


@dataclass(frozen=True)
class Pair:
    id: int
    kind: str
    is_same: bool
    held_out: bool
    """Not looked at while weights were chosen."""
    left: BusinessDescription
    right: BusinessDescription


@dataclass(frozen=True)
class Figures:
    pairs: int
    precision: float
    recall: float
    doubtful: float
    """The share that a person is asked about."""


def labelled_pairs() -> Iterator[Pair]:
    for line in FILE.read_text("utf-8").splitlines():
        said = json.loads(line)
        yield Pair(
            id=said["id"],
            kind=said["kind"],
            is_same=said["label"] == "same",
            held_out=said["held_out"],
            left=_described(said["left"]),
            right=_described(said["right"]),
        )


def _described(said: dict[str, Any]) -> BusinessDescription:
    return BusinessDescription(**{**said, "categories": tuple(said.get("categories", ()))})


def judged(pairs: Iterable[Pair]) -> list[tuple[Pair, MatchResult]]:
    return [(each, compare(each.left, each.right)) for each in pairs]


def figures(results: Iterable[tuple[Pair, MatchResult]]) -> Figures:
    found = list(results)
    taken = [pair.is_same for pair, judgement in found if judgement.verdict is MatchVerdict.SAME]
    same = sum(pair.is_same for pair, _ in found)
    doubtful = sum(judgement.verdict is MatchVerdict.DOUBTFUL for _, judgement in found)
    right = sum(taken)
    return Figures(len(found), right / len(taken), right / same, doubtful / len(found))
