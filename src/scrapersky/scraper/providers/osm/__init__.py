"""OpenStreetMap: Nominatim for named areas, Overpass for the places in them."""

from scrapersky.scraper.providers.osm.client import ATTRIBUTION, NamedArea, Nominatim, Overpass

__all__ = ["ATTRIBUTION", "NamedArea", "Nominatim", "Overpass"]
