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
        FetcherProtocol,
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
    from scrapersky.scraper.sitemaps.dates import parse_lastmod
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
    "FetcherProtocol",
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

_MODULES = {
    "AddressRules": "scrapersky.scraper.http.addresses",
    "Fetcher": "scrapersky.scraper.http.fetch",
    "Blocked": "scrapersky.scraper.http.fetch_errors",
    "ConnectionFailed": "scrapersky.scraper.http.fetch_errors",
    "DoesNotResolve": "scrapersky.scraper.http.fetch_errors",
    "FetchFailed": "scrapersky.scraper.http.fetch_errors",
    "HostClosed": "scrapersky.scraper.http.fetch_errors",
    "ResolverFailed": "scrapersky.scraper.http.fetch_errors",
    "TimedOut": "scrapersky.scraper.http.fetch_errors",
    "TlsFailed": "scrapersky.scraper.http.fetch_errors",
    "TooManyRedirects": "scrapersky.scraper.http.fetch_errors",
    "FetchLimits": "scrapersky.scraper.http.limits",
    "FetchErrorKind": "scrapersky.scraper.http.rate_limit",
    "Gate": "scrapersky.scraper.http.rate_limit",
    "HostOutcome": "scrapersky.scraper.http.rate_limit",
    "LocalGate": "scrapersky.scraper.http.rate_limit",
    "FetcherProtocol": "scrapersky.scraper.http.responses",
    "Redirect": "scrapersky.scraper.http.responses",
    "Response": "scrapersky.scraper.http.responses",
    "StreamedResponse": "scrapersky.scraper.http.responses",
    "Robots": "scrapersky.scraper.http.robots",
    "parse_robots": "scrapersky.scraper.http.robots",
    "Site": "scrapersky.scraper.http.urls",
    "clean_url": "scrapersky.scraper.http.urls",
    "is_same_site": "scrapersky.scraper.http.urls",
    "normalise_site": "scrapersky.scraper.http.urls",
    "url_digest": "scrapersky.scraper.http.urls",
    "parse_lastmod": "scrapersky.scraper.sitemaps.dates",
    "Analysis": "scrapersky.scraper.sitemaps.events",
    "BaseFound": "scrapersky.scraper.sitemaps.events",
    "DiscoveryMethod": "scrapersky.scraper.sitemaps.events",
    "ScanEvent": "scrapersky.scraper.sitemaps.events",
    "ScanLimits": "scrapersky.scraper.sitemaps.events",
    "ScanOutcome": "scrapersky.scraper.sitemaps.events",
    "SitemapDone": "scrapersky.scraper.sitemaps.events",
    "SitemapFound": "scrapersky.scraper.sitemaps.events",
    "SitemapRejected": "scrapersky.scraper.sitemaps.events",
    "SitemapStatus": "scrapersky.scraper.sitemaps.events",
    "SitemapType": "scrapersky.scraper.sitemaps.events",
    "UrlsFound": "scrapersky.scraper.sitemaps.events",
    "ParsedSitemap": "scrapersky.scraper.sitemaps.parse",
    "SitemapFormat": "scrapersky.scraper.sitemaps.parse",
    "SitemapStream": "scrapersky.scraper.sitemaps.parse",
    "UrlEntry": "scrapersky.scraper.sitemaps.parse",
    "parse_sitemap": "scrapersky.scraper.sitemaps.parse",
    "SitemapAnalyzer": "scrapersky.scraper.sitemaps.sitemap_analyzer",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
