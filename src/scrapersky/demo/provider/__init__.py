"""Place providers on loopback that behave like the real ones, and count what they would bill."""

from scrapersky.demo.provider.bill import Asked, Bill
from scrapersky.demo.provider.map import FakeArea, FakeMap, FakePlace, scatter
from scrapersky.demo.provider.server import DEMO_KEY, PlacesProvider
from scrapersky.demo.provider.troubles import Service, Trouble

__all__ = [
    "DEMO_KEY",
    "Asked",
    "Bill",
    "FakeArea",
    "FakeMap",
    "FakePlace",
    "PlacesProvider",
    "Service",
    "Trouble",
    "scatter",
]
