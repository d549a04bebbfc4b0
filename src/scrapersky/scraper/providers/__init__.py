"""Providers of places: ask them, and read what they say into one shape."""

from scrapersky.scraper.providers.model import (
    Address,
    Area,
    PlaceFacts,
    PlacePage,
    PlaceQuery,
    Status,
)

__all__ = ["Address", "Area", "PlaceFacts", "PlacePage", "PlaceQuery", "Status"]
