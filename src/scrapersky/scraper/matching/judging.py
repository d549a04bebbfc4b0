"""One business or two: evidence is weighed, and what must not be overruled is respected.

A name that fits and one more thing that fits (the place, the number, the site) make one business.
A chain's branches share name, site and often number, so nothing makes one of two addresses; whoever
shares an address, a number and even a site is another one when the trade or the person is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp

from phonenumbers import NumberParseException, PhoneNumberType, number_type, parse

from scrapersky.scraper.matching.identity import same_provider
from scrapersky.scraper.matching.model import Described, Evidence, Judgement, Verdict
from scrapersky.scraper.matching.naming import Naming, naming
from scrapersky.scraper.matching.whereabouts import APART, Whereabouts, whereabouts

SAME, DOUBTFUL = 5.0, 3.0
"""Points from which they are taken for one, and from which a person is asked."""
PHONE, SITE = 3.0, 2.5
PHONE_APART, SITE_APART = 1.5, 1.0
"""What a number and a site say when the addresses differ: chains share them."""
SHARED = 0.5
AT_THE_DOOR = 1.5
"""Points of a place that is known to the street or to some metres."""
OTHER_PHONE, OTHER_SITE = -1.0, -1.2
_OF_NO_PLACE = frozenset(
    {
        PhoneNumberType.TOLL_FREE,
        PhoneNumberType.PREMIUM_RATE,
        PhoneNumberType.SHARED_COST,
        PhoneNumberType.PERSONAL_NUMBER,
        PhoneNumberType.UAN,
    }
)


@dataclass(frozen=True)
class Weighed:
    """All that was compared."""

    names: Naming
    where: Whereabouts
    phone: bool | None
    """Whether it is the same; nothing when one is not known."""
    site: bool | None
    points: float
    has_shared_phone: bool = False
    """A hotline, or a number that several are known to have."""
    has_hotline: bool = False

    @property
    def is_apart(self) -> bool:
        return are_apart(self.where)


def compare(left: Described, right: Described) -> Judgement:
    known = same_provider(left, right)
    if known is True:
        said = "The provider calls both the same."
        return Judgement(Verdict.SAME, 1.0, Evidence.PLACE_ID, (said,))
    weighed = _weigh(left, right)
    limit = _limit(weighed)
    if known is False:
        limit = _lower(limit, _of_two_ids(weighed))
    verdict = _lower(limit, _by_points(weighed.points))
    if known is None and _may_be_renamed(weighed):
        verdict = max(verdict, Verdict.DOUBTFUL, key=_ORDER.index)
    return Judgement(
        verdict, _score(weighed.points, verdict), _by(weighed), _reasons(weighed, known)
    )


def _weigh(left: Described, right: Described) -> Weighed:
    names, where = naming(left, right), whereabouts(left, right)
    phone = _is_same(left.phone, right.phone)
    site = _is_same(left.site_key, right.site_key)
    apart = are_apart(where)
    hotline = _is_hotline(left.phone)
    shared_phone = left.phone_is_shared or right.phone_is_shared or hotline
    shared_site = left.site_is_shared or right.site_is_shared
    points = names.points + where.points
    points += _says(phone, SHARED if shared_phone else PHONE_APART if apart else PHONE, OTHER_PHONE)
    points += _says(site, SHARED if shared_site else SITE_APART if apart else SITE, OTHER_SITE)
    return Weighed(names, where, phone, site, points, shared_phone, hotline)


def are_apart(where: Whereabouts) -> bool:
    return where.other_door or where.points <= APART


def _is_same(left: str | None, right: str | None) -> bool | None:
    return left == right if left and right else None


def _is_hotline(phone: str | None) -> bool:
    """Everybody of a chain has it."""
    return phone is not None and _is_of_no_place(phone)


@lru_cache(maxsize=16_384)
def _is_of_no_place(phone: str) -> bool:
    try:
        return number_type(parse(phone)) in _OF_NO_PLACE
    except NumberParseException:
        return False


def _says(same: bool | None, for_it: float, against: float) -> float:
    return 0.0 if same is None else for_it if same else against


def _limit(weighed: Weighed) -> Verdict:
    """The most that may come of it, whatever the points are."""
    names = weighed.names
    if names.is_unknown:
        return _without_name(weighed)
    if names.are_two_people:
        return Verdict.DIFFERENT
    if weighed.is_apart or names.conflict or not names.fits:
        return Verdict.DOUBTFUL
    if weighed.phone and weighed.has_hotline and weighed.where.points < AT_THE_DOOR:
        return Verdict.DOUBTFUL  # a chain's number, and nobody says which branch
    return Verdict.SAME


def _may_be_renamed(weighed: Weighed) -> bool:
    """Who took over, or changed the sign, often kept the number: a person knows."""
    names = weighed.names
    if names.fits or names.is_unknown or names.conflict or names.are_two_people:
        return False
    own_number = weighed.phone is True and not weighed.has_shared_phone
    return own_number and weighed.where.points >= AT_THE_DOOR and weighed.site is not False


def _without_name(weighed: Weighed) -> Verdict:
    """One has no name, or they are in different scripts: everything else must fit."""
    all_fits = weighed.phone and weighed.site and weighed.where.points > 1.5
    return Verdict.SAME if all_fits and not weighed.names.conflict else Verdict.DOUBTFUL


def _of_two_ids(weighed: Weighed) -> Verdict:
    """A provider that keeps its places apart seldom has one twice."""
    everything = weighed.phone and weighed.where.points > 1.5 and weighed.names.fits
    return Verdict.DOUBTFUL if everything and not weighed.names.conflict else Verdict.DIFFERENT


def _by_points(points: float) -> Verdict:
    if points >= SAME:
        return Verdict.SAME
    return Verdict.DOUBTFUL if points >= DOUBTFUL else Verdict.DIFFERENT


_ORDER = (Verdict.DIFFERENT, Verdict.DOUBTFUL, Verdict.SAME)


def _lower(left: Verdict, right: Verdict) -> Verdict:
    return min(left, right, key=_ORDER.index)


def _score(points: float, verdict: Verdict) -> float:
    """Half at the point where it is taken for one; capped where it is not."""
    most = {Verdict.SAME: 0.99, Verdict.DOUBTFUL: 0.49, Verdict.DIFFERENT: 0.2}[verdict]
    return round(min(most, 1 / (1 + exp(SAME - points))), 3)


def _by(weighed: Weighed) -> Evidence:
    if weighed.site:
        return Evidence.DOMAIN
    return Evidence.PHONE if weighed.phone else Evidence.NAME_AND_DISTANCE


def _reasons(weighed: Weighed, known: bool | None) -> tuple[str, ...]:
    said = [weighed.names.reason, *weighed.names.conflicts, weighed.where.reason]
    if weighed.phone is not None:
        said.append(
            "The phone number is the same." if weighed.phone else "The phone numbers differ."
        )
    if weighed.site is not None:
        said.append("They have the same website." if weighed.site else "Their websites differ.")
    if known is False:
        said.append("The provider has them as two places.")
    return tuple(each for each in said if each)
