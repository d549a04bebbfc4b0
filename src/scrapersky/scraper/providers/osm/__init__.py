"""OpenStreetMap: Nominatim for where something lies, Overpass for the places there."""

from scrapersky.scraper.providers.osm.nominatim import NamedArea, Nominatim
from scrapersky.scraper.providers.osm.overpass import ATTRIBUTION, Overpass

__all__ = ["ATTRIBUTION", "NamedArea", "Nominatim", "Overpass"]
