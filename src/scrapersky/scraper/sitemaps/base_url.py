"""Find the base URL under which a site answers, by requesting its robots.txt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scrapersky.scraper.http.addresses import AddressRules, parse_ip
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.fetch_errors import (
    Blocked,
    DoesNotResolve,
    FetchFailed,
    HostClosed,
    TooManyRedirects,
)
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.http.urls import Site, get_origin
from scrapersky.scraper.sitemaps.events import PreviousRobots


@dataclass(frozen=True)
class BaseUrl:
    """Base URL of a site, or the reasons why none was found."""

    url: str | None
    """Scheme and host without a trailing slash, or None if nothing answered."""
    robots: Response | None
    tried: tuple[tuple[str, str], ...]
    """Base URLs tried before, each with its error message."""
    permanent: bool = False
    retry_after: float | None = None
    failures: tuple[FetchFailed, ...] = ()
    """Errors of all base URLs; empty if one answered."""

    @property
    def errors(self) -> tuple[str, ...]:
        """One message per distinct failure."""
        ways: dict[str, list[str]] = {}
        for url, reason in self.tried:
            ways.setdefault(
                reason.replace(f"www.{_get_bare_host(url)}", _get_bare_host(url)), []
            ).append(url)
        return tuple(_describe_failures(reason, urls) for reason, urls in ways.items())


def _get_bare_host(url: str) -> str:
    return url.partition("://")[2].removeprefix("www.").partition(":")[0]


def _describe_failures(reason: str, urls: list[str]) -> str:
    schemes = {url.partition("://")[0] for url in urls}
    has_www = {"://www." in url for url in urls}
    ways = ["over https and http"] if len(schemes) > 1 else []
    ways += ["with and without www"] if len(has_www) > 1 else []
    where = f"{urls[0]}: {reason}" if _get_bare_host(urls[0]) not in reason else reason
    return f"{where.rstrip('.')} (tried {', '.join(ways)})." if ways else where


async def find_base_url(site: Site, fetch: Fetcher, known: PreviousRobots | None = None) -> BaseUrl:
    """Try https, `www.` and http in turn, starting with the scheme the user entered."""
    tried: list[tuple[str, str]] = []
    failures: list[FetchFailed] = []
    last_scheme = _get_schemes(site)[-1]
    for candidate in iter_base_urls(site, fetch.rules):
        has_fallback = not candidate.startswith(f"{last_scheme}:")
        try:
            robots = await _fetch_robots(f"{candidate}/robots.txt", fetch, known, has_fallback)
        except FetchFailed as error:
            tried.append((candidate, str(error)))
            failures.append(error)
        else:
            return BaseUrl(get_origin(robots.final_url), robots, tuple(tried))
    return BaseUrl(
        None,
        None,
        tuple(tried),
        permanent=all(isinstance(each, DoesNotResolve | Blocked) for each in failures),
        retry_after=_get_longest_wait(failures),
        failures=tuple(failures),
    )


async def _fetch_robots(
    url: str, fetch: Fetcher, known: PreviousRobots | None, has_fallback: bool
) -> Response:
    """Fetch a robots.txt. Return the previous content if it has not changed."""
    try:
        answer = await fetch.get_robots(
            url,
            etag=known.etag if known else None,
            last_modified=known.last_modified if known else None,
            has_fallback=has_fallback,
        )
    except TooManyRedirects:
        # The site does answer. A robots.txt behind this many redirects counts as missing.
        return Response(url, url, 404, {}, b"")
    if answer.status == 304 and known is not None:
        validators = {"ETag": known.etag, "Last-Modified": known.last_modified}
        headers = {name: value for name, value in validators.items() if value is not None}
        return replace(answer, status=200, body=known.body.encode(), headers=headers)
    return answer


def iter_base_urls(site: Site, rules: AddressRules) -> Iterator[str]:
    """Yield the base URLs in the order they are tried."""
    for scheme in _get_schemes(site):
        yield f"{scheme}://{site.key}"
        if _has_www(site, rules):
            yield f"{scheme}://www.{site.key}"


def _get_schemes(site: Site) -> tuple[str, ...]:
    return ("http", "https") if site.scheme == "http" else ("https", "http")


def _has_www(site: Site, rules: AddressRules) -> bool:
    """Whether to try `www.`: not for IP addresses or unpinned names in allowed networks."""
    if parse_ip(site.host) is not None:
        return False
    return not rules.is_exempt(site.host) or f"www.{site.host}" in rules.resolve


def _get_longest_wait(failures: list[FetchFailed]) -> float | None:
    """Return the longest pause that a host requested.

    Open circuit breakers are ignored: a host that merely fails must eventually use up its attempts.
    """
    waits = [
        each.seconds_left
        for each in failures
        if isinstance(each, HostClosed) and each.requested_by_host
    ]
    return max(waits, default=None)
