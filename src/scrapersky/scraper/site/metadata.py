"""Fetch a site's home page and detect its technologies, organisation and state.

    metadata = await detect_site_metadata("bakery.example", fetch=fetch)

`read_site` analyzes a home page that was already fetched. `fingerprints.toml` defines how
technologies and placeholder pages are recognized.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count

from scrapersky.scraper.contacts.model import ContactSearchResult
from scrapersky.scraper.html.document import Document, open_document
from scrapersky.scraper.html.facts import extract_facts, parse_json_ld
from scrapersky.scraper.html.model import PageFacts
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.fetch_errors import FetchFailed, HostClosed
from scrapersky.scraper.http.limits import MAX_PAGE_BYTES
from scrapersky.scraper.http.responses import Response, is_transient
from scrapersky.scraper.http.robots import parse_robots_response
from scrapersky.scraper.http.urls import (
    Site,
    get_host,
    get_origin,
    get_registrable_site,
    normalise_site,
)
from scrapersky.scraper.site import fingerprints
from scrapersky.scraper.site.model import SiteMetadata, SiteState, Technology
from scrapersky.scraper.site.organisation import find_favicon, find_logo, find_organisation
from scrapersky.scraper.site.states import ClientRedirect, detect_state, find_client_redirect
from scrapersky.scraper.sitemaps.base_url import BaseUrl, find_base_url

OWN_PAGE_STATES = frozenset(
    {SiteState.OK, SiteState.REDIRECTED, SiteState.JAVASCRIPT_ONLY, SiteState.UNDER_CONSTRUCTION}
)
"""States in which the page belongs to the site, so its content describes the site."""


@dataclass(frozen=True)
class SiteVisit:
    """A site's metadata, with the page it was read from for further extraction."""

    metadata: SiteMetadata
    page: Response | None = None
    """None if the site did not answer or robots.txt disallows the page."""
    document: Document | None = None
    """The parsed page, if it was parsed in this process."""
    facts: PageFacts | None = None
    forwarding: ClientRedirect | None = None
    """The page's client-side redirect."""
    contacts: ContactSearchResult | None = None
    """None if contacts were not extracted."""

    @property
    def is_own_page(self) -> bool:
        return self.page is not None and self.metadata.state in OWN_PAGE_STATES


def read_site(page: Response, *, requested_url: str | None = None) -> SiteMetadata:
    """Return the metadata of a fetched home page; `requested_url` may be a bare domain."""
    return analyze_home_page(page, requested_url=requested_url).metadata


def analyze_home_page(page: Response, *, requested_url: str | None = None) -> SiteVisit:
    requested_url = requested_url or page.url
    document = open_document(page)
    facts = extract_facts(document)
    evidence = fingerprints.collect_evidence(page.headers, page.final_url, document)
    verdict = detect_state(page, document, facts, evidence, requested_url=requested_url)
    metadata = SiteMetadata(
        url=requested_url,
        state=verdict.state,
        reason=verdict.reason,
        final_url=page.final_url,
        status_code=page.status,
        redirected_to=verdict.redirected_to,
        blocked_by=verdict.blocked_by,
    )
    if verdict.state in OWN_PAGE_STATES:
        metadata = _add_page_facts(metadata, document, facts)
    else:
        evidence = fingerprints.collect_evidence(page.headers, page.final_url)
    return SiteVisit(
        _add_technologies(metadata, evidence),
        page,
        document,
        facts,
        forwarding=find_client_redirect(document, facts),
    )


def _add_page_facts(metadata: SiteMetadata, document: Document, facts: PageFacts) -> SiteMetadata:
    organisation = find_organisation(document, parse_json_ld(document))
    return replace(
        metadata,
        title=facts.title,
        description=facts.description,
        language=facts.language,
        favicon_url=find_favicon(document),
        logo_url=find_logo(document, facts, organisation),
        organisation=organisation,
        schema_types=facts.schema_types,
        has_contact_form=facts.has_contact_form,
        charset=facts.charset,
    )


def _add_technologies(metadata: SiteMetadata, evidence: fingerprints.SiteEvidence) -> SiteMetadata:
    technologies = fingerprints.find_technologies(evidence)
    builder, shop = _find_system(technologies, "builder"), _find_system(technologies, "shop")
    cms = _find_system(technologies, "cms") or builder or shop
    return replace(
        metadata,
        cms=cms.name if cms else None,
        cms_version=cms.version if cms else None,
        wordpress_version=_get_version(technologies, "WordPress"),
        elementor_version=_get_version(technologies, "Elementor"),
        site_builder=builder.name if builder else None,
        shop_system=shop.name if shop else None,
        tech_stack=technologies,
    )


@cache
def _map_categories() -> dict[str, tuple[str, str | None]]:
    return {each.name: (each.category, each.also) for each in fingerprints.list_technologies()}


def _find_system(technologies: Iterable[Technology], category: str) -> Technology | None:
    """Return the main system of a category: the one named in the generator tag, else the first."""
    of_kind: Iterator[Technology] = (
        each for each in technologies if category in _map_categories()[each.name]
    )
    surest_first = sorted(of_kind, key=lambda each: not each.evidence.startswith("generator"))
    return next(iter(surest_first), None)


def _get_version(technologies: Iterable[Technology], name: str) -> str | None:
    return next((each.version for each in technologies if each.name == name), None)


MAX_PAUSE_SECONDS = 30.0
"""Longest wait between attempts. If a host asks for more, the error is raised and the caller
retries later.
"""
THREAD_THRESHOLD_BYTES = 256 * 1024
"""Larger pages are parsed in a thread, because parsing them would block the event loop."""
MAX_CLIENT_REDIRECTS = 2

ReadHomePage = Callable[[Response, str], Awaitable[SiteVisit]]
"""Takes the response and the requested domain."""

_REQUEST_HEADERS = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
_FINAL_STATES = frozenset(
    {SiteState.BLOCKED, SiteState.PARKED, SiteState.REDIRECTED, SiteState.DEAD}
)
"""Client-side redirects are not followed: their target is not the site's home page."""


class SiteUnavailable(FetchFailed):
    """The site answered with a transient error status."""

    def __init__(self, reason: str, *, url: str, status: int) -> None:
        super().__init__(reason, url=url)
        self.status = status


async def detect_site_metadata(
    url_or_domain: Site | str,
    *,
    fetch: Fetcher,
    max_retries: int = 3,
    first_pause_seconds: float = 0.5,
    user_agent: str = "ScraperSky",
) -> SiteMetadata:
    """Return the metadata that `visit_site` finds, without the page."""
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
    fetch: Fetcher,
    max_retries: int = 3,
    first_pause_seconds: float = 0.5,
    user_agent: str = "ScraperSky",
    read: ReadHomePage | None = None,
) -> SiteVisit:
    """Fetch the home page over https, `www.` or http and analyze it.

    Permanent failures (unknown domain, invalid certificate) result in a dead site. Transient ones
    (no answer, 5xx, 429) are retried `max_retries` times and then raised. A caller that stops
    retrying can turn the error into a result with `build_dead_site`. Pages are parsed in this
    process unless `read` does it elsewhere.
    """
    site = url_or_domain
    if not isinstance(site, Site):
        site = normalise_site(site, fetch.rules)
    for attempt in count():
        try:
            return await _visit(site, fetch, user_agent, read or _read_in_process)
        except FetchFailed as error:
            if error.permanent:
                return SiteVisit(build_dead_site(error, url=site.key))
            pause = first_pause_seconds * 2**attempt
            if isinstance(error, HostClosed):
                pause = error.seconds_left
            if attempt >= max_retries or pause > MAX_PAUSE_SECONDS:
                raise
        await asyncio.sleep(pause)
    raise AssertionError("unreachable: the loop is endless")


def build_dead_site(error: FetchFailed, *, url: str) -> SiteMetadata:
    """Build the metadata of a site that returned no page, after the last attempt."""
    is_kept_out = isinstance(error, HostClosed) and error.requested_by_host
    return SiteMetadata(
        url=url,
        state=SiteState.BLOCKED if is_kept_out else SiteState.DEAD,
        reason=str(error),
        status_code=error.status if isinstance(error, SiteUnavailable) else None,
    )


async def _visit(site: Site, fetch: Fetcher, user_agent: str, read: ReadHomePage) -> SiteVisit:
    base = await find_base_url(site, fetch)
    if base.url is None or base.robots is None:
        raise _select_failure(base)
    home = _get_home_url(site, base, base.robots)
    robots = parse_robots_response(base.robots)
    if not robots.is_known:
        return await _read_if_available(base.robots, site, read)
    if not robots.can_fetch(home, user_agent):
        reason = f"The robots.txt of {get_host(base.robots.final_url)} disallows its home page."
        disallowed = SiteState.DISALLOWED
        return SiteVisit(
            SiteMetadata(site.key, disallowed, reason, final_url=base.robots.final_url)
        )
    if delay := robots.crawl_delay(user_agent):
        await fetch.set_crawl_delay(home, delay)
    return await _read_home_page(home, site, fetch, read)


def _select_failure(base: BaseUrl) -> FetchFailed:
    """Return a transient failure if there is one, so that it is retried.

    Its message lists all errors.
    """
    failure = next((each for each in base.failures if not each.permanent), base.failures[0])
    if isinstance(failure, HostClosed):
        return failure
    return type(failure)(" ".join(base.errors), url=failure.url)


def _get_home_url(site: Site, base: BaseUrl, robots: Response) -> str:
    """Return the home page URL on the site's own host.

    If robots.txt redirects to another site, the home page is still requested on the original host,
    so that its own redirect is observed.
    """
    is_own = get_registrable_site(robots.final_url) == get_registrable_site(site.key)
    return f"{base.url if is_own else get_origin(robots.url)}/"


async def _read_home_page(url: str, site: Site, fetch: Fetcher, read: ReadHomePage) -> SiteVisit:
    """Read the home page, following client-side redirects within the site."""
    visited = {url}
    while True:
        page = await fetch.get(url, headers=_REQUEST_HEADERS, max_bytes=MAX_PAGE_BYTES)
        visit = await _read_if_available(page, site, read)
        target = _get_redirect_url(visit)
        if target is None or target in visited or len(visited) > MAX_CLIENT_REDIRECTS:
            return visit
        visited.add(target)
        url = target


def _get_redirect_url(visit: SiteVisit) -> str | None:
    forwarding = visit.forwarding
    if visit.page is None or forwarding is None or visit.metadata.state in _FINAL_STATES:
        return None
    if forwarding.means == "in a frame":
        return None
    is_own = get_registrable_site(forwarding.url) == get_registrable_site(visit.page.final_url)
    return forwarding.url if is_own else None


async def _read_in_process(page: Response, requested_url: str) -> SiteVisit:
    if len(page.body) > THREAD_THRESHOLD_BYTES:
        return await asyncio.to_thread(analyze_home_page, page, requested_url=requested_url)
    return analyze_home_page(page, requested_url=requested_url)


async def _read_if_available(page: Response, site: Site, read: ReadHomePage) -> SiteVisit:
    """Analyze the response; raise if it is a transient error."""
    visit = await read(page, site.key)
    if visit.metadata.blocked_by or not is_transient(page.status):
        return visit
    host, wait = get_host(page.final_url), page.retry_after_seconds
    if wait is not None:
        until = datetime.now(UTC) + timedelta(seconds=wait)
        reason = f"{host} answered {page.status} and asked us to retry after {wait:.0f} s."
        raise HostClosed(reason, until=until, url=page.final_url)
    reason = f"{host} answered {page.status}."
    raise SiteUnavailable(reason, url=page.final_url, status=page.status)
