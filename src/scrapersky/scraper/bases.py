"""Find the address under which a site answers, by asking for its robots.txt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scrapersky.scraper.addresses import AddressRules, parse_ip
from scrapersky.scraper.failures import Blocked, DoesNotResolve, FetchFailed, HostClosed
from scrapersky.scraper.known import KnownRobots
from scrapersky.scraper.responses import Fetches, Response
from scrapersky.scraper.robots import MAX_ROBOTS_BYTES
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


async def find_base(site: Site, fetch: Fetches, known: KnownRobots | None = None) -> Base:
    """Try https, `www.` and http in turn; what the person gave comes first."""
    tried: list[tuple[str, str]] = []
    failures: list[FetchFailed] = []
    for candidate in candidates(site, fetch.rules):
        try:
            robots = await _robots(f"{candidate}/robots.txt", fetch, known)
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
    )


async def _robots(url: str, fetch: Fetches, known: KnownRobots | None) -> Response:
    """What robots.txt says; if it has not changed, what it said before."""
    answer = await fetch.get(
        url,
        max_bytes=MAX_ROBOTS_BYTES,
        etag=known.etag if known else None,
        last_modified=known.last_modified if known else None,
    )
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
