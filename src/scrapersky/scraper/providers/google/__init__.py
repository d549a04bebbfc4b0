"""Google Places (New): what is asked, how answers and errors are read."""

from scrapersky.scraper.providers.google.client import GooglePlaces
from scrapersky.scraper.providers.google.masks import (
    DETAILS_FULL,
    DETAILS_ID,
    SEARCH_FULL,
    SEARCH_IDS,
    Mask,
)

__all__ = ["DETAILS_FULL", "DETAILS_ID", "SEARCH_FULL", "SEARCH_IDS", "GooglePlaces", "Mask"]
