"""Read robots.txt: the sitemaps it names, what it forbids and how long it wants us to wait."""

from __future__ import annotations

import re
from dataclasses import dataclass

from protego import Protego

from scrapersky.scraper.urls import clean_url

MAX_ROBOTS_BYTES = 512 * 1024
"""RFC 9309 wants at least 500 KiB read; nobody means more."""

_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_SITEMAP = re.compile(r"\s*site-?maps?\s*[:=]\s*(?P<url>\S.*)", re.IGNORECASE)
_BARE_SITEMAP = re.compile(r"\s*(?P<url>https?://\S*sitemap\S*)\s*\Z", re.IGNORECASE)
_MARKUP = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml|[a-z]+[\s>])", re.IGNORECASE)


@dataclass(frozen=True)
class Robots:
    """What one robots.txt says."""

    sitemaps: tuple[str, ...] = ()
    """Absolute URLs in the order given, each once."""
    rules: Protego | None = None
    """None when there are no rules: everything may be fetched."""

    def can_fetch(self, url: str, agent: str) -> bool:
        return self.rules is None or bool(self.rules.can_fetch(url, product_token(agent)))

    def crawl_delay(self, agent: str) -> float | None:
        """Seconds between two requests, or None when the site does not say."""
        delay = self.rules.crawl_delay(product_token(agent)) if self.rules else None
        return float(delay) if delay is not None and delay >= 0 else None


def parse_robots(data: bytes, *, url: str) -> Robots:
    """Read a robots.txt that was fetched from `url`; a page of HTML says nothing."""
    text = _decoded(data[:MAX_ROBOTS_BYTES])
    if _MARKUP.match(text):
        return Robots()
    lines = _LINE_ENDS.split(text)
    return Robots(sitemaps=_sitemaps(lines, url), rules=Protego.parse("\n".join(lines)))


def product_token(agent: str) -> str:
    """`ScraperSky/0.1 (+https://…)` goes by the name ScraperSky in a robots.txt."""
    return re.split(r"[/\s]", agent.strip(), maxsplit=1)[0]


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")


def _sitemaps(lines: list[str], url: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for line in lines:
        line = _COMMENT.sub("", line)
        match = _SITEMAP.match(line) or _BARE_SITEMAP.match(line)
        if match and (sitemap := clean_url(match["url"].strip("<>\"' \t"), url)):
            found[sitemap] = None
    return tuple(found)
