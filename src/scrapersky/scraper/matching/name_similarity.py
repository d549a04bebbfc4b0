"""Score how well two business names match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scrapersky.scraper.matching.model import BusinessDescription
from scrapersky.scraper.matching.names import (
    MAX_NAME_CHARACTERS,
    RARE_WEIGHT,
    NameWord,
    ParsedName,
    are_related,
    find_trades,
    list_place_words,
    load_vocabulary,
    parse_name,
    strip_tagline,
)
from scrapersky.scraper.matching.text import edit_distance, is_latin, split_words

ONE_SIDED_WEIGHT = 0.35
"""Factor for words that only one name has, if the other has none left."""
KINDRED_WEIGHT = 0.25
OWNER_FACTOR = 0.25
"""Further factor if those words are the operator of a chain's shop."""
MIN_WORD_SIMILARITY = 0.7
"""Words at least this similar count as the same."""


@dataclass(frozen=True)
class NameSimilarity:
    score: float
    """From 0 to 1."""
    weight: float
    """Weight of the shared words; low for a common surname with a trade."""
    comparable: bool = True
    """False if they are in different scripts."""
    both_have_own: bool = False
    """Whether each has a significant word that the other lacks."""
    extra: float = 0.0
    """Weight of the words that only one has."""


def score_names(left: str, right: str, places: frozenset[str]) -> NameSimilarity:
    if left == right and not any(each.isalnum() for each in left):
        return NameSimilarity(1, 0)
    if is_latin(left) != is_latin(right):
        return NameSimilarity(0, 0, comparable=False)
    if not is_latin(left):
        return _score_letter_pairs(left, right)
    score = _score_words(parse_name(left, places), parse_name(right, places))
    bare = strip_tagline(left), strip_tagline(right)
    if bare == (left, right):
        return score
    again = _score_words(*(parse_name(each, places) for each in bare))
    return max(score, again, key=lambda each: each.score)


def _score_letter_pairs(left: str, right: str) -> NameSimilarity:
    """Compare letter bigrams, for scripts without spaces."""
    mine, theirs = _list_letter_pairs(left), _list_letter_pairs(right)
    shared = 2 * len(mine & theirs) / max(1, len(mine) + len(theirs))
    return NameSimilarity(shared, RARE_WEIGHT * shared, both_have_own=shared < MIN_WORD_SIMILARITY)


def _list_letter_pairs(text: str) -> set[str]:
    letters = [each for each in text[:MAX_NAME_CHARACTERS].casefold() if each.isalnum()]
    return {"".join(pair) for pair in pairwise(letters)} or set(letters)


def _score_words(left: ParsedName, right: ParsedName) -> NameSimilarity:
    if left.joined == right.joined:
        weight = max(_sum_weights(left.words), _sum_weights(right.words))
        return NameSimilarity(1.0, weight)
    if initials := _score_acronym(left, right) or _score_acronym(right, left):
        return NameSimilarity(0.8, initials)
    shared, mine, theirs = _pair_words(left.words, right.words)
    related = _remove_kindred(mine, theirs)
    only = sorted((_sum_weights(mine), _sum_weights(theirs)))
    both = _has_significant_word(mine) and _has_significant_word(theirs)
    missing = sum(only) if mine and theirs else ONE_SIDED_WEIGHT * only[1]
    if _names_owner(left, right) or _names_owner(right, left):
        missing *= OWNER_FACTOR
    shared, missing = shared + related * KINDRED_WEIGHT, missing + related * 2 * KINDRED_WEIGHT
    score = shared / (shared + missing) if shared else 0.0
    return NameSimilarity(score, shared, both_have_own=both, extra=only[1])


def _names_owner(full: ParsedName, short: ParsedName) -> bool:
    """Return whether `full` is `short` plus its operator: `REWE Sven Müller oHG` is a REWE.

    Both start with the same words, and `full` has a legal form.
    """
    length = len(short.words)
    return (
        full.has_legal_form
        and 0 < length < len(full.words) <= length + 3
        and full.words[:length] == short.words
        and not any(each.trades or each.tells_branches for each in full.words[length:])
    )


def _remove_kindred(mine: list[NameWord], theirs: list[NameWord]) -> int:
    """Remove pairs of related words (shared stem) from both lists and return their number.

    They are weak evidence either way: `Plomberie` and `Plombier` mean the same, `Stein` and
    `Steinbach` do not.
    """
    count = 0
    for one in list(mine):
        related = next((each for each in theirs if _are_kindred(one.text, each.text)), None)
        if related is not None:
            mine.remove(one)
            theirs.remove(related)
            count += 1
    return count


def _are_kindred(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= 5 and (short in long or short[:5] == long[:5])


def _sum_weights(words: Iterable[NameWord]) -> float:
    return sum(each.weight for each in words)


def _has_significant_word(words: Iterable[NameWord]) -> bool:
    return any(each.weight >= 0.4 for each in words)


def _score_acronym(short: ParsedName, full: ParsedName) -> float:
    """Return the weight of an acronym (`AWZ` for `Autohaus Wolfgang Zander`), or 0."""
    initials = "".join(each.text[0] for each in full.words)
    is_acronym = len(short.words) == 1 and 3 <= len(initials) <= 6 and short.joined == initials
    return RARE_WEIGHT if is_acronym else 0.0


def _pair_words(
    left: Sequence[NameWord], right: Sequence[NameWord]
) -> tuple[float, list[NameWord], list[NameWord]]:
    """Pair similar words, closest first; return the shared weight and each side's other words."""
    mine, theirs = _join_split_words(left, right), _join_split_words(right, left)
    pairs = [
        (score_word_pair(a, b), i, j) for i, a in enumerate(mine) for j, b in enumerate(theirs)
    ]
    used_left: set[int] = set()
    used_right: set[int] = set()
    shared = 0.0
    for degree, i, j in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if degree < MIN_WORD_SIMILARITY or i in used_left or j in used_right:
            continue
        used_left.add(i)
        used_right.add(j)
        shared += degree * min(mine[i].weight, theirs[j].weight)
    return (
        shared,
        [each for i, each in enumerate(mine) if i not in used_left],
        [each for j, each in enumerate(theirs) if j not in used_right],
    )


def _join_split_words(words: Sequence[NameWord], other: Sequence[NameWord]) -> list[NameWord]:
    """Join `Back Stube` to `Backstube` if the other name has it as one word."""
    known = {each.text: each for each in other}
    joined: list[NameWord] = []
    for each in words:
        whole = known.get(joined[-1].text + each.text) if joined else None
        if whole is not None:
            joined[-1] = whole
        else:
            joined.append(each)
    return joined


def score_word_pair(left: NameWord, right: NameWord) -> float:
    if left.text == right.text:
        return 1.0
    if left.trades & right.trades:
        return 0.95
    if left.tells_branches or right.tells_branches:
        return 0.0
    short, long = sorted((left.text, right.text), key=len)
    if len(short) == 1:
        return 0.75 if long.startswith(short) else 0.0
    return _score_edits(short, long)


def _score_edits(short: str, long: str) -> float:
    """Score typing errors, which are allowed in longer words only."""
    most = 0 if len(short) < 4 else 1 if len(short) < 8 else 2
    count = edit_distance(short, long, most) if most else 1
    if count > most:
        return 0.85 if _is_inflected(short, long) else 0.0
    # In a short word, one letter makes another name: Maier and Meier, Beck and Bock.
    return 1 - count / len(short)


def _is_inflected(short: str, long: str) -> bool:
    """Match `Joe` and `Joes`, `Hirsch` and `Hirschen`."""
    if long == short + "s":
        return len(short) >= 2
    return long == short + "en" and len(short) >= 5


_POINTS_BY_SCORE = ((0.95, 4.0), (0.85, 3.2), (0.75, 2.2), (0.6, 1.2), (0.45, -0.5), (0.3, -2.0))
DIFFERENT_NAME_POINTS = -4.0
OTHER_TRADE_POINTS, OTHER_BRANCH_POINTS = -2.5, -2.0
MIN_FIT_SCORE = 0.6
MAX_OTHER_PERSON_SCORE = 0.3
_PERSON_TITLES = frozenset({"dr", "prof", "dott", "dottssa", "mudr", "drs"})


@dataclass(frozen=True)
class NameMatch:
    points: float = 0.0
    fits: bool = False
    is_unknown: bool = False
    """Whether a name is missing or they cannot be compared."""
    conflicts: tuple[str, ...] = ()
    are_two_people: bool = False
    """Whether both are titled people with dissimilar names."""
    reason: str | None = None

    @property
    def conflict(self) -> bool:
        return bool(self.conflicts)


def match_names(left: BusinessDescription, right: BusinessDescription) -> NameMatch:
    places = list_place_words(left.city, right.city)
    mine = parse_name(left.name or "", places)
    theirs = parse_name(right.name or "", places)
    conflicts = _find_conflicts(left, right, mine, theirs)
    against = OTHER_TRADE_POINTS * len(conflicts)
    if not left.name or not right.name:
        return NameMatch(against, is_unknown=True, conflicts=conflicts)
    alike = score_names(left.name, right.name, places)
    if not alike.comparable:
        reason = "Their names are in different scripts."
        return NameMatch(against, is_unknown=True, conflicts=conflicts, reason=reason)
    return _build_name_match(left, right, alike, conflicts, against)


def _build_name_match(
    left: BusinessDescription,
    right: BusinessDescription,
    alike: NameSimilarity,
    conflicts: tuple[str, ...],
    against: float,
) -> NameMatch:
    points = next(
        (points for least, points in _POINTS_BY_SCORE if alike.score >= least),
        DIFFERENT_NAME_POINTS,
    )
    if points > 0:
        points *= min(1.0, 0.25 + 0.6 * alike.weight)
    fits = alike.score >= MIN_FIT_SCORE and not _may_be_another_person(left, right, alike)
    return NameMatch(
        points + against,
        fits,
        conflicts=conflicts,
        are_two_people=_are_two_people(left, right, alike),
        reason=_describe(left, right, alike),
    )


def _are_two_people(
    left: BusinessDescription, right: BusinessDescription, alike: NameSimilarity
) -> bool:
    """Return whether they are two people, who may share address, phone number and website.

    Example: `Dr. Anna Weber` and `Dr. Peter Krause`.
    """
    titled = all(_PERSON_TITLES & set(split_words(each.name or "")) for each in (left, right))
    return titled and alike.both_have_own and alike.score < MAX_OTHER_PERSON_SCORE


def _may_be_another_person(
    left: BusinessDescription, right: BusinessDescription, alike: NameSimilarity
) -> bool:
    """Return whether `Dr. Weber` and `Dr. Anna Weber` may be two people in the same practice."""
    trades = _get_trades(left) | _get_trades(right)
    of_persons = any(load_vocabulary().trades[each].of_persons for each in trades)
    return of_persons and alike.extra >= 0.4 and alike.weight < 1.25


def _describe(left: BusinessDescription, right: BusinessDescription, alike: NameSimilarity) -> str:
    if alike.score >= 0.95:
        return f"The names are the same: {left.name}."
    if alike.score >= MIN_FIT_SCORE:
        return f"The names are similar: {left.name}, {right.name}."
    return f"The names differ: {left.name}, {right.name}."


def _find_conflicts(
    left: BusinessDescription, right: BusinessDescription, mine: ParsedName, theirs: ParsedName
) -> tuple[str, ...]:
    conflicts = []
    ours, others = _get_trades(left), _get_trades(right)
    if ours and others and not are_related(ours, others):
        conflicts.append("They are in different trades.")
    if mine.branch != theirs.branch and mine.branch and theirs.branch:
        conflicts.append("Their names refer to different branches.")
    return tuple(conflicts)


def _get_trades(described: BusinessDescription) -> frozenset[str]:
    """Return the trades in its name, else those of the provider's categories."""
    return parse_name(described.name or "").trades or find_trades(described.categories)
