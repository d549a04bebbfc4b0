"""Business descriptions and the result of comparing two of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class BusinessDescription:
    """What one provider, list or site says of a business; what it does not say is nothing here."""

    name: str | None = None
    street: str | None = None
    house_number: str | None = None
    postal_code: str | None = None
    city: str | None = None
    country: str | None = None
    """Two letters."""
    latitude: float | None = None
    longitude: float | None = None
    phone: str | None = None
    """E.164."""
    site_key: str | None = None
    """The domain of a website of its own; never that of a network, directory or marketplace."""
    categories: tuple[str, ...] = ()
    provider: str = ""
    place_id: str | None = None
    """What the provider calls it."""
    site_is_shared: bool = False
    """Several businesses are known to name this site: a chain's says little of a branch."""
    phone_is_shared: bool = False


class MatchVerdict(StrEnum):
    SAME = "same"
    DOUBTFUL = "doubtful"
    """A person should look."""
    DIFFERENT = "different"


class MatchEvidence(StrEnum):
    """What spoke for it most."""

    PLACE_ID = "place_id"
    DOMAIN = "domain"
    PHONE = "phone"
    NAME_AND_DISTANCE = "name_and_distance"


@dataclass(frozen=True, slots=True)
class MatchResult:
    verdict: MatchVerdict
    score: float
    """From 0, surely two, to 1, surely one."""
    matched_by: MatchEvidence
    reasons: tuple[str, ...]
    """Sentences, for and against."""
