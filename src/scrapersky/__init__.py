"""Turn a place search, a list of domains or one site into sitemaps, URLs, pages and contacts.

Three functions work without a database:

    find_contacts(html, url=url)      e-mail addresses, phone numbers and profiles of a page
    parse_sitemap(data, url=url)      entries of a sitemap, sitemap index or feed
    parse_robots(data, url=url)       sitemaps and rules of a robots.txt

They are imported on first use, so `import scrapersky` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapersky.scraper.contacts.finder import find_contacts
    from scrapersky.scraper.http.robots import parse_robots
    from scrapersky.scraper.sitemaps.parse import parse_sitemap

__all__ = ["__version__", "find_contacts", "parse_robots", "parse_sitemap"]

__version__ = "0.2.0"

_MODULES = {
    "find_contacts": "scrapersky.scraper.contacts.finder",
    "parse_robots": "scrapersky.scraper.http.robots",
    "parse_sitemap": "scrapersky.scraper.sitemaps.parse",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
