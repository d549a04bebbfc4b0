"""Find a site's sitemaps and list the URLs in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing
from itertools import islice

from scrapersky.scraper.bases import Base, find_base
from scrapersky.scraper.events import (
    Analysis,
    BaseFound,
    Event,
    Limits,
    Method,
    Outcome,
)
from scrapersky.scraper.failures import FetchFailed
from scrapersky.scraper.home_page import looks_like_sitemap, sitemap_links
from scrapersky.scraper.known import Known
from scrapersky.scraper.limits import MAX_PAGE_BYTES
from scrapersky.scraper.parser_pool import ParserError, ParserPool
from scrapersky.scraper.politeness import MAX_CRAWL_DELAY_SECONDS
from scrapersky.scraper.responses import Fetches, Response, is_inconclusive
from scrapersky.scraper.robots import Robots, robots_of
from scrapersky.scraper.scan import Scan, Target
from scrapersky.scraper.urls import Site, is_same_site, normalise_site
from scrapersky.scraper.visits import make_visits
from scrapersky.scraper.well_known import well_known_urls


class SitemapAnalyzer:
    """Looks at sites; one analyzer may look at many, also at once."""

    def __init__(
        self,
        fetch: Fetches,
        *,
        limits: Limits | None = None,
        user_agent: str = "ScraperSky",
        parser: ParserPool | None = None,
    ) -> None:
        self._fetch = fetch
        self._limits = limits or Limits()
        self._user_agent = user_agent
        self._parser = parser
        """Reads home pages; None means that they are read in this process."""

    async def analyze_domain_sitemaps(
        self,
        site: Site | str,
        *,
        max_urls: int = 1_000_000,
        exhaustive: bool = False,
        seeds: Sequence[str] = (),
        only_seeds: bool = False,
        known: Known | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Tell of the site's sitemaps and URLs as they are found; the last event is an `Analysis`.

        `seeds` are sitemaps that the person already knows, with `only_seeds` no others are looked
        for; `exhaustive` guesses all the usual places even where the site names its sitemaps;
        `known` is what an earlier scan left: what has not changed since is told in one event.
        Close it with `aclosing` to stop early.
        """
        scan = self._scan_of(site, max_urls, known)
        base = await self._find_base(scan)
        if base.url is None:
            yield _unreachable(base)
            return
        scan.base_url, scan.guesses = base.url, not only_seeds
        yield BaseFound(base.url, base.tried, _validated(base))
        robots = await self._robots(base, scan)
        places = (
            _given(seeds)
            if only_seeds
            else self._places(scan, robots, seeds=seeds, exhaustive=exhaustive)
        )
        async for targets in places:
            scan.add(targets)
            visits = make_visits(scan, self._fetch, at_once=self._limits.children_at_once)
            async with aclosing(visits):
                async for event in visits:
                    yield event
        yield scan.analysis()

    def _scan_of(self, site: Site | str, max_urls: int, known: Known | None) -> Scan:
        if isinstance(site, str):
            rules = self._fetch.rules
            site = normalise_site(
                site,
                allowed_networks=rules.allowed_networks,
                allowed_ports=rules.allowed_ports,
                resolve=rules.resolve,
            )
        ends_at = asyncio.get_running_loop().time() + self._limits.max_seconds
        return Scan(site, limits=self._limits, max_urls=max_urls, ends_at=ends_at, known=known)

    async def _find_base(self, scan: Scan) -> Base:
        try:
            async with asyncio.timeout_at(scan.ends_at):
                return await find_base(scan.site, self._fetch, scan.known.robots)
        except TimeoutError:
            reason = f"Nothing answered within {self._limits.max_seconds:g} seconds."
            return Base(None, None, ((scan.site.key, reason),))

    async def _robots(self, base: Base, scan: Scan) -> Robots:
        answer = base.robots
        assert answer is not None
        assert base.url is not None
        scan.note_wait(answer.retry_after_seconds)
        if not is_same_site(scan.site.key, answer.final_url):
            scan.also_owns(base.url)
            scan.warnings.append(f"{scan.site.key} redirects to another site, {base.url}.")
        robots = robots_of(answer)
        if not robots.is_known:
            scan.note_blindness(
                f"{answer.final_url} answered {answer.status}, so we do not know what it names "
                "and read no page."
            )
        delay = robots.crawl_delay(self._user_agent)
        if delay:
            await self._fetch.set_crawl_delay(base.url, min(delay, MAX_CRAWL_DELAY_SECONDS))
        return robots

    async def _places(
        self, scan: Scan, robots: Robots, *, seeds: Sequence[str], exhaustive: bool
    ) -> AsyncIterator[list[Target]]:
        """Where to look, step by step; how it goes on depends on what was found meanwhile."""
        yield [
            *(Target(url, Method.MANUAL) for url in (*seeds, *_start_if_sitemap(scan))),
            *(Target(url, Method.ROBOTS_TXT) for url in robots.sitemaps),
        ]
        if exhaustive or not (scan.usable and scan.known.sitemaps):
            for page in _start_pages(scan):
                links = await self._links(page, scan, robots)
                yield [Target(url, Method.HTML_LINK) for url in links]
        else:
            # It named these when it was read; a scan that finds its way needs no more.
            yield [Target(url, Method.HTML_LINK) for url in scan.known.from_home_page]
        assert scan.base_url is not None
        guesses = well_known_urls(scan.base_url, scan.site)
        for batch in _batches(guesses, size=self._limits.probes_at_once):
            if scan.is_done_guessing(exhaustive=exhaustive):
                return
            yield [Target(url, Method.COMMON_PATH) for url in batch]

    async def _links(self, url: str, scan: Scan, robots: Robots) -> tuple[str, ...]:
        """The sitemaps that a page names."""
        if not robots.can_fetch(url, self._user_agent):
            if robots.is_known:
                scan.warnings.append(f"robots.txt forbids {url}, so it was not read for links.")
            return ()
        try:
            async with asyncio.timeout_at(scan.ends_at):
                page = await self._fetch.get(url, max_bytes=MAX_PAGE_BYTES)
        except (FetchFailed, TimeoutError) as error:
            _note_unread(url, str(error) or "The time is over.", scan, error)
            return ()
        if is_inconclusive(page.status):
            scan.note_wait(page.retry_after_seconds)
            _note_unread(url, f"It answered {page.status}.", scan)
        return await self._read_links(page, scan) if page.status == 200 else ()

    async def _read_links(self, page: Response, scan: Scan) -> tuple[str, ...]:
        if self._parser is None:
            return sitemap_links(page)
        try:
            return await self._parser.run(sitemap_links, page, url=page.url)
        except ParserError as error:
            _note_unread(page.url, str(error), scan)
            return ()


async def _given(seeds: Sequence[str]) -> AsyncIterator[list[Target]]:
    yield [Target(url, Method.MANUAL) for url in seeds]


def _note_unread(url: str, reason: str, scan: Scan, error: Exception | None = None) -> None:
    sentence = f"{url} could not be read for links: {reason}"
    if isinstance(error, FetchFailed) and error.permanent:
        scan.warnings.append(sentence)
    else:
        scan.note_blindness(sentence)


def _start_pages(scan: Scan) -> Iterator[str]:
    """The page that the person gave, if it is one, and the home page."""
    if scan.site.path != "/" and not looks_like_sitemap(scan.site.path):
        yield f"{scan.base_url}{scan.site.path}"
    yield f"{scan.base_url}/"


def _start_if_sitemap(scan: Scan) -> Iterator[str]:
    if looks_like_sitemap(scan.site.path):
        yield f"{scan.base_url}{scan.site.path}"


def _batches(urls: Iterable[str], *, size: int) -> Iterator[list[str]]:
    """The likeliest alone, as it mostly decides, then several at a time."""
    rest = iter(urls)
    yield list(islice(rest, 1))
    while batch := list(islice(rest, size)):
        yield batch


def _validated(base: Base) -> tuple[str, str | None, str | None] | None:
    """The robots.txt, if the next scan can ask whether it has changed."""
    robots = base.robots
    if robots is None or robots.status != 200 or robots.truncated:
        return None
    etag, last_modified = robots.headers.get("ETag"), robots.headers.get("Last-Modified")
    if etag is None and last_modified is None:
        return None
    return robots.body.decode("utf-8", errors="replace"), etag, last_modified


def _unreachable(base: Base) -> Analysis:
    return Analysis(
        outcome=Outcome.UNREACHABLE,
        base_url=None,
        errors=base.errors,
        permanent=base.permanent,
        retry_after=base.retry_after,
    )
