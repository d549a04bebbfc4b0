"""Ask a site for its home page and tell what it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import count

from scrapersky.scraper.bases import Base, find_base
from scrapersky.scraper.failures import FetchFailed, HostClosed
from scrapersky.scraper.limits import MAX_PAGE_BYTES
from scrapersky.scraper.politeness import MAX_CRAWL_DELAY_SECONDS
from scrapersky.scraper.responses import Fetches, Response
from scrapersky.scraper.robots import robots_of
from scrapersky.scraper.site_metadata.model import SiteMetadata, SiteState
from scrapersky.scraper.site_metadata.reading import SiteVisit, look_at
from scrapersky.scraper.site_metadata.sites import registrable_site
from scrapersky.scraper.urls import Site, host_of, normalise_site, origin_of

LONGEST_PAUSE_SECONDS = 30.0
"""Who asks us to wait longer is asked again by whoever called, later."""
LONG_PAGE_BYTES = 256 * 1024
"""Reading more than that takes long enough to keep others waiting, so it is done beside them."""
MAX_FORWARDINGS = 2

ReadHomePage = Callable[[Response, str], Awaitable[SiteVisit]]
"""Given the answer and the name that was asked for."""

_WANTED = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
_PASSING = frozenset({408, 425, 429})
_FINAL = frozenset({SiteState.BLOCKED, SiteState.PARKED, SiteState.REDIRECTED, SiteState.DEAD})
"""What such a page would send us to is not the site's home page."""


class SiteInTrouble(FetchFailed):
    """The site answered that it cannot answer just now."""

    def __init__(self, reason: str, *, url: str, status: int) -> None:
        super().__init__(reason, url=url)
        self.status = status


async def detect_site_metadata(
    url_or_domain: Site | str,
    *,
    fetch: Fetches,
    max_retries: int = 3,
    first_pause_seconds: float = 0.5,
    user_agent: str = "ScraperSky",
) -> SiteMetadata:
    """What `visit_site` finds out, without the page itself."""
    visit = await visit_site(
        url_or_domain,
        fetch=fetch,
        max_retries=max_retries,
        first_pause_seconds=first_pause_seconds,
        user_agent=user_agent,
    )
    return visit.metadata


async def visit_site(
    url_or_domain: Site | str,
    *,
    fetch: Fetches,
    max_retries: int = 3,
    first_pause_seconds: float = 0.5,
    user_agent: str = "ScraperSky",
    read: ReadHomePage | None = None,
) -> SiteVisit:
    """Fetch the home page over https, `www.` or http and read it.

    What will not pass (no such name, no valid certificate) is told as a dead site. What may pass
    (no answer, 5xx, 429) is tried again `max_retries` times and then raised as it is; once the
    caller has given up too, `dead_site` makes a result of it. Pages are read in this process
    unless `read` does it elsewhere.
    """
    site = _site(url_or_domain, fetch)
    for attempt in count():
        try:
            return await _visit(site, fetch, user_agent, read or _read_here)
        except FetchFailed as error:
            if error.permanent:
                return SiteVisit(dead_site(error, url=site.key))
            pause = _pause(error, first_pause_seconds * 2**attempt)
            if attempt >= max_retries or pause > LONGEST_PAUSE_SECONDS:
                raise
        await asyncio.sleep(pause)
    raise AssertionError("counting has no end")


def dead_site(error: FetchFailed, *, url: str) -> SiteMetadata:
    """What is known of a site from which no page was had, after the last attempt."""
    is_kept_out = isinstance(error, HostClosed) and error.asked
    return SiteMetadata(
        url=url,
        state=SiteState.BLOCKED if is_kept_out else SiteState.DEAD,
        reason=str(error),
        status_code=error.status if isinstance(error, SiteInTrouble) else None,
    )


def _site(url_or_domain: Site | str, fetch: Fetches) -> Site:
    if isinstance(url_or_domain, Site):
        return url_or_domain
    rules = fetch.rules
    return normalise_site(
        url_or_domain,
        allowed_networks=rules.allowed_networks,
        allowed_ports=rules.allowed_ports,
        resolve=rules.resolve,
    )


def _pause(error: FetchFailed, otherwise: float) -> float:
    """As long as the host asks for, else our own."""
    return error.seconds_left if isinstance(error, HostClosed) else otherwise


async def _visit(site: Site, fetch: Fetches, user_agent: str, read: ReadHomePage) -> SiteVisit:
    base = await find_base(site, fetch)
    if base.url is None or base.robots is None:
        raise _most_telling(base)
    home = _home(site, base, base.robots)
    robots = robots_of(base.robots)
    if not robots.is_known:
        return await _unless_trouble(base.robots, site, read)
    if not robots.can_fetch(home, user_agent):
        return SiteVisit(_disallowed(site, base.robots))
    if delay := robots.crawl_delay(user_agent):
        await fetch.set_crawl_delay(home, min(delay, MAX_CRAWL_DELAY_SECONDS))
    return await _read(home, site, fetch, read)


def _most_telling(base: Base) -> FetchFailed:
    """What may pass is worth another attempt, whatever else went wrong; the sentence tells all."""
    failure = next((each for each in base.failures if not each.permanent), base.failures[0])
    if isinstance(failure, HostClosed):
        return failure
    return type(failure)(" ".join(base.errors), url=failure.url)


def _home(site: Site, base: Base, robots: Response) -> str:
    """On the site's own host; if that leads elsewhere, the home page's redirect shall tell."""
    is_own = registrable_site(robots.final_url) == registrable_site(site.key)
    return f"{base.url if is_own else origin_of(robots.url)}/"


def _disallowed(site: Site, robots: Response) -> SiteMetadata:
    reason = f"The robots.txt of {host_of(robots.final_url)} forbids reading its home page."
    return SiteMetadata(site.key, SiteState.DISALLOWED, reason, final_url=robots.final_url)


async def _read(url: str, site: Site, fetch: Fetches, read: ReadHomePage) -> SiteVisit:
    """Read the home page, or the page to which it sends its visitors within the site."""
    seen = {url}
    while True:
        page = await fetch.get(url, headers=_WANTED, max_bytes=MAX_PAGE_BYTES)
        visit = await _unless_trouble(page, site, read)
        target = _sent_to(visit)
        if target is None or target in seen or len(seen) > MAX_FORWARDINGS:
            return visit
        seen.add(target)
        url = target


def _sent_to(visit: SiteVisit) -> str | None:
    forwarding = visit.forwarding
    if visit.page is None or forwarding is None or visit.metadata.state in _FINAL:
        return None
    if forwarding.means == "in a frame":
        return None
    is_own = registrable_site(forwarding.url) == registrable_site(visit.page.final_url)
    return forwarding.url if is_own else None


async def _read_here(page: Response, asked: str) -> SiteVisit:
    if len(page.body) > LONG_PAGE_BYTES:
        return await asyncio.to_thread(look_at, page, asked=asked)
    return look_at(page, asked=asked)


async def _unless_trouble(page: Response, site: Site, read: ReadHomePage) -> SiteVisit:
    """What the answer says, unless it says to come back later."""
    visit = await read(page, site.key)
    is_passing = page.status in _PASSING or page.status >= 500
    if visit.metadata.blocked_by or not is_passing:
        return visit
    host, wait = host_of(page.final_url), page.retry_after_seconds
    if wait is not None:
        until = datetime.now(UTC) + timedelta(seconds=wait)
        reason = f"{host} answered {page.status} and asked us to stay away for {wait:.0f} s."
        raise HostClosed(reason, until=until, url=page.final_url)
    reason = f"{host} answered {page.status}."
    raise SiteInTrouble(reason, url=page.final_url, status=page.status)
