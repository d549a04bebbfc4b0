"""Which fields are asked for, and what asking for them is billed as."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from scrapersky.scraper.providers.google.fields import (
    DETAILS_TIERS,
    PARTS,
    SEARCH_TIERS,
    SEARCH_TOP_TIERS,
    Tier,
)

SEARCH = "SearchText"
DETAILS = "GetPlace"
_PREFIX = "places."
_KINDS = {SEARCH: "text_search", DETAILS: "place_details"}


class UnknownField(ValueError):
    """There is no such field."""

    def __init__(self, path: str) -> None:
        super().__init__(f"There is no field {path!r}.")
        self.path = path


@dataclass(frozen=True)
class Mask:
    """The fields of an answer, as paths in Google's spelling."""

    method: str
    """`SearchText` or `GetPlace`: quotas are counted by it."""
    paths: tuple[str, ...]

    @property
    def header(self) -> str:
        return ",".join(self.paths)

    @cached_property
    def tier(self) -> Tier:
        return max((_tier_of(self.method, path) for path in self.paths), default=Tier.IDS)

    @property
    def sku(self) -> str:
        """`text_search.enterprise`: what a request with this mask is billed as."""
        return f"{_KINDS[self.method]}.{self.tier.name.lower()}"

    @cached_property
    def fields(self) -> frozenset[str]:
        """Of a place, without their parts."""
        search = self.method == SEARCH
        of_places = (path for path in self.paths if path.startswith(_PREFIX) or not search)
        return frozenset(path.removeprefix(_PREFIX).partition(".")[0] for path in of_places)

    @property
    def brings_details(self) -> bool:
        """Whether all that we would ever ask for is in it."""
        return self.fields >= DETAILS_FULL.fields


def _tier_of(method: str, path: str) -> Tier:
    """Its price tier, which is that of the whole field; `UnknownField` when there is none."""
    if path == "*":
        return Tier.ENTERPRISE_ATMOSPHERE
    tiers, name = DETAILS_TIERS, path
    if method == SEARCH:
        if path in SEARCH_TOP_TIERS:
            return SEARCH_TOP_TIERS[path]
        if path in ("places", "places.*"):
            return Tier.ENTERPRISE_ATMOSPHERE
        tiers, name = SEARCH_TIERS, path.removeprefix(_PREFIX)
        if name == path:
            raise UnknownField(path)
    field, dot, part = name.partition(".")
    if field not in tiers or (dot and not _is_part(field, part)):
        raise UnknownField(path)
    return tiers[field]


def _is_part(field: str, part: str) -> bool:
    known = PARTS.get(field)
    return bool(part) if known is None else part.partition(".")[0] in known.split()


_FULL = (
    "id",
    "movedPlaceId",
    "displayName",
    "types",
    "primaryType",
    "primaryTypeDisplayName",
    "formattedAddress",
    "addressComponents",
    "postalAddress",
    "location",
    "businessStatus",
    "pureServiceAreaBusiness",
    "googleMapsUri",
    "websiteUri",
    "nationalPhoneNumber",
    "internationalPhoneNumber",
    "rating",
    "userRatingCount",
    "priceLevel",
    # Whether it is open at this moment would make every answer differ from the one before.
    "regularOpeningHours.periods",
    "regularOpeningHours.weekdayDescriptions",
)

DETAILS_FULL = Mask(DETAILS, _FULL)
DETAILS_ID = Mask(DETAILS, ("id", "movedPlaceId"))
"""Costs nothing: whether there is still such a place, and what it is called now."""
SEARCH_FULL = Mask(SEARCH, (*(_PREFIX + path for path in _FULL), "nextPageToken"))
SEARCH_IDS = Mask(SEARCH, ("places.id", "nextPageToken"))
"""Costs nothing: which places there are, before anything is paid for."""
