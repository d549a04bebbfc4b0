"""Fetch and parse the web: sitemaps, robots.txt, pages. No database and no framework.

    async with Fetcher.from_settings(settings) as fetch:
        async for event in SitemapAnalyzer(fetch).analyze_domain_sitemaps("example.com"):
            ...

`parse_sitemap`, `parse_robots` and `parse_lastmod` parse content that was fetched by other means.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapersky.scraper.http.addresses import AddressRules
    from scrapersky.scraper.http.fetch import Fetcher
    from scrapersky.scraper.http.fetch_errors import (
        Blocked,
        ConnectionFailed,
        DoesNotResolve,
        FetchFailed,
        HostClosed,
        ResolverFailed,
        TimedOut,
        TlsFailed,
        TooManyRedirects,
    )
    from scrapersky.scraper.http.limits import FetchLimits
    from scrapersky.scraper.http.rate_limit import FetchErrorKind, Gate, HostOutcome, LocalGate
    from scrapersky.scraper.http.responses import (
        Redirect,
        Response,
        StreamedResponse,
    )
    from scrapersky.scraper.http.robots import Robots, parse_robots
    from scrapersky.scraper.http.urls import (
        Site,
        clean_url,
        is_same_site,
        normalise_site,
        url_digest,
    )
    from scrapersky.scraper.sitemaps.events import (
        Analysis,
        BaseFound,
        DiscoveryMethod,
        ScanEvent,
        ScanLimits,
        ScanOutcome,
        SitemapDone,
        SitemapFound,
        SitemapRejected,
        SitemapStatus,
        SitemapType,
        UrlsFound,
    )
    from scrapersky.scraper.sitemaps.parse import (
        ParsedSitemap,
        SitemapFormat,
        SitemapStream,
        UrlEntry,
        parse_sitemap,
    )
    from scrapersky.scraper.sitemaps.parse.dates import parse_lastmod
    from scrapersky.scraper.sitemaps.sitemap_analyzer import SitemapAnalyzer

__all__ = [
    "AddressRules",
    "Analysis",
    "BaseFound",
    "Blocked",
    "ConnectionFailed",
    "DiscoveryMethod",
    "DoesNotResolve",
    "FetchErrorKind",
    "FetchFailed",
    "FetchLimits",
    "Fetcher",
    "Gate",
    "HostClosed",
    "HostOutcome",
    "LocalGate",
    "ParsedSitemap",
    "Redirect",
    "ResolverFailed",
    "Response",
    "Robots",
    "ScanEvent",
    "ScanLimits",
    "ScanOutcome",
    "Site",
    "SitemapAnalyzer",
    "SitemapDone",
    "SitemapFormat",
    "SitemapFound",
    "SitemapRejected",
    "SitemapStatus",
    "SitemapStream",
    "SitemapType",
    "StreamedResponse",
    "TimedOut",
    "TlsFailed",
    "TooManyRedirects",
    "UrlEntry",
    "UrlsFound",
    "clean_url",
    "is_same_site",
    "normalise_site",
    "parse_lastmod",
    "parse_robots",
    "parse_sitemap",
    "url_digest",
]

_NAMES_BY_MODULE = {
    "http.addresses": "AddressRules",
    "http.fetch": "Fetcher",
    "http.fetch_errors": "Blocked ConnectionFailed DoesNotResolve FetchFailed HostClosed "
    "ResolverFailed TimedOut TlsFailed TooManyRedirects",
    "http.limits": "FetchLimits",
    "http.rate_limit": "FetchErrorKind Gate HostOutcome LocalGate",
    "http.responses": "Redirect Response StreamedResponse",
    "http.robots": "Robots parse_robots",
    "http.urls": "Site clean_url is_same_site normalise_site url_digest",
    "sitemaps.parse.dates": "parse_lastmod",
    "sitemaps.events": "Analysis BaseFound DiscoveryMethod ScanEvent ScanLimits ScanOutcome "
    "SitemapDone SitemapFound SitemapRejected SitemapStatus SitemapType UrlsFound",
    "sitemaps.parse": "ParsedSitemap SitemapFormat SitemapStream UrlEntry parse_sitemap",
    "sitemaps.sitemap_analyzer": "SitemapAnalyzer",
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that a program loads only what it needs."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
