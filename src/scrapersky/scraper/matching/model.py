"""Business descriptions and the result of comparing two of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class BusinessDescription:
    """A business as described by one provider, list or site; None for what is not stated."""

    name: str | None = None
    street: str | None = None
    house_number: str | None = None
    postal_code: str | None = None
    city: str | None = None
    country: str | None = None
    """ISO 3166-1 alpha-2 code."""
    latitude: float | None = None
    longitude: float | None = None
    phone: str | None = None
    """E.164."""
    site_key: str | None = None
    """Domain of the business's own website; never that of a network, directory or marketplace."""
    categories: tuple[str, ...] = ()
    provider: str = ""
    place_id: str | None = None
    """The provider's ID."""
    site_is_shared: bool = False
    """Whether several businesses name this site, like branches of a chain; weak evidence."""
    phone_is_shared: bool = False


class MatchVerdict(StrEnum):
    SAME = "same"
    DOUBTFUL = "doubtful"
    """Needs review by a person."""
    DIFFERENT = "different"


class MatchEvidence(StrEnum):
    """The strongest evidence for a match."""

    PLACE_ID = "place_id"
    DOMAIN = "domain"
    PHONE = "phone"
    NAME_AND_DISTANCE = "name_and_distance"


@dataclass(frozen=True, slots=True)
class MatchResult:
    verdict: MatchVerdict
    score: float
    """From 0 (certainly different) to 1 (certainly the same)."""
    matched_by: MatchEvidence
    reasons: tuple[str, ...]
    """Sentences for users, for and against a match."""
