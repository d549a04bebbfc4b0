"""Google Places API (New)."""

from scrapersky.scraper.providers.google.client import GooglePlaces
from scrapersky.scraper.providers.google.field_masks import (
    DETAILS_FULL,
    DETAILS_ID,
    SEARCH_FULL,
    SEARCH_IDS,
    FieldMask,
)

__all__ = ["DETAILS_FULL", "DETAILS_ID", "SEARCH_FULL", "SEARCH_IDS", "FieldMask", "GooglePlaces"]
