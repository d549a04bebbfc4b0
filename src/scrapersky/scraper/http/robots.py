"""Parse robots.txt (sitemaps, rules, crawl delay) and cache it per host."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import monotonic

from protego import Protego

from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.limits import MAX_ROBOTS_BYTES
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.http.urls import clean_url, get_host, get_origin

_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_UTF8_BOMS = (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef")
"""Some files have lost the last bytes of the mark."""
_REPLACED_CHARACTERS = dict.fromkeys(map(ord, "\x00\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
"""Characters at which Python splits lines, but robots.txt does not: only CR and LF count."""


def decode_robots(data: bytes) -> str:
    """Decode a robots.txt as UTF-16 (by its BOM or null bytes), UTF-8 or Latin-1."""
    encoding = _UTF16.get(data[:2]) or _detect_utf16(data)
    if encoding:
        return data.decode(encoding, "replace").removeprefix("\ufeff")
    for mark in _UTF8_BOMS:
        rest = data.removeprefix(mark)
        if rest != data and rest[:1].isascii():
            data = rest
            break
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _detect_utf16(data: bytes) -> str | None:
    """Detect UTF-16 without a BOM: every second byte of English text is zero."""
    start = data[:32]
    if len(start) < 8:
        return None
    if not any(start[1::2]) and all(start[::2]):
        return "utf-16-le"
    return "utf-16-be" if not any(start[::2]) and all(start[1::2]) else None


_COMMENT = re.compile(r"(?:^|\s)#.*")
_SITEMAP = re.compile(
    r"\s*site[-_ ]?maps?(?:[-_ ]?(?:url|index))?(?:\s*[:=]\s*|\s+(?=https?://))(?P<url>\S.*)",
    re.IGNORECASE,
)
_BARE_URL = re.compile(r"\s*(?P<url>https?://\S*)\s*\Z", re.IGNORECASE)
_NEXT_URL = re.compile(r"[\s,;](?=https?://|/)", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?=[.,]?\d)(\d{0,40})(?:[.,](\d{0,40}))?\s*(?:s|secs?|seconds?)?\Z", re.ASCII | re.IGNORECASE
)
_MARKUP = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml|[a-z]+[\s>])", re.IGNORECASE)

_FIELDS = (
    ("user-agent", r"users?[-_ ]*agents?|user-?agnet|usr-?agent|ser-agent"),
    ("disallow", r"disallows?|diss?all?ow|desallow|diasllow|disallaw"),
    ("allow", r"allows?|alow"),
    ("crawl-delay", r"crawl[-_ ]*delay"),
    ("request-rate", r"request[-_ ]*rate"),
)
_RULE = re.compile(
    r"\s*(?:"
    + "|".join(f"(?P<f{n}>{spellings})" for n, (_, spellings) in enumerate(_FIELDS))
    + r")(?:\s*[:=]|\s+|\Z)\s*(?P<value>.*)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Robots:
    """Parsed robots.txt."""

    sitemaps: tuple[str, ...] = ()
    """Absolute URLs in file order, without duplicates."""
    rules: Protego | None = None
    """None if there are no rules and everything may be fetched."""
    is_known: bool = True
    """False if it could not be fetched. No page may be fetched until it can be."""

    def can_fetch(self, url: str, agent: str) -> bool:
        if not self.is_known:
            return False
        try:
            return self.rules is None or bool(self.rules.can_fetch(url, _get_agent_key(agent)))
        except ValueError:  # not a URL, so no rule applies
            return True

    def crawl_delay(self, agent: str) -> float | None:
        """Return the seconds between two requests, or None if the site does not set a delay."""
        if self.rules is None:
            return None
        delay = self.rules.crawl_delay(_get_agent_key(agent))
        rate = self.rules.request_rate(_get_agent_key(agent))
        waits = [] if delay is None else [float(delay)]
        if rate is not None and rate.start_time is None:
            waits.append(rate.seconds / rate.requests)
        return max(waits, default=None)


def parse_robots(data: bytes, *, url: str) -> Robots:
    """Parse a robots.txt fetched from `url`. An HTML page counts as empty."""
    text = decode_robots(data[:MAX_ROBOTS_BYTES])
    if _MARKUP.match(text):
        return Robots()
    lines = _LINE_ENDS.split(text.translate(_REPLACED_CHARACTERS))
    if len(data) >= MAX_ROBOTS_BYTES:
        del lines[-1]  # a truncated line could match more than intended
    rules = "\n".join(_iter_rules(lines))
    return Robots(_find_sitemaps(lines, url), Protego.parse(rules) if rules else None)


def parse_robots_response(answer: Response) -> Robots:
    """Interpret the response to a robots.txt request as RFC 9309 specifies.

    A missing robots.txt allows everything. On server errors and 429 nothing may be fetched, because
    the site may well have rules.
    """
    if answer.status == 200:
        return parse_robots(answer.body, url=answer.final_url)
    return Robots(is_known=answer.status < 500 and answer.status != 429)


def get_product_token(agent: str) -> str:
    """Return the product token of a user agent: `ScraperSky` for `ScraperSky/0.1 (+https://…)`."""
    return re.split(r"[/\s]", agent.strip(), maxsplit=1)[0]


def _iter_rules(lines: Iterable[str]) -> Iterator[str]:
    """Yield the rule lines with corrected spelling.

    Unknown lines are dropped, because they must not end a group.
    """
    for line in lines:
        match = _RULE.match(line.partition("#")[0].rstrip())
        if match is None:
            continue
        field = next(name for n, (name, _) in enumerate(_FIELDS) if match[f"f{n}"])
        if field == "user-agent":
            yield from (f"{field}: {name}" for name in _iter_agents(match["value"]))
        elif field == "crawl-delay":
            yield f"{field}: {_parse_seconds(match['value'])}"
        else:
            yield f"{field}: {match['value']}"


def _iter_agents(value: str) -> Iterator[str]:
    """Yield the user agents of one line, with a `/` appended to each complete name.

    The slash keeps `Scraper` from matching `ScraperSky`. `Scraper*` matches both.
    """
    for part in value.replace('"', "").replace("'", "").split(","):
        name = get_product_token(part)
        if name.startswith("*"):
            yield "*"
        elif name.endswith("*"):
            yield name.rstrip("*")
        else:
            yield f"{name}/" if name else ""


def _get_agent_key(agent: str) -> str:
    return f"{get_product_token(agent)}/"


def _parse_seconds(value: str) -> str:
    """Parse a number of seconds, such as `10`, `0.5`, `.5`, `1,5` or `10s`."""
    match = _NUMBER.match(value.strip())
    return f"{match[1] or 0}.{match[2] or 0}" if match else "unreadable"


def _find_sitemaps(lines: Iterable[str], url: str) -> tuple[str, ...]:
    sitemaps: dict[str, None] = {}
    for line in lines:
        for text in _NEXT_URL.split(_match_sitemap_line(_COMMENT.sub("", line))):
            if sitemap := _resolve_sitemap_url(text.strip("<>\"' \t,;"), url):
                sitemaps[sitemap] = None
    return tuple(sitemaps)


def _match_sitemap_line(line: str) -> str:
    """Return the value of a sitemap line, or an empty string. Some files have a bare URL."""
    if match := _SITEMAP.match(line):
        return match["url"]
    match = _BARE_URL.match(line)
    return match["url"] if match and "sitemap" in match["url"].lower() else ""


def _resolve_sitemap_url(text: str, url: str) -> str | None:
    """Resolve a sitemap URL. `example.com/a.xml` on example.com only lacks its scheme."""
    first = text.partition("/")[0].lower()
    if "/" in text and get_host(first) == get_host(url):
        text = f"//{text}"
    return clean_url(text, url) if text else None


CACHE_SECONDS = 3_600.0
UNREADABLE_CACHE_SECONDS = 60.0
"""Cache time after a failed fetch. It is short because no page may be fetched until then."""
MAX_CACHED_HOSTS = 5_000


@dataclass
class _CacheEntry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    robots: Robots | None = None
    good_until: float = 0.0


class RobotsCache:
    def __init__(self, fetch: Fetcher, *, user_agent: str) -> None:
        self._fetch = fetch
        self._user_agent = user_agent
        self._entries: OrderedDict[str, _CacheEntry] = OrderedDict()

    async def get(self, url: str) -> Robots:
        """Return the robots.txt for a URL. Concurrent calls for the same host share one fetch."""
        origin = get_origin(url)
        entry = self._entries.setdefault(origin, _CacheEntry())
        self._entries.move_to_end(origin)
        while len(self._entries) > MAX_CACHED_HOSTS:
            self._entries.popitem(last=False)
        async with entry.lock:
            if entry.robots is None or monotonic() >= entry.good_until:
                entry.robots = await self._fetch_robots(origin)
                kept = CACHE_SECONDS if entry.robots.is_known else UNREADABLE_CACHE_SECONDS
                entry.good_until = monotonic() + kept
            return entry.robots

    async def _fetch_robots(self, origin: str) -> Robots:
        answer = await self._fetch.get_robots(f"{origin}/robots.txt")
        robots = parse_robots_response(answer)
        if delay := robots.crawl_delay(self._user_agent):
            await self._fetch.set_crawl_delay(origin, delay)
        return robots
