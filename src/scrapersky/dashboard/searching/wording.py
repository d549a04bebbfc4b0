"""How searches and money read on a page."""

from __future__ import annotations

from scrapersky.places.governor import dollars as dollars

METHODS = {"SearchText": "Searches", "GetPlace": "Details of places"}
PROVIDERS = {
    "google": "Google",
    "osm": "OpenStreetMap",
    "csv": "a list of your own",
    "site": "the site itself",
}


def sku_in_words(sku: str) -> str:
    """`text_search.enterprise` → `Text search, enterprise`."""
    return sku.replace("_", " ").replace(".", ", ").capitalize()


def method_in_words(method: str) -> str:
    return METHODS.get(method, method)


def provider_in_words(provider: str | None) -> str:
    return PROVIDERS.get(provider or "", provider or "")
