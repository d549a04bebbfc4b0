"""Find a site's sitemaps and list the URLs in them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing
from itertools import islice
from posixpath import basename, dirname

from selectolax.lexbor import LexborHTMLParser

from scrapersky.scraper.html.charset import decode_page
from scrapersky.scraper.html.document import get_base_url, get_header_values, parse_html
from scrapersky.scraper.html.parser_pool import ParserError, ParserPool
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.fetch_errors import FetchFailed
from scrapersky.scraper.http.limits import MAX_PAGE_BYTES
from scrapersky.scraper.http.responses import Response, is_inconclusive
from scrapersky.scraper.http.robots import Robots, parse_robots_response
from scrapersky.scraper.http.urls import Site, clean_url, is_same_site, normalise_site
from scrapersky.scraper.sitemaps import events
from scrapersky.scraper.sitemaps.base_url import BaseUrl, find_base_url
from scrapersky.scraper.sitemaps.crawl import crawl_sitemaps
from scrapersky.scraper.sitemaps.scan import SitemapScan, SitemapTarget


class SitemapAnalyzer:
    """Sitemap scanner. One instance can scan many sites, also concurrently."""

    def __init__(
        self,
        fetch: Fetcher,
        *,
        limits: events.ScanLimits | None = None,
        user_agent: str = "ScraperSky",
        parser: ParserPool | None = None,
    ) -> None:
        self._fetch = fetch
        self._limits = limits or events.ScanLimits()
        self._user_agent = user_agent
        self._parser = parser
        """Parser for home pages. None parses them in this process."""

    async def analyze_domain_sitemaps(
        self,
        site: Site | str,
        *,
        max_urls: int = 1_000_000,
        exhaustive: bool = False,
        seeds: Sequence[str] = (),
        only_seeds: bool = False,
        known: events.PreviousScan | None = None,
    ) -> AsyncGenerator[events.ScanEvent, None]:
        """Scan a site and yield events as sitemaps and URLs are found. The last event is an
        `Analysis`.

        `seeds` are sitemaps named by the user; with `only_seeds`, no others are searched.
        `exhaustive` probes all common paths even if the site names its sitemaps. `known` is the
        result of an earlier scan: an unchanged sitemap yields a single event. Close the generator
        with `aclosing` to stop early.
        """
        scan = self._create_scan(site, max_urls, known)
        base = await self._find_base_url(scan)
        if base.url is None:
            yield events.Analysis(
                outcome=events.ScanOutcome.UNREACHABLE,
                base_url=None,
                errors=base.errors,
                permanent=base.permanent,
                retry_after=base.retry_after,
            )
            return
        scan.base_url, scan.guesses = base.url, not only_seeds
        yield events.BaseFound(base.url, base.tried, _get_robots_validators(base))
        robots = await self._load_robots(base, scan)
        places = (
            _iter_seeds(seeds)
            if only_seeds
            else self._iter_targets(scan, robots, seeds=seeds, exhaustive=exhaustive)
        )
        async for targets in places:
            scan.add(targets)
            visits = crawl_sitemaps(scan, self._fetch, at_once=self._limits.children_at_once)
            async with aclosing(visits):
                async for event in visits:
                    yield event
        yield scan.build_analysis()

    def _create_scan(
        self, site: Site | str, max_urls: int, known: events.PreviousScan | None
    ) -> SitemapScan:
        if isinstance(site, str):
            site = normalise_site(site, self._fetch.rules)
        ends_at = asyncio.get_running_loop().time() + self._limits.max_seconds
        return SitemapScan(
            site, limits=self._limits, max_urls=max_urls, ends_at=ends_at, known=known
        )

    async def _find_base_url(self, scan: SitemapScan) -> BaseUrl:
        try:
            async with asyncio.timeout_at(scan.ends_at):
                return await find_base_url(scan.site, self._fetch, scan.known.robots)
        except TimeoutError:
            reason = f"Nothing answered within {self._limits.max_seconds:g} s."
            return BaseUrl(None, None, ((scan.site.key, reason),))

    async def _load_robots(self, base: BaseUrl, scan: SitemapScan) -> Robots:
        answer = base.robots
        assert answer is not None
        assert base.url is not None
        scan.record_wait(answer.retry_after_seconds)
        if not is_same_site(scan.site.key, answer.final_url):
            scan.add_own_site(base.url)
            scan.warnings.append(f"{scan.site.key} redirects to another site, {base.url}.")
        robots = parse_robots_response(answer)
        if not robots.is_known:
            scan.record_unreadable(
                f"{answer.final_url} answered {answer.status}, so its sitemaps are unknown "
                "and no page was read."
            )
        if delay := robots.crawl_delay(self._user_agent):
            await self._fetch.set_crawl_delay(base.url, delay)
        return robots

    async def _iter_targets(
        self, scan: SitemapScan, robots: Robots, *, seeds: Sequence[str], exhaustive: bool
    ) -> AsyncIterator[list[SitemapTarget]]:
        """Yield the targets step by step. Later steps depend on what was found before."""
        start = f"{scan.base_url}{scan.site.path}"
        manual = [*seeds, start] if looks_like_sitemap(scan.site.path) else seeds
        yield [
            *(SitemapTarget(url, events.DiscoveryMethod.MANUAL) for url in manual),
            *(SitemapTarget(url, events.DiscoveryMethod.ROBOTS_TXT) for url in robots.sitemaps),
        ]
        if exhaustive or not (scan.usable and scan.known.sitemaps):
            is_page = scan.site.path != "/" and not looks_like_sitemap(scan.site.path)
            for page in (start, f"{scan.base_url}/") if is_page else (f"{scan.base_url}/",):
                links = await self._find_links(page, scan, robots)
                yield [SitemapTarget(url, events.DiscoveryMethod.HTML_LINK) for url in links]
        else:
            # Use the links found by the previous scan. The home page need not be read again while
            # the scan finds usable sitemaps.
            yield [
                SitemapTarget(url, events.DiscoveryMethod.HTML_LINK)
                for url in scan.known.from_home_page
            ]
        assert scan.base_url is not None
        guesses = iter_common_urls(scan.base_url, scan.site)
        for batch in _iter_batches(guesses, size=self._limits.probes_at_once):
            if scan.is_probing_done(exhaustive=exhaustive):
                return
            yield [SitemapTarget(url, events.DiscoveryMethod.COMMON_PATH) for url in batch]

    async def _find_links(self, url: str, scan: SitemapScan, robots: Robots) -> tuple[str, ...]:
        """Return the sitemaps that a page links to."""
        if not robots.can_fetch(url, self._user_agent):
            if robots.is_known:
                scan.warnings.append(
                    f"robots.txt disallows {url}, so it was not searched for sitemap links."
                )
            return ()
        try:
            async with asyncio.timeout_at(scan.ends_at):
                page = await self._fetch.get(url, max_bytes=MAX_PAGE_BYTES)
        except (FetchFailed, TimeoutError) as error:
            _record_unread(
                url, str(error) or "The time limit of the scan was reached.", scan, error
            )
            return ()
        if is_inconclusive(page.status):
            scan.record_wait(page.retry_after_seconds)
            _record_unread(url, f"It answered {page.status}.", scan)
        return await self._parse_links(page, scan) if page.status == 200 else ()

    async def _parse_links(self, page: Response, scan: SitemapScan) -> tuple[str, ...]:
        if self._parser is None:
            return find_sitemap_links(page)
        try:
            return await self._parser.run(find_sitemap_links, page, url=page.url)
        except ParserError as error:
            _record_unread(page.url, str(error), scan)
            return ()


async def _iter_seeds(seeds: Sequence[str]) -> AsyncIterator[list[SitemapTarget]]:
    yield [SitemapTarget(url, events.DiscoveryMethod.MANUAL) for url in seeds]


def _record_unread(
    url: str, reason: str, scan: SitemapScan, error: Exception | None = None
) -> None:
    sentence = f"{url} could not be searched for sitemap links: {reason}"
    if isinstance(error, FetchFailed) and error.permanent:
        scan.warnings.append(sentence)
    else:
        scan.record_unreadable(sentence)


def _iter_batches(urls: Iterable[str], *, size: int) -> Iterator[list[str]]:
    """Yield the most likely URL alone, because it usually decides, then batches."""
    rest = iter(urls)
    yield list(islice(rest, 1))
    while batch := list(islice(rest, size)):
        yield batch


def _get_robots_validators(base: BaseUrl) -> tuple[str, str | None, str | None] | None:
    """Return the robots.txt if the next scan can request it conditionally."""
    robots = base.robots
    if robots is None or robots.status != 200 or robots.truncated:
        return None
    etag, last_modified = robots.headers.get("ETag"), robots.headers.get("Last-Modified")
    if etag is None and last_modified is None:
        return None
    return robots.body.decode("utf-8", errors="replace"), etag, last_modified


# Where a site may keep its sitemaps

MAX_SITEMAP_LINKS = 50
"""Pages with more links of this type are not linking to sitemaps."""

_LOOKS_LIKE_SITEMAP = re.compile(
    r"[^?#]*sitemap[^/?#]*\.(?:xml|txt|php)(?:\.gz)?(?:[?#].*)?\Z", re.IGNORECASE | re.DOTALL
)
_HEADER_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"',;]+))", re.IGNORECASE)


def looks_like_sitemap(url: str) -> bool:
    return _LOOKS_LIKE_SITEMAP.match(url) is not None


def find_sitemap_links(page: Response) -> tuple[str, ...]:
    """Return absolute URLs without duplicates, the most reliable first."""
    links: dict[str, None] = dict.fromkeys(_find_header_links(page))
    if b"<" in page.body:
        decoded = decode_page(page.body, page.headers.get("Content-Type"))
        tree = parse_html(decoded.text)
        base = get_base_url(tree, page.final_url)
        links.update(dict.fromkeys(_find_head_links(tree, base)))
        links.update(dict.fromkeys(_find_anchor_links(tree, base)))
    return tuple(links)[:MAX_SITEMAP_LINKS]


def _find_header_links(page: Response) -> Iterator[str]:
    for target, parameters in _HEADER_LINK.findall(
        ", ".join(get_header_values(page.headers, "Link"))
    ):
        rel = _REL.search(parameters)
        words = "".join(filter(None, rel.groups())).lower().split() if rel else []
        if "sitemap" in words and (url := clean_url(target, page.final_url)):
            yield url


def _find_head_links(tree: LexborHTMLParser, base: str) -> Iterator[str]:
    for node in tree.css("link[rel][href]"):
        words = (node.attributes.get("rel") or "").lower().split()
        if "sitemap" in words and (url := clean_url(node.attributes.get("href") or "", base)):
            yield url


def _find_anchor_links(tree: LexborHTMLParser, base: str) -> Iterator[str]:
    for node in tree.css("a[href]"):
        url = clean_url(node.attributes.get("href") or "", base)
        if url and looks_like_sitemap(url) and is_same_site(base, url):
            yield url.partition("#")[0]


COMMON_PATHS = (
    "sitemap.xml",
    "sitemap_index.xml",
    "sitemap-index.xml",
    "wp-sitemap.xml",
    "sitemap.xml.gz",
    "sitemap_index.xml.gz",
    "sitemap.txt",
    "sitemap.php",
    "sitemap",
    "sitemaps.xml",
    "sitemap1.xml",
    "sitemap-0.xml",
    "sitemap/sitemap.xml",
    "sitemap/index.xml",
    "sitemap/sitemap-index.xml",
    "sitemapindex.xml",
    "post-sitemap.xml",
    "page-sitemap.xml",
    "product-sitemap.xml",
    "category-sitemap.xml",
    "sitemap_news.xml",
    "sitemap-news.xml",
    "news-sitemap.xml",
    "server-sitemap.xml",
    ".sitemap.xml",
    "admin/config/search/xmlsitemap",
    "rss.xml",
    "feed",
    "atom.xml",
)
"""Common sitemap paths, most likely first. Feeds come last, because they list only recent pages."""


def iter_common_urls(base_url: str, site: Site) -> Iterator[str]:
    """Yield the common URLs below the path the user entered, if any, then at the root."""
    path = site.path.partition("?")[0]
    folder = dirname(path) if "." in basename(path) else path
    if folder := folder.strip("/"):  # `blog` for `/blog/index.html`
        yield from (f"{base_url}/{folder}/{path}" for path in COMMON_PATHS)
    yield from (f"{base_url}/{path}" for path in COMMON_PATHS)
