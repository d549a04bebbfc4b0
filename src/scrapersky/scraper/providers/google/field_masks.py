"""Field masks of the Google Places API, and the price tier of each field."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property


class PriceTier(IntEnum):
    """Price tier. The most expensive field of a request determines its price."""

    IDS = 0
    ESSENTIALS = 1
    PRO = 2
    ENTERPRISE = 3
    ENTERPRISE_ATMOSPHERE = 4


_IDS = "attributions consumerAlert id movedPlace movedPlaceId name"
_ESSENTIALS = (
    "addressComponents addressDescriptor adrFormatAddress formattedAddress location plusCode "
    "postalAddress shortFormattedAddress types viewport"
)
_PRO = (
    "accessibilityOptions businessStatus containingPlaces displayName googleMapsLinks "
    "googleMapsUri iconBackgroundColor iconMaskBaseUri openingDate primaryType "
    "primaryTypeDisplayName pureServiceAreaBusiness subDestinations timeZone utcOffsetMinutes"
)
_ENTERPRISE = (
    "currentOpeningHours currentSecondaryOpeningHours internationalPhoneNumber "
    "nationalPhoneNumber priceLevel priceRange rating regularOpeningHours "
    "regularSecondaryOpeningHours userRatingCount websiteUri"
)
_ATMOSPHERE = (
    "allowsDogs curbsidePickup delivery dineIn editorialSummary evChargeAmenitySummary "
    "evChargeOptions fuelOptions generativeSummary goodForChildren goodForGroups "
    "goodForWatchingSports liveMusic menuForChildren neighborhoodSummary outdoorSeating "
    "parkingOptions paymentOptions reservable restroom reviewSummary reviews servesBeer "
    "servesBreakfast servesBrunch servesCocktails servesCoffee servesDessert servesDinner "
    "servesLunch servesVegetarianFood servesWine takeout"
)
_UNKNOWN_TIER = "entrances googleMapsTypeLabel navigationPoints transitStation"
"""Tier of unknown fields: the most expensive one, so that costs are never underestimated."""


def _build_tiers(**words: str) -> dict[str, PriceTier]:
    return {name: PriceTier[tier] for tier, names in words.items() for name in names.split()}


DETAILS_TIERS = _build_tiers(
    IDS=f"{_IDS} photos",
    ESSENTIALS=_ESSENTIALS,
    PRO=_PRO,
    ENTERPRISE=_ENTERPRISE,
    ENTERPRISE_ATMOSPHERE=f"{_ATMOSPHERE} {_UNKNOWN_TIER}",
)
SEARCH_TIERS = _build_tiers(
    IDS=_IDS,
    PRO=f"{_ESSENTIALS} {_PRO} photos",
    ENTERPRISE=_ENTERPRISE,
    ENTERPRISE_ATMOSPHERE=f"{_ATMOSPHERE} {_UNKNOWN_TIER}",
)
"""Tiers of place fields in a search response. There is no separate tier for addresses."""

SEARCH_TOP_TIERS = _build_tiers(
    IDS="nextPageToken",
    PRO="searchUri",
    ENTERPRISE_ATMOSPHERE="routingSummaries contextualContents",
)
"""Tiers of the fields next to `places`."""

FIELD_PARTS = {
    "addressComponents": "languageCode longText shortText types",
    "displayName": "languageCode text",
    "location": "latitude longitude",
    "plusCode": "compoundCode globalCode",
    "postalAddress": "addressLines administrativeArea languageCode locality organization "
    "postalCode recipients regionCode revision sortingCode sublocality",
    "primaryTypeDisplayName": "languageCode text",
    "regularOpeningHours": "nextCloseTime nextOpenTime openNow periods secondaryHoursType "
    "specialDays weekdayDescriptions",
    "timeZone": "id version",
    "viewport": "high low",
}
"""Subfields that can be requested separately, for fields where we may do so."""


SEARCH = "SearchText"
DETAILS = "GetPlace"
_PREFIX = "places."
_KINDS = {SEARCH: "text_search", DETAILS: "place_details"}


class UnknownField(ValueError):
    """The field does not exist."""

    def __init__(self, path: str) -> None:
        super().__init__(f"Unknown field {path!r}.")
        self.path = path


@dataclass(frozen=True)
class FieldMask:
    """Requested fields of a response, as paths in Google's spelling."""

    method: str
    """`SearchText` or `GetPlace`. Quotas are counted per method."""
    paths: tuple[str, ...]

    @property
    def header(self) -> str:
        return ",".join(self.paths)

    @cached_property
    def tier(self) -> PriceTier:
        return max((_get_tier(self.method, path) for path in self.paths), default=PriceTier.IDS)

    @property
    def sku(self) -> str:
        """SKU under which a request with this mask is billed, such as `text_search.enterprise`."""
        return f"{_KINDS[self.method]}.{self.tier.name.lower()}"

    @cached_property
    def fields(self) -> frozenset[str]:
        """Place fields without their subfields."""
        search = self.method == SEARCH
        of_places = (path for path in self.paths if path.startswith(_PREFIX) or not search)
        return frozenset(path.removeprefix(_PREFIX).partition(".")[0] for path in of_places)

    @property
    def covers_details(self) -> bool:
        """Whether the mask includes all fields we ever request."""
        return self.fields >= DETAILS_FULL.fields


def _get_tier(method: str, path: str) -> PriceTier:
    """Return the price tier of a path, which is that of the whole field. Raises `UnknownField`."""
    if path == "*":
        return PriceTier.ENTERPRISE_ATMOSPHERE
    tiers, name = DETAILS_TIERS, path
    if method == SEARCH:
        if path in SEARCH_TOP_TIERS:
            return SEARCH_TOP_TIERS[path]
        if path in ("places", "places.*"):
            return PriceTier.ENTERPRISE_ATMOSPHERE
        tiers, name = SEARCH_TIERS, path.removeprefix(_PREFIX)
        if name == path:
            raise UnknownField(path)
    field, dot, part = name.partition(".")
    if field not in tiers or (dot and not _is_part(field, part)):
        raise UnknownField(path)
    return tiers[field]


def _is_part(field: str, part: str) -> bool:
    known = FIELD_PARTS.get(field)
    return bool(part) if known is None else part.partition(".")[0] in known.split()


_ALL_FIELDS = (
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
    # `openNow` is left out: it would make every response differ from the previous one.
    "regularOpeningHours.periods",
    "regularOpeningHours.weekdayDescriptions",
)

DETAILS_FULL = FieldMask(DETAILS, _ALL_FIELDS)
DETAILS_ID = FieldMask(DETAILS, ("id", "movedPlaceId"))
"""Free check of whether a place still exists, and of its current id."""
SEARCH_FULL = FieldMask(SEARCH, (*(_PREFIX + path for path in _ALL_FIELDS), "nextPageToken"))
SEARCH_IDS = FieldMask(SEARCH, ("places.id", "nextPageToken"))
"""Free search that returns only place ids."""
