"""Fetch a site's home page and detect its metadata."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count

from scrapersky.scraper.contacts.model import ContactSearchResult
from scrapersky.scraper.html.document import Document, open_document
from scrapersky.scraper.html.facts import extract_facts
from scrapersky.scraper.html.json_ld import parse_json_ld
from scrapersky.scraper.html.model import PageFacts
from scrapersky.scraper.http.fetch_errors import FetchFailed, HostClosed
from scrapersky.scraper.http.limits import MAX_PAGE_BYTES
from scrapersky.scraper.http.public_suffixes import get_registrable_site
from scrapersky.scraper.http.rate_limit import MAX_CRAWL_DELAY_SECONDS
from scrapersky.scraper.http.responses import FetcherProtocol, Response
from scrapersky.scraper.http.robots import parse_robots_response
from scrapersky.scraper.http.urls import Site, get_host, get_origin, normalise_site
from scrapersky.scraper.site.fingerprints import (
    SiteEvidence,
    collect_evidence,
    find_technologies,
    list_technologies,
)
from scrapersky.scraper.site.model import (
    SiteMetadata,
    SiteState,
    Technology,
)
from scrapersky.scraper.site.organisation import find_favicon, find_logo, find_organisation
from scrapersky.scraper.site.states import ClientRedirect, detect_state, find_client_redirect
from scrapersky.scraper.sitemaps.base_url import BaseUrl, find_base_url

OWN_PAGE_STATES = frozenset(
    {
        SiteState.OK,
        SiteState.REDIRECTED,
        SiteState.JAVASCRIPT_ONLY,
        SiteState.UNDER_CONSTRUCTION,
    }
)
"""The page is the site's, so what it says is said of the site."""


@dataclass(frozen=True)
class SiteVisit:
    """What is known of the site, and the page it is known from, for who wants to read on."""

    metadata: SiteMetadata
    page: Response | None = None
    """None when nothing answered, or nothing might be asked."""
    document: Document | None = None
    """The page, decoded and parsed, if it was read in this process."""
    facts: PageFacts | None = None
    forwarding: ClientRedirect | None = None
    """Where the page sends its visitors."""
    contacts: ContactSearchResult | None = None
    """None when they were not looked for."""

    @property
    def is_own_page(self) -> bool:
        return self.page is not None and self.metadata.state in OWN_PAGE_STATES


def read_site(page: Response, *, asked: str | None = None) -> SiteMetadata:
    """What a home page, already fetched, says of its site; `asked` is the name or URL it is for."""
    return analyze_home_page(page, asked=asked).metadata


def analyze_home_page(page: Response, *, asked: str | None = None) -> SiteVisit:
    asked = asked or page.url
    document = open_document(page)
    facts = extract_facts(document)
    evidence = collect_evidence(page.headers, page.final_url, document)
    verdict = detect_state(page, document, facts, evidence, asked=asked)
    metadata = SiteMetadata(
        url=asked,
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
        evidence = collect_evidence(page.headers, page.final_url)
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


def _add_technologies(metadata: SiteMetadata, evidence: SiteEvidence) -> SiteMetadata:
    found = find_technologies(evidence)
    builder, shop = _find_system(found, "builder"), _find_system(found, "shop")
    cms = _find_system(found, "cms") or builder or shop
    return replace(
        metadata,
        cms=cms.name if cms else None,
        cms_version=cms.version if cms else None,
        wordpress_version=_get_version(found, "WordPress"),
        elementor_version=_get_version(found, "Elementor"),
        site_builder=builder.name if builder else None,
        shop_system=shop.name if shop else None,
        tech_stack=found,
    )


@cache
def _map_categories() -> dict[str, tuple[str, str | None]]:
    return {each.name: (each.category, each.also) for each in list_technologies()}


def _find_system(found: Iterable[Technology], category: str) -> Technology | None:
    """The one of its kind that runs the site: the one that says so itself, else the first."""
    of_kind: Iterator[Technology] = (
        each for each in found if category in _map_categories()[each.name]
    )
    surest_first = sorted(of_kind, key=lambda each: not each.evidence.startswith("generator"))
    return next(iter(surest_first), None)


def _get_version(found: Iterable[Technology], name: str) -> str | None:
    return next((each.version for each in found if each.name == name), None)


MAX_PAUSE_SECONDS = 30.0
"""Who asks us to wait longer is asked again by whoever called, later."""
THREAD_THRESHOLD_BYTES = 256 * 1024
"""Reading more than that takes long enough to keep others waiting, so it is done beside them."""
MAX_CLIENT_REDIRECTS = 2

ReadHomePage = Callable[[Response, str], Awaitable[SiteVisit]]
"""Given the answer and the name that was asked for."""

_REQUEST_HEADERS = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
_TRANSIENT_STATUSES = frozenset({408, 425, 429})
_FINAL_STATES = frozenset(
    {SiteState.BLOCKED, SiteState.PARKED, SiteState.REDIRECTED, SiteState.DEAD}
)
"""What such a page would send us to is not the site's home page."""


class SiteUnavailable(FetchFailed):
    """The site answered that it cannot answer just now."""

    def __init__(self, reason: str, *, url: str, status: int) -> None:
        super().__init__(reason, url=url)
        self.status = status


async def detect_site_metadata(
    url_or_domain: Site | str,
    *,
    fetch: FetcherProtocol,
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
    fetch: FetcherProtocol,
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
    site = _parse_site(url_or_domain, fetch)
    for attempt in count():
        try:
            return await _visit(site, fetch, user_agent, read or _read_in_process)
        except FetchFailed as error:
            if error.permanent:
                return SiteVisit(build_dead_site(error, url=site.key))
            pause = _get_pause(error, first_pause_seconds * 2**attempt)
            if attempt >= max_retries or pause > MAX_PAUSE_SECONDS:
                raise
        await asyncio.sleep(pause)
    raise AssertionError("counting has no end")


def build_dead_site(error: FetchFailed, *, url: str) -> SiteMetadata:
    """What is known of a site from which no page was had, after the last attempt."""
    is_kept_out = isinstance(error, HostClosed) and error.asked
    return SiteMetadata(
        url=url,
        state=SiteState.BLOCKED if is_kept_out else SiteState.DEAD,
        reason=str(error),
        status_code=error.status if isinstance(error, SiteUnavailable) else None,
    )


def _parse_site(url_or_domain: Site | str, fetch: FetcherProtocol) -> Site:
    if isinstance(url_or_domain, Site):
        return url_or_domain
    rules = fetch.rules
    return normalise_site(
        url_or_domain,
        allowed_networks=rules.allowed_networks,
        allowed_ports=rules.allowed_ports,
        resolve=rules.resolve,
    )


def _get_pause(error: FetchFailed, otherwise: float) -> float:
    """As long as the host asks for, else our own."""
    return error.seconds_left if isinstance(error, HostClosed) else otherwise


async def _visit(
    site: Site, fetch: FetcherProtocol, user_agent: str, read: ReadHomePage
) -> SiteVisit:
    base = await find_base_url(site, fetch)
    if base.url is None or base.robots is None:
        raise _select_failure(base)
    home = _get_home_url(site, base, base.robots)
    robots = parse_robots_response(base.robots)
    if not robots.is_known:
        return await _read_if_available(base.robots, site, read)
    if not robots.can_fetch(home, user_agent):
        return SiteVisit(_build_disallowed(site, base.robots))
    if delay := robots.crawl_delay(user_agent):
        await fetch.set_crawl_delay(home, min(delay, MAX_CRAWL_DELAY_SECONDS))
    return await _read_home_page(home, site, fetch, read)


def _select_failure(base: BaseUrl) -> FetchFailed:
    """What may pass is worth another attempt, whatever else went wrong; the sentence tells all."""
    failure = next((each for each in base.failures if not each.permanent), base.failures[0])
    if isinstance(failure, HostClosed):
        return failure
    return type(failure)(" ".join(base.errors), url=failure.url)


def _get_home_url(site: Site, base: BaseUrl, robots: Response) -> str:
    """On the site's own host; if that leads elsewhere, the home page's redirect shall tell."""
    is_own = get_registrable_site(robots.final_url) == get_registrable_site(site.key)
    return f"{base.url if is_own else get_origin(robots.url)}/"


def _build_disallowed(site: Site, robots: Response) -> SiteMetadata:
    reason = f"The robots.txt of {get_host(robots.final_url)} forbids reading its home page."
    return SiteMetadata(site.key, SiteState.DISALLOWED, reason, final_url=robots.final_url)


async def _read_home_page(
    url: str, site: Site, fetch: FetcherProtocol, read: ReadHomePage
) -> SiteVisit:
    """Read the home page, or the page to which it sends its visitors within the site."""
    seen = {url}
    while True:
        page = await fetch.get(url, headers=_REQUEST_HEADERS, max_bytes=MAX_PAGE_BYTES)
        visit = await _read_if_available(page, site, read)
        target = _get_redirect_url(visit)
        if target is None or target in seen or len(seen) > MAX_CLIENT_REDIRECTS:
            return visit
        seen.add(target)
        url = target


def _get_redirect_url(visit: SiteVisit) -> str | None:
    forwarding = visit.forwarding
    if visit.page is None or forwarding is None or visit.metadata.state in _FINAL_STATES:
        return None
    if forwarding.means == "in a frame":
        return None
    is_own = get_registrable_site(forwarding.url) == get_registrable_site(visit.page.final_url)
    return forwarding.url if is_own else None


async def _read_in_process(page: Response, asked: str) -> SiteVisit:
    if len(page.body) > THREAD_THRESHOLD_BYTES:
        return await asyncio.to_thread(analyze_home_page, page, asked=asked)
    return analyze_home_page(page, asked=asked)


async def _read_if_available(page: Response, site: Site, read: ReadHomePage) -> SiteVisit:
    """What the answer says, unless it says to come back later."""
    visit = await read(page, site.key)
    is_passing = page.status in _TRANSIENT_STATUSES or page.status >= 500
    if visit.metadata.blocked_by or not is_passing:
        return visit
    host, wait = get_host(page.final_url), page.retry_after_seconds
    if wait is not None:
        until = datetime.now(UTC) + timedelta(seconds=wait)
        reason = f"{host} answered {page.status} and asked us to stay away for {wait:.0f} s."
        raise HostClosed(reason, until=until, url=page.final_url)
    reason = f"{host} answered {page.status}."
    raise SiteUnavailable(reason, url=page.final_url, status=page.status)


# Tell what a site is from its home page: what it is made with, whose it is, how it is.
#
#     metadata = await detect_site_metadata("bakery.example", fetch=fetch)
#
# `read_site` reads a home page that was fetched by other means; how technologies and pages that
# are no sites are recognised stands in `fingerprints.toml`.
