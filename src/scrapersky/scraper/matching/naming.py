"""What two names say about it, in points, and what in them cannot be overruled."""

from __future__ import annotations

from dataclasses import dataclass

from scrapersky.scraper.matching.folding import words_of
from scrapersky.scraper.matching.model import Described
from scrapersky.scraper.matching.names import Name, place_words, read_name, trades_in
from scrapersky.scraper.matching.similarity import Likeness, likeness
from scrapersky.scraper.matching.vocabulary import are_related, vocabulary

_BY_SCORE = ((0.95, 4.0), (0.85, 3.2), (0.75, 2.2), (0.6, 1.2), (0.45, -0.5), (0.3, -2.0))
NOTHING_ALIKE = -4.0
OTHER_TRADE, OTHER_BRANCH = -2.5, -2.0
FITS = 0.6
OTHER_PERSON = 0.3
_TITLES = frozenset({"dr", "prof", "dott", "dottssa", "mudr", "drs"})


@dataclass(frozen=True)
class Naming:
    points: float = 0.0
    fits: bool = False
    is_unknown: bool = False
    """One has no name, or they cannot be compared."""
    conflicts: tuple[str, ...] = ()
    are_two_people: bool = False
    """Both are people with a title, and their names have little in common."""
    reason: str | None = None

    @property
    def conflict(self) -> bool:
        return bool(self.conflicts)


def naming(left: Described, right: Described) -> Naming:
    places = place_words(left.city, right.city)
    mine = read_name(left.name or "", places)
    theirs = read_name(right.name or "", places)
    conflicts = _conflicts(left, right, mine, theirs)
    against = OTHER_TRADE * len(conflicts)
    if not left.name or not right.name:
        return Naming(against, is_unknown=True, conflicts=conflicts)
    alike = likeness(left.name, right.name, places)
    if not alike.comparable:
        said = "Their names are in different scripts."
        return Naming(against, is_unknown=True, conflicts=conflicts, reason=said)
    return _named(left, right, alike, conflicts, against)


def _named(
    left: Described, right: Described, alike: Likeness, conflicts: tuple[str, ...], against: float
) -> Naming:
    points = next((points for least, points in _BY_SCORE if alike.score >= least), NOTHING_ALIKE)
    if points > 0:
        points *= min(1.0, 0.25 + 0.6 * alike.weight)
    fits = alike.score >= FITS and not _may_be_another_person(left, right, alike)
    return Naming(
        points + against,
        fits,
        conflicts=conflicts,
        are_two_people=_are_two_people(left, right, alike),
        reason=_said(left, right, alike),
    )


def _are_two_people(left: Described, right: Described, alike: Likeness) -> bool:
    """`Dr. Anna Weber` and `Dr. Peter Krause` share door, number and site."""
    titled = all(_TITLES & set(words_of(each.name or "")) for each in (left, right))
    return titled and alike.both_have_own and alike.score < OTHER_PERSON


def _may_be_another_person(left: Described, right: Described, alike: Likeness) -> bool:
    """`Dr. Weber` and `Dr. Anna Weber`: there may be another Weber in the practice."""
    trades = _trades(left) | _trades(right)
    of_persons = any(vocabulary().trades[each].of_persons for each in trades)
    return of_persons and alike.extra >= 0.4 and alike.weight < 1.25


def _said(left: Described, right: Described, alike: Likeness) -> str:
    if alike.score >= 0.95:
        return f"The names are the same: {left.name}."
    if alike.score >= FITS:
        return f"The names are alike: {left.name}, {right.name}."
    return f"The names differ: {left.name}, {right.name}."


def _conflicts(left: Described, right: Described, mine: Name, theirs: Name) -> tuple[str, ...]:
    said = []
    ours, others = _trades(left), _trades(right)
    if ours and others and not are_related(ours, others):
        said.append("They are in different trades.")
    if mine.branch != theirs.branch and mine.branch and theirs.branch:
        said.append("Their names tell two branches apart.")
    return tuple(said)


def _trades(described: Described) -> frozenset[str]:
    """As its name says, or else the provider."""
    return read_name(described.name or "").trades or trades_in(described.categories)
