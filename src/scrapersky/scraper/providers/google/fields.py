"""The fields that Google knows of a place, and in which price tier each stands."""

from __future__ import annotations

from enum import IntEnum


class Tier(IntEnum):
    """The dearest field of a request decides what it costs."""

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
_TIER_NOT_KNOWN = "entrances googleMapsTypeLabel navigationPoints transitStation"
"""Counted at the dearest, so that nobody is surprised."""


def _tiers(**words: str) -> dict[str, Tier]:
    return {name: Tier[tier] for tier, names in words.items() for name in names.split()}


DETAILS_TIERS = _tiers(
    IDS=f"{_IDS} photos",
    ESSENTIALS=_ESSENTIALS,
    PRO=_PRO,
    ENTERPRISE=_ENTERPRISE,
    ENTERPRISE_ATMOSPHERE=f"{_ATMOSPHERE} {_TIER_NOT_KNOWN}",
)
SEARCH_TIERS = _tiers(
    IDS=_IDS,
    PRO=f"{_ESSENTIALS} {_PRO} photos",
    ENTERPRISE=_ENTERPRISE,
    ENTERPRISE_ATMOSPHERE=f"{_ATMOSPHERE} {_TIER_NOT_KNOWN}",
)
"""Of a place in the answer to a search: there is no tier for addresses alone."""

SEARCH_TOP_TIERS = _tiers(
    IDS="nextPageToken",
    PRO="searchUri",
    ENTERPRISE_ATMOSPHERE="routingSummaries contextualContents",
)
"""Beside the places."""

PARTS = {
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
"""What may be asked of a field by itself, for those of which we might."""
