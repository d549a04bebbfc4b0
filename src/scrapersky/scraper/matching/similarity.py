"""How alike two names are, word by word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scrapersky.scraper.matching.folding import edits, is_latin
from scrapersky.scraper.matching.names import (
    MAX_CHARACTERS,
    RARE,
    Name,
    Word,
    read_name,
    without_tagline,
)

ONE_SIDED = 0.35
"""What a word counts that only one of them has while the other has none of its own."""
KIN = 0.25
OWNER = 0.25
"""How much less it counts when the words of one only are who runs the shop of a chain."""
ENOUGH = 0.7
"""Words alike to this degree are one word."""


@dataclass(frozen=True)
class Likeness:
    score: float
    """From 0 to 1."""
    weight: float
    """Of the words they share: a surname with a trade is not much."""
    comparable: bool = True
    """Not when they are written in different scripts."""
    both_have_own: bool = False
    """Each has a telling word that the other has not."""
    extra: float = 0.0
    """The weight of what only one has."""


def likeness(left: str, right: str, places: frozenset[str]) -> Likeness:
    if left == right and not any(each.isalnum() for each in left):
        return Likeness(1, 0)
    if is_latin(left) != is_latin(right):
        return Likeness(0, 0, comparable=False)
    if not is_latin(left):
        return _by_letters(left, right)
    found = _compared(read_name(left, places), read_name(right, places))
    bare = without_tagline(left), without_tagline(right)
    if bare == (left, right):
        return found
    again = _compared(*(read_name(each, places) for each in bare))
    return max(found, again, key=lambda each: each.score)


def _by_letters(left: str, right: str) -> Likeness:
    """Scripts without spaces: pairs of letters that both have."""
    mine, theirs = _pairs(left), _pairs(right)
    shared = 2 * len(mine & theirs) / max(1, len(mine) + len(theirs))
    return Likeness(shared, RARE * shared, both_have_own=shared < ENOUGH)


def _pairs(text: str) -> set[str]:
    letters = [each for each in text[:MAX_CHARACTERS].casefold() if each.isalnum()]
    return {"".join(pair) for pair in pairwise(letters)} or set(letters)


def _compared(left: Name, right: Name) -> Likeness:
    if left.joined == right.joined:
        weight = max(_sum(left.words), _sum(right.words))
        return Likeness(1.0, weight)
    if initials := _is_short_for(left, right) or _is_short_for(right, left):
        return Likeness(0.8, initials)
    shared, mine, theirs = _paired(left.words, right.words)
    kin = _kindred(mine, theirs)
    only = sorted((_sum(mine), _sum(theirs)))
    both = _telling(mine) and _telling(theirs)
    missing = sum(only) if mine and theirs else ONE_SIDED * only[1]
    if _names_its_owner(left, right) or _names_its_owner(right, left):
        missing *= OWNER
    shared, missing = shared + kin * KIN, missing + kin * 2 * KIN
    score = shared / (shared + missing) if shared else 0.0
    return Likeness(score, shared, both_have_own=both, extra=only[1])


def _names_its_owner(full: Name, short: Name) -> bool:
    """`REWE Sven Müller oHG` is the REWE there: it begins alike and ends with a legal form."""
    length = len(short.words)
    return (
        full.has_legal_form
        and 0 < length < len(full.words) <= length + 3
        and full.words[:length] == short.words
        and not any(each.trades or each.tells_branches for each in full.words[length:])
    )


def _kindred(mine: list[Word], theirs: list[Word]) -> int:
    """Words that are made of one another, taken from what is left: they say little for it or
    against it, for `Plomberie` and `Plombier` are the same and `Stein` and `Steinbach` are not."""
    count = 0
    for one in list(mine):
        kin = next((each for each in theirs if _are_kin(one.text, each.text)), None)
        if kin is not None:
            mine.remove(one)
            theirs.remove(kin)
            count += 1
    return count


def _are_kin(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= 5 and (short in long or short[:5] == long[:5])


def _sum(words: Iterable[Word]) -> float:
    return sum(each.weight for each in words)


def _telling(words: Iterable[Word]) -> bool:
    return any(each.weight >= 0.4 for each in words)


def _is_short_for(short: Name, full: Name) -> float:
    """`AWZ` for `Autohaus Wolfgang Zander`: the weight of that, or nothing."""
    initials = "".join(each.text[0] for each in full.words)
    found = len(short.words) == 1 and 3 <= len(initials) <= 6 and short.joined == initials
    return RARE if found else 0.0


def _paired(left: Sequence[Word], right: Sequence[Word]) -> tuple[float, list[Word], list[Word]]:
    """The weight of what they share, and what is left of each; the closest words first."""
    mine, theirs = _unbroken(left, right), _unbroken(right, left)
    pairs = [(alike(a, b), i, j) for i, a in enumerate(mine) for j, b in enumerate(theirs)]
    used_left: set[int] = set()
    used_right: set[int] = set()
    shared = 0.0
    for degree, i, j in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if degree < ENOUGH or i in used_left or j in used_right:
            continue
        used_left.add(i)
        used_right.add(j)
        shared += degree * min(mine[i].weight, theirs[j].weight)
    return (
        shared,
        [each for i, each in enumerate(mine) if i not in used_left],
        [each for j, each in enumerate(theirs) if j not in used_right],
    )


def _unbroken(words: Sequence[Word], other: Sequence[Word]) -> list[Word]:
    """`Back Stube` is `Backstube` where the other writes it so."""
    known = {each.text: each for each in other}
    joined: list[Word] = []
    for each in words:
        whole = known.get(joined[-1].text + each.text) if joined else None
        if whole is not None:
            joined[-1] = whole
        else:
            joined.append(each)
    return joined


def alike(left: Word, right: Word) -> float:
    if left.text == right.text:
        return 1.0
    if left.trades & right.trades:
        return 0.95
    if left.tells_branches or right.tells_branches:
        return 0.0
    short, long = sorted((left.text, right.text), key=len)
    if len(short) == 1:
        return 0.75 if long.startswith(short) else 0.0
    return _by_edits(short, long)


def _by_edits(short: str, long: str) -> float:
    """A slip of the pen in a word of some length."""
    most = 0 if len(short) < 4 else 1 if len(short) < 8 else 2
    count = edits(short, long, most) if most else 1
    if count > most:
        return 0.85 if _is_inflected(short, long) else 0.0
    # One letter makes another name of a short word: Maier and Meier, Beck and Bock.
    return 1 - count / len(short)


def _is_inflected(short: str, long: str) -> bool:
    """`Joe` and `Joes`, `Hirsch` and `Hirschen`."""
    if long == short + "s":
        return len(short) >= 2
    return long == short + "en" and len(short) >= 5
