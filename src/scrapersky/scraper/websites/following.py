"""Follow a short link to where it leads: its host is asked, the site behind it is not."""

from __future__ import annotations

from dataclasses import replace

from scrapersky.scraper.addresses import AddressRules
from scrapersky.scraper.failures import FetchFailed
from scrapersky.scraper.fetch import Fetcher
from scrapersky.scraper.responses import Response
from scrapersky.scraper.urls import clean_url
from scrapersky.scraper.websites.model import Website, WebsiteKind
from scrapersky.scraper.websites.reading import read_website

MOST_HOPS = 5
MAX_BYTES = 16_384
"""Of an answer of which only the header counts."""
_PASSING = frozenset({408, 425, 429})


class ShortLinkFailed(FetchFailed):
    """Its host could not say just now where it leads."""


async def follow(website: Website, fetch: Fetcher, *, rules: AddressRules) -> Website:
    """What a short link leads to; `FetchFailed` when asking again may help."""
    link, seen = website.ask, set[str]()
    for _ in range(MOST_HOPS):
        if website.ask is None or website.ask in seen:
            break
        seen.add(website.ask)
        website = _kept(website, await _next(website.ask, fetch, rules))
    if website.ask is not None:
        return _nowhere(website, f"{link} leads in a circle, or further than we follow.")
    return replace(website, reason=_said(website, link))


async def _next(url: str, fetch: Fetcher, rules: AddressRules) -> Website:
    try:
        answer = await fetch.ask(url, headers={}, max_bytes=MAX_BYTES)
    except FetchFailed as error:
        if not error.permanent:
            raise
        return Website(WebsiteKind.UNUSABLE, url=url, reason=str(error))
    if answer.status in _PASSING or answer.status >= 500:
        raise ShortLinkFailed(f"{url} answered {answer.status}.", url=url)
    target = _target(answer)
    if target is None:
        said = f"{url} answered {answer.status} and leads nowhere."
        return Website(WebsiteKind.UNUSABLE, url=url, reason=said)
    return read_website(target, rules=rules)


def _target(answer: Response) -> str | None:
    if not 300 <= answer.status < 400:
        return None
    return clean_url(answer.headers.get("Location", ""), answer.url)


def _kept(before: Website, after: Website) -> Website:
    """What else the field named stays known."""
    profiles = tuple(dict.fromkeys((*after.profiles, *before.profiles)))
    return replace(
        after,
        profiles=profiles,
        profile=profiles[0] if profiles else None,
        email=before.email or after.email,
        suggested=before.suggested or after.suggested,
    )


def _nowhere(website: Website, reason: str) -> Website:
    return replace(website, kind=WebsiteKind.UNUSABLE, url=None, ask=None, reason=reason)


def _said(website: Website, link: str | None) -> str | None:
    found = f"It was found behind {link}." if link else None
    return " ".join(filter(None, (found, website.reason))) or None
