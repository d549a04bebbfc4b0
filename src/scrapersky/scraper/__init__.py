"""Fetch and parse the web: sitemaps, robots.txt, pages. No database and no framework.

    async with Fetcher.from_settings(settings) as fetch:
        async for event in SitemapAnalyzer(fetch).analyze_domain_sitemaps("example.com"):
            ...

`parse_sitemap`, `parse_robots` and `parse_lastmod` parse what was fetched by other means.


    async with Fetcher.from_settings(settings) as fetch:
        async for event in SitemapAnalyzer(fetch).analyze_domain_sitemaps("example.com"):
            ...

`parse_sitemap`, `parse_robots` and `parse_lastmod` read what was fetched by other means.
"""

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
from scrapersky.scraper.http.responses import FetcherProtocol, Redirect, Response, StreamedResponse
from scrapersky.scraper.http.robots import Robots, parse_robots
from scrapersky.scraper.http.urls import Site, clean_url, is_same_site, normalise_site, url_digest
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
