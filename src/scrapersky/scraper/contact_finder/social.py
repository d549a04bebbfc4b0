"""Offer a page's links, texts and descriptions to the reader of profiles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from scrapersky.scraper.contact_finder.found import Kind, Method, Sighting
from scrapersky.scraper.contact_finder.page import Page
from scrapersky.scraper.contact_finder.profile_platforms import MASTODON_HOSTS, PLATFORMS
from scrapersky.scraper.contact_finder.profiles import profile_of

MAX_CANDIDATES = 600
_HOSTS = frozenset(host for platform in PLATFORMS for host in platform.hosts) | frozenset(
    MASTODON_HOSTS
)
_PINTEREST = "pinterest."
_LEFT = 100
_END_OF_HOST = re.compile(r"\.[a-zA-Z]{2,8}/(?=[\w@])")
_START_OF_HOST = re.compile(r"[^\s\"'<>()\[\]{}|,;]{0,100}\Z")
_TOKEN = re.compile(r"[^\s\"'<>()\[\]{}|]{1,300}")
_X_HANDLE = re.compile(r"@\w{1,15}\Z")


def read_profiles(page: Page) -> Iterator[Sighting]:
    yield from _read_links(page)
    yield from _read_text(page)
    yield from _read_descriptions(page)


def _read_links(page: Page) -> Iterator[Sighting]:
    candidates = 0
    for href, place in page.links:
        if not is_on_platform(href):
            continue
        candidates += 1
        if candidates > MAX_CANDIDATES:
            page.capped["profiles"] = None
            return
        yield from _sighting(href, Method.LINK, place=place)


def is_on_platform(href: str) -> bool:
    """Whether the link leaves for a platform: quick, for a page has hundreds of links."""
    if href[:9].lower() == "whatsapp:":
        return True
    start = href.find("//", 0, 8)
    host = href[start + 2 :] if start >= 0 else href
    return _is_platform(host[:100].partition("/")[0].lower())


@lru_cache(maxsize=2048)
def _is_platform(host: str) -> bool:
    host = host.partition(":")[0].rstrip(".")
    labels = host.split(".")
    return _PINTEREST in host or any(".".join(labels[i:]) in _HOSTS for i in range(len(labels)))


def _read_text(page: Page) -> Iterator[Sighting]:
    """Addresses of profiles written out as text."""
    for number, match in enumerate(_END_OF_HOST.finditer(page.text)):
        if number == MAX_CANDIDATES:
            page.capped["profiles"] = None
            return
        before = _START_OF_HOST.search(page.text[max(0, match.start() - _LEFT) : match.start()])
        start = match.start() - len(before[0]) if before else match.start()
        token = _TOKEN.match(page.text, start)
        written = token[0].rstrip(".,;:!?'*") if token else ""
        if is_on_platform(written):
            yield from _sighting(written, Method.TEXT, span=(start, start + len(written)))


def _read_descriptions(page: Page) -> Iterator[Sighting]:
    for word in ("twitter:site", "article:publisher"):
        for tag in page.tags_saying(word):
            value = tag.attributes.get("content", "").strip()
            value = f"https://x.com/{value[1:]}" if _X_HANDLE.match(value) else value
            if tag.name == "meta" and is_on_platform(value):
                yield from _sighting(value, Method.META, place=page.place_of(tag.index))


def _sighting(
    written: str, method: Method, *, place: int | None = None, span: tuple[int, int] | None = None
) -> Iterator[Sighting]:
    profile = profile_of(written)
    if profile is not None:
        yield Sighting(Kind.SOCIAL, profile.url, written, method, place, span)
