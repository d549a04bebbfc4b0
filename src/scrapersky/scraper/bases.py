"""Find the address under which a site answers, by asking for its robots.txt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scrapersky.scraper.addresses import AddressRules, parse_ip
from scrapersky.scraper.failures import (
    Blocked,
    DoesNotResolve,
    FetchFailed,
    HostClosed,
    TooManyRedirects,
)
from scrapersky.scraper.known import KnownRobots
from scrapersky.scraper.responses import Fetches, Response
from scrapersky.scraper.urls import Site, origin_of


@dataclass(frozen=True)
class Base:
    """What answered, or why nothing did."""

    url: str | None
    """Scheme and host without a trailing slash; None when nothing answered."""
    robots: Response | None
    tried: tuple[tuple[str, str], ...]
    """The bases before it with what went wrong there."""
    permanent: bool = False
    retry_after: float | None = None
    failures: tuple[FetchFailed, ...] = ()
    """What was raised at each base; empty when one answered."""

    @property
    def errors(self) -> tuple[str, ...]:
        """One sentence for each thing that went wrong, however often it did."""
        ways: dict[str, list[str]] = {}
        for url, reason in self.tried:
            ways.setdefault(reason.replace(f"www.{_host(url)}", _host(url)), []).append(url)
        return tuple(_sentence(reason, urls) for reason, urls in ways.items())


def _host(url: str) -> str:
    return url.partition("://")[2].removeprefix("www.").partition(":")[0]


def _sentence(reason: str, urls: list[str]) -> str:
    schemes = {url.partition("://")[0] for url in urls}
    has_www = {"://www." in url for url in urls}
    ways = ["by https and by http"] if len(schemes) > 1 else []
    ways += ["with and without www"] if len(has_www) > 1 else []
    where = f"{urls[0]}: {reason}" if _host(urls[0]) not in reason else reason
    return f"{where.rstrip('.')} (tried {', '.join(ways)})." if ways else where


async def find_base(site: Site, fetch: Fetches, known: KnownRobots | None = None) -> Base:
    """Try https, `www.` and http in turn; what the person gave comes first."""
    tried: list[tuple[str, str]] = []
    failures: list[FetchFailed] = []
    last_scheme = _schemes(site)[-1]
    for candidate in candidates(site, fetch.rules):
        has_fallback = not candidate.startswith(f"{last_scheme}:")
        try:
            robots = await _robots(f"{candidate}/robots.txt", fetch, known, has_fallback)
        except FetchFailed as error:
            tried.append((candidate, str(error)))
            failures.append(error)
        else:
            return Base(origin_of(robots.final_url), robots, tuple(tried))
    return Base(
        None,
        None,
        tuple(tried),
        permanent=all(isinstance(each, DoesNotResolve | Blocked) for each in failures),
        retry_after=_longest_wait(failures),
        failures=tuple(failures),
    )


async def _robots(
    url: str, fetch: Fetches, known: KnownRobots | None, has_fallback: bool
) -> Response:
    """What robots.txt says; if it has not changed, what it said before."""
    try:
        answer = await fetch.get_robots(
            url,
            etag=known.etag if known else None,
            last_modified=known.last_modified if known else None,
            has_fallback=has_fallback,
        )
    except TooManyRedirects:
        # The site does answer, and what cannot be had after so many hops is not there.
        return Response(url, url, 404, {}, b"")
    if answer.status == 304 and known is not None:
        validators = {"ETag": known.etag, "Last-Modified": known.last_modified}
        headers = {name: value for name, value in validators.items() if value is not None}
        return replace(answer, status=200, body=known.body.encode(), headers=headers)
    return answer


def candidates(site: Site, rules: AddressRules) -> Iterator[str]:
    """Bases in the order they are tried."""
    for scheme in _schemes(site):
        yield f"{scheme}://{site.key}"
        if _has_www(site, rules):
            yield f"{scheme}://www.{site.key}"


def _schemes(site: Site) -> tuple[str, ...]:
    return ("http", "https") if site.scheme == "http" else ("https", "http")


def _has_www(site: Site, rules: AddressRules) -> bool:
    """An address has no `www.`, and where names are pinned only the pinned ones exist."""
    if parse_ip(site.host) is not None:
        return False
    return not rules.is_exempt(site.host) or f"www.{site.host}" in rules.resolve


def _longest_wait(failures: list[FetchFailed]) -> float | None:
    """Only what a host asked for: a host that merely fails must run out of attempts some day."""
    waits = [each.seconds_left for each in failures if isinstance(each, HostClosed) and each.asked]
    return max(waits, default=None)
