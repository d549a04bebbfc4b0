"""Find variables that somebody meant for us and that we would pass over in silence.

Others' variables stand in the same environment, so the rule has two halves. A name that begins as
only ours do is refused unless it is a setting. Any other name is refused only when it is so much
like one of ours that it can hardly be anything else. In `.env`, a file written for this program,
the first half goes for every word that settings of ours begin with.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields

from scrapersky.settings import Pace

OURS_ALONE = frozenset({"SCRAPERSKY", "SITEMAP", "FETCH", "ALERT", "RETENTION"})
"""First words that no other program's variables are known to begin with."""
RENAMED = {"SITEMAP_JOB_TIMEOUT_SECONDS": "SITEMAP_SCHEDULER_TIMEOUT_SECONDS"}
"""What settings of earlier systems are called here."""
SLIPS = 2
"""Letters wrong, missing, too many or swapped that still count as a slip of the pen."""
LONG_ENOUGH = 9
"""Shorter names are like each other by chance, so a single slip is all they are allowed."""
OTHER_WORD = SLIPS + 1
"""A name with one word other than it should be is farther off than any slip."""
FEWEST_WORDS = 3
"""From here on a name that differs in one word is no other name but a wrong one."""

KUBERNETES = re.compile(r"_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)\Z")
"""What Kubernetes tells every container about each service, under the service's own name."""
PACE_WORDS = tuple(f"_SCHEDULER_{each.name.upper()}" for each in fields(Pace))


@dataclass(frozen=True)
class Names:
    """Every setting's variable, and the prefixes of the stages'."""

    known: frozenset[str]
    stage_prefixes: tuple[str, ...]
    foreign: frozenset[str] = frozenset()
    """Names that were declared to be none of ours."""

    def complaint_about(self, variable: str, *, in_our_file: bool = False) -> str | None:
        """What is wrong with a variable, in a sentence; None for ours and for other people's."""
        if variable in self.known or variable in self.foreign or not _could_be_ours(variable):
            return None
        meant = RENAMED.get(variable) or self.nearest(variable)
        if meant is None and not self._begins_as_ours(variable, in_our_file=in_our_file):
            return None
        advice = (
            f"did you mean {meant}" if meant else "see `scrapersky settings` for those there are"
        )
        return (
            f"{variable} is no setting; {advice}, or does it belong to another program and should "
            "be named in SCRAPERSKY_FOREIGN_VARIABLES?"
        )

    def _begins_as_ours(self, variable: str, *, in_our_file: bool) -> bool:
        if KUBERNETES.search(variable):
            return False
        if variable.endswith(PACE_WORDS):
            return True
        if any(variable.startswith(f"{prefix}_") for prefix in self.stage_prefixes):
            return True
        first_words = {each.partition("_")[0] for each in self.known}
        families = first_words if in_our_file else first_words & OURS_ALONE
        return variable.partition("_")[0] in families

    def nearest(self, variable: str) -> str | None:
        """The setting that was most likely meant, if any was."""
        alike = {
            each: distance
            for each in self.known
            if (distance := _likeness(variable, each)) is not None
        }
        return min(alike, key=lambda each: (alike[each], each)) if alike else None


def first_complaint(names: Names, environ: Iterable[str], in_file: Collection[str]) -> str | None:
    """About the environment first: it wins over the file."""
    for variable in sorted(environ):
        if complaint := names.complaint_about(variable):
            return complaint
    for variable in sorted(in_file):
        if complaint := names.complaint_about(variable, in_our_file=True):
            return complaint
    return None


def _could_be_ours(variable: str) -> bool:
    """Ours have capitals and at least two words; `HOST`, `HOSTNAME`, `http_proxy` have not."""
    return re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", variable) is not None


def _likeness(given: str, known: str) -> int | None:
    """How far a name is from a setting's; None when they are not alike."""
    allowed = SLIPS if len(known) > LONG_ENOUGH else 1
    slips = slips_between(given, known, most=allowed)
    if slips <= allowed:
        return slips
    return OTHER_WORD if _differs_in_a_word(given.split("_"), known.split("_")) else None


def _differs_in_a_word(given: list[str], known: list[str]) -> bool:
    """One word left out, put in or another, but never the first; longer names only. A stage's
    name in one word more or less is another stage."""
    if "SCHEDULER" in given:
        return False
    if len(known) < FEWEST_WORDS or len(given) < FEWEST_WORDS - 1 or given[0] != known[0]:
        return False
    if abs(len(given) - len(known)) > 1:
        return False
    start = _shared(given, known)
    end = _shared(given[::-1], known[::-1])
    return start + end >= max(len(given), len(known)) - 1


def _shared(one: list[str], other: list[str]) -> int:
    """How many words both begin with."""
    count = 0
    for ours, theirs in zip(one, other, strict=False):
        if ours != theirs:
            break
        count += 1
    return count


def slips_between(one: str, other: str, *, most: int) -> int:
    """Letters to add, drop, change or swap with their neighbour to make one the other.

    More than `most` are not counted to the end: nearly all names are nothing like ours.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, row = row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most and min(above) > most:
            return most + 1
        before = above
    return row[-1]
