"""Place providers: query them and parse their responses into one model."""

from scrapersky.scraper.providers.model import (
    Area,
    OperationalStatus,
    PlaceAddress,
    PlaceFacts,
    PlacePage,
    PlaceQuery,
)

__all__ = ["Area", "OperationalStatus", "PlaceAddress", "PlaceFacts", "PlacePage", "PlaceQuery"]
