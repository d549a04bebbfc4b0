"""Decide whether two descriptions refer to the same business.

Evidence is scored in points, and some conflicts cap the verdict regardless of the points. A
matching name plus one more match (location, phone number, website) makes the same business.
Branches of a chain share name, website and often phone number, so descriptions with different
addresses are never merged automatically. Businesses that share an address, a phone number and even
a website are different if the trade or the person differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp

from phonenumbers import NumberParseException, PhoneNumberType, number_type, parse

from scrapersky.scraper.matching.locations import APART_POINTS, LocationMatch, match_locations
from scrapersky.scraper.matching.model import (
    BusinessDescription,
    MatchEvidence,
    MatchResult,
    MatchVerdict,
)
from scrapersky.scraper.matching.name_similarity import NameMatch, match_names

DUPLICATE_FREE_PROVIDERS = frozenset({"google"})
"""Providers that list each place once. Others have duplicates: OpenStreetMap may map a shop as a
node and as a building, and imported lists contain arbitrary entries.
"""


def compare_place_ids(left: BusinessDescription, right: BusinessDescription) -> bool | None:
    """Compare the place IDs of one provider; None if they prove neither."""
    if not left.provider or left.provider != right.provider:
        return None
    if left.place_id is None or right.place_id is None:
        return None
    if left.place_id == right.place_id:
        return True
    return False if left.provider in DUPLICATE_FREE_PROVIDERS else None


MIN_SAME_POINTS, MIN_DOUBTFUL_POINTS = 5.0, 3.0
"""Points required for the verdicts `same` and `doubtful` (reviewed by a person)."""
PHONE_POINTS, SITE_POINTS = 3.0, 2.5
PHONE_APART_POINTS, SITE_APART_POINTS = 1.5, 1.0
"""Points for a shared phone number and website if the addresses differ, as chains share both."""
SHARED_POINTS = 0.5
MIN_SAME_ADDRESS_POINTS = 1.5
"""Location points from which the street, or the position within about 150 m, is the same."""
OTHER_PHONE_POINTS, OTHER_SITE_POINTS = -1.0, -1.2
_NON_GEOGRAPHIC_TYPES = frozenset(
    {
        PhoneNumberType.TOLL_FREE,
        PhoneNumberType.PREMIUM_RATE,
        PhoneNumberType.SHARED_COST,
        PhoneNumberType.PERSONAL_NUMBER,
        PhoneNumberType.UAN,
    }
)


@dataclass(frozen=True)
class PairEvidence:
    """The individual results of comparing two descriptions."""

    names: NameMatch
    where: LocationMatch
    phone: bool | None
    """Whether the phone numbers are equal; None if one is missing."""
    site: bool | None
    points: float
    has_shared_phone: bool = False
    """Whether the number is a hotline or used by several businesses."""
    has_hotline: bool = False

    @property
    def is_apart(self) -> bool:
        return are_apart(self.where)


def compare(left: BusinessDescription, right: BusinessDescription) -> MatchResult:
    known = compare_place_ids(left, right)
    if known is True:
        reason = "They have the same place ID."
        return MatchResult(MatchVerdict.SAME, 1.0, MatchEvidence.PLACE_ID, (reason,))
    weighed = _weigh(left, right)
    limit = _get_max_verdict(weighed)
    if known is False:
        limit = _get_lower_verdict(limit, _judge_distinct_ids(weighed))
    verdict = _get_lower_verdict(limit, _judge_points(weighed.points))
    if known is None and _may_be_renamed(weighed):
        verdict = max(verdict, MatchVerdict.DOUBTFUL, key=_VERDICT_ORDER.index)
    return MatchResult(
        verdict,
        _score(weighed.points, verdict),
        _get_evidence(weighed),
        _list_reasons(weighed, known),
    )


def _weigh(left: BusinessDescription, right: BusinessDescription) -> PairEvidence:
    names, where = match_names(left, right), match_locations(left, right)
    phone = _are_equal(left.phone, right.phone)
    site = _are_equal(left.site_key, right.site_key)
    apart = are_apart(where)
    hotline = _is_hotline(left.phone)
    shared_phone = left.phone_is_shared or right.phone_is_shared or hotline
    shared_site = left.site_is_shared or right.site_is_shared
    points = names.points + where.points
    points += _score_signal(
        phone,
        SHARED_POINTS if shared_phone else PHONE_APART_POINTS if apart else PHONE_POINTS,
        OTHER_PHONE_POINTS,
    )
    points += _score_signal(
        site,
        SHARED_POINTS if shared_site else SITE_APART_POINTS if apart else SITE_POINTS,
        OTHER_SITE_POINTS,
    )
    return PairEvidence(names, where, phone, site, points, shared_phone, hotline)


def are_apart(where: LocationMatch) -> bool:
    return where.other_door or where.points <= APART_POINTS


def _are_equal(left: str | None, right: str | None) -> bool | None:
    return left == right if left and right else None


def _is_hotline(phone: str | None) -> bool:
    """Return whether the number is non-geographic, as shared by all branches of a chain."""
    return phone is not None and _is_non_geographic(phone)


@lru_cache(maxsize=16_384)
def _is_non_geographic(phone: str) -> bool:
    try:
        return number_type(parse(phone)) in _NON_GEOGRAPHIC_TYPES
    except NumberParseException:
        return False


def _score_signal(same: bool | None, for_it: float, against: float) -> float:
    return 0.0 if same is None else for_it if same else against


def _get_max_verdict(weighed: PairEvidence) -> MatchVerdict:
    """Return the highest verdict allowed, regardless of the points."""
    names = weighed.names
    if names.is_unknown:
        return _judge_without_name(weighed)
    if names.are_two_people:
        return MatchVerdict.DIFFERENT
    if weighed.is_apart or names.conflict or not names.fits:
        return MatchVerdict.DOUBTFUL
    if weighed.phone and weighed.has_hotline and weighed.where.points < MIN_SAME_ADDRESS_POINTS:
        return MatchVerdict.DOUBTFUL  # a chain's hotline, and the branch is unknown
    return MatchVerdict.SAME


def _may_be_renamed(weighed: PairEvidence) -> bool:
    """Return whether the business may have been renamed or taken over, which a person must decide.

    A new owner often keeps the phone number.
    """
    names = weighed.names
    if names.fits or names.is_unknown or names.conflict or names.are_two_people:
        return False
    own_number = weighed.phone is True and not weighed.has_shared_phone
    return (
        own_number and weighed.where.points >= MIN_SAME_ADDRESS_POINTS and weighed.site is not False
    )


def _judge_without_name(weighed: PairEvidence) -> MatchVerdict:
    """Judge a pair without comparable names (missing, different scripts): all else must match."""
    all_fits = weighed.phone and weighed.site and weighed.where.points > 1.5
    return MatchVerdict.SAME if all_fits and not weighed.names.conflict else MatchVerdict.DOUBTFUL


def _judge_distinct_ids(weighed: PairEvidence) -> MatchVerdict:
    """Judge a pair with different place IDs at a provider that rarely has duplicates."""
    all_match = weighed.phone and weighed.where.points > 1.5 and weighed.names.fits
    return (
        MatchVerdict.DOUBTFUL
        if all_match and not weighed.names.conflict
        else MatchVerdict.DIFFERENT
    )


def _judge_points(points: float) -> MatchVerdict:
    if points >= MIN_SAME_POINTS:
        return MatchVerdict.SAME
    return MatchVerdict.DOUBTFUL if points >= MIN_DOUBTFUL_POINTS else MatchVerdict.DIFFERENT


_VERDICT_ORDER = (MatchVerdict.DIFFERENT, MatchVerdict.DOUBTFUL, MatchVerdict.SAME)


def _get_lower_verdict(left: MatchVerdict, right: MatchVerdict) -> MatchVerdict:
    return min(left, right, key=_VERDICT_ORDER.index)


def _score(points: float, verdict: MatchVerdict) -> float:
    """Map points to a score: 0.5 at `MIN_SAME_POINTS`, capped for lower verdicts."""
    most = {MatchVerdict.SAME: 0.99, MatchVerdict.DOUBTFUL: 0.49, MatchVerdict.DIFFERENT: 0.2}[
        verdict
    ]
    return round(min(most, 1 / (1 + exp(MIN_SAME_POINTS - points))), 3)


def _get_evidence(weighed: PairEvidence) -> MatchEvidence:
    if weighed.site:
        return MatchEvidence.DOMAIN
    return MatchEvidence.PHONE if weighed.phone else MatchEvidence.NAME_AND_DISTANCE


def _list_reasons(weighed: PairEvidence, known: bool | None) -> tuple[str, ...]:
    reasons = [weighed.names.reason, *weighed.names.conflicts, weighed.where.reason]
    if weighed.phone is not None:
        reasons.append(
            "The phone number is the same." if weighed.phone else "The phone numbers differ."
        )
    if weighed.site is not None:
        reasons.append("They have the same website." if weighed.site else "Their websites differ.")
    if known is False:
        reasons.append("The provider lists them as two places.")
    return tuple(each for each in reasons if each)
