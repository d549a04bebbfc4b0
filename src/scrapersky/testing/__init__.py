"""Fakes of external services for tests and the demo: place providers and sites on loopback."""

from scrapersky.testing.place_providers import DEMO_KEY, PlacesProvider
from scrapersky.testing.places import (
    Bill,
    FailureMode,
    FakeArea,
    FakeMap,
    FakePlace,
    ProviderService,
    RecordedRequest,
    scatter,
)

__all__ = [
    "DEMO_KEY",
    "Bill",
    "FailureMode",
    "FakeArea",
    "FakeMap",
    "FakePlace",
    "PlacesProvider",
    "ProviderService",
    "RecordedRequest",
    "scatter",
]
