"""Fetch and read the web: sitemaps, robots.txt, pages. No database and no framework in here.

    async with Fetcher.from_settings(settings) as fetch:
        async for event in SitemapAnalyzer(fetch).analyze_domain_sitemaps("example.com"):
            ...

`parse_sitemap`, `parse_robots` and `parse_lastmod` read what was fetched by other means.
"""

from scrapersky.scraper.addresses import AddressRules
from scrapersky.scraper.dates import parse_lastmod
from scrapersky.scraper.events import (
    Analysis,
    BaseFound,
    Event,
    Limits,
    Method,
    Outcome,
    Refused,
    SitemapDone,
    SitemapFound,
    SitemapStatus,
    SitemapType,
    UrlsFound,
)
from scrapersky.scraper.failures import (
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
from scrapersky.scraper.fetch import Fetcher
from scrapersky.scraper.limits import FetchLimits
from scrapersky.scraper.politeness import ErrorKind, Gate, HostOutcome, LocalGate
from scrapersky.scraper.responses import Fetches, Redirect, Response, StreamedResponse
from scrapersky.scraper.robots import Robots, parse_robots
from scrapersky.scraper.sitemap_analyzer import SitemapAnalyzer
from scrapersky.scraper.sitemap_parser import (
    Entry,
    Kind,
    ParsedSitemap,
    SitemapStream,
    parse_sitemap,
)
from scrapersky.scraper.urls import (
    Site,
    clean_url,
    is_same_site,
    normalise_site,
    url_digest,
)

__all__ = [
    "AddressRules",
    "Analysis",
    "BaseFound",
    "Blocked",
    "ConnectionFailed",
    "DoesNotResolve",
    "Entry",
    "ErrorKind",
    "Event",
    "FetchFailed",
    "FetchLimits",
    "Fetcher",
    "Fetches",
    "Gate",
    "HostClosed",
    "HostOutcome",
    "Kind",
    "Limits",
    "LocalGate",
    "Method",
    "Outcome",
    "ParsedSitemap",
    "Redirect",
    "Refused",
    "ResolverFailed",
    "Response",
    "Robots",
    "Site",
    "SitemapAnalyzer",
    "SitemapDone",
    "SitemapFound",
    "SitemapStatus",
    "SitemapStream",
    "SitemapType",
    "StreamedResponse",
    "TimedOut",
    "TlsFailed",
    "TooManyRedirects",
    "UrlsFound",
    "clean_url",
    "is_same_site",
    "normalise_site",
    "parse_lastmod",
    "parse_robots",
    "parse_sitemap",
    "url_digest",
]
