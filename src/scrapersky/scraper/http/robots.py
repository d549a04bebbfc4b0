"""Parse robots.txt (sitemaps, rules, crawl delay) and cache it per host."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import monotonic

from protego import Protego

from scrapersky.scraper.http.rate_limit import MAX_CRAWL_DELAY_SECONDS
from scrapersky.scraper.http.responses import FetcherProtocol, Response
from scrapersky.scraper.http.urls import clean_url, get_host, get_origin

_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_UTF8_BOMS = (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef")
_REPLACED_CHARACTERS = dict.fromkeys(map(ord, "\x00\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
"""Python would end a line at them; in a robots.txt, only CR and LF do."""


def decode_robots(data: bytes) -> str:
    """By its mark or its zeros UTF-16, else UTF-8, else Latin-1."""
    encoding = _UTF16.get(data[:2]) or _detect_utf16(data)
    if encoding:
        return data.decode(encoding, "replace").removeprefix("\ufeff")
    data = _strip_bom(data)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def split_lines(text: str) -> list[str]:
    return _LINE_ENDS.split(text.translate(_REPLACED_CHARACTERS))


def _detect_utf16(data: bytes) -> str | None:
    """English in UTF-16 has a zero in every second byte."""
    start = data[:32]
    if len(start) < 8:
        return None
    if not any(start[1::2]) and all(start[::2]):
        return "utf-16-le"
    return "utf-16-be" if not any(start[::2]) and all(start[1::2]) else None


def _strip_bom(data: bytes) -> bytes:
    """Without the byte order mark, of which some lose a part on the way."""
    for mark in _UTF8_BOMS:
        rest = data.removeprefix(mark)
        if rest != data and rest[:1].isascii():
            return rest
    return data


MAX_ROBOTS_BYTES = 512 * 1024
"""RFC 9309 wants at least 500 KiB read; nobody means more."""

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
    """What one robots.txt says."""

    sitemaps: tuple[str, ...] = ()
    """Absolute URLs in the order given, each once."""
    rules: Protego | None = None
    """None when there are no rules: everything may be fetched."""
    is_known: bool = True
    """Otherwise it could not be read, and until it can, no page may be fetched."""

    def can_fetch(self, url: str, agent: str) -> bool:
        if not self.is_known:
            return False
        try:
            return self.rules is None or bool(self.rules.can_fetch(url, _get_agent_key(agent)))
        except ValueError:  # it is no URL, so nothing was said of it
            return True

    def crawl_delay(self, agent: str) -> float | None:
        """Seconds between two requests, or None when the site does not say."""
        if self.rules is None:
            return None
        delay = self.rules.crawl_delay(_get_agent_key(agent))
        rate = self.rules.request_rate(_get_agent_key(agent))
        waits = [] if delay is None else [float(delay)]
        if rate is not None and rate.start_time is None:
            waits.append(rate.seconds / rate.requests)
        return max(waits, default=None)


def parse_robots(data: bytes, *, url: str) -> Robots:
    """Read a robots.txt that was fetched from `url`; a page of HTML says nothing."""
    text = decode_robots(data[:MAX_ROBOTS_BYTES])
    if _MARKUP.match(text):
        return Robots()
    lines = split_lines(text)
    if len(data) >= MAX_ROBOTS_BYTES:
        del lines[-1]  # half a line may say what nobody meant
    rules = "\n".join(_iter_rules(lines))
    return Robots(_find_sitemaps(lines, url), Protego.parse(rules) if rules else None)


def parse_robots_response(answer: Response) -> Robots:
    """What an answer means, by RFC 9309: one that is not there forbids nothing.

    A server in trouble may well have one, so we keep away until it has recovered.
    """
    if answer.status == 200:
        return parse_robots(answer.body, url=answer.final_url)
    return Robots(is_known=answer.status < 500 and answer.status != 429)


def get_product_token(agent: str) -> str:
    """`ScraperSky/0.1 (+https://…)` goes by the name ScraperSky in a robots.txt."""
    return re.split(r"[/\s]", agent.strip(), maxsplit=1)[0]


def _iter_rules(lines: Iterable[str]) -> Iterator[str]:
    """The lines that make rules, spelled as they should be.

    Others are left out, for a line that nobody knows does not end a group.
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
    """The names of one line as the rules know them: with a stroke where the name ends.

    The stroke makes `Scraper` another name than `ScraperSky`; `Scraper*` means both.
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
    """`10`, `0.5`, `.5`, `1,5` and `10s` are numbers of seconds."""
    match = _NUMBER.match(value.strip())
    return f"{match[1] or 0}.{match[2] or 0}" if match else "unreadable"


def _find_sitemaps(lines: Iterable[str], url: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for line in lines:
        for text in _NEXT_URL.split(_match_sitemap_line(_COMMENT.sub("", line))):
            if sitemap := _resolve_sitemap_url(text.strip("<>\"' \t,;"), url):
                found[sitemap] = None
    return tuple(found)


def _match_sitemap_line(line: str) -> str:
    """What a line names; some write nothing but the URL."""
    if match := _SITEMAP.match(line):
        return match["url"]
    match = _BARE_URL.match(line)
    return match["url"] if match and "sitemap" in match["url"].lower() else ""


def _resolve_sitemap_url(text: str, url: str) -> str | None:
    """Where a sitemap is; `example.com/a.xml` on example.com lacks only its scheme."""
    first = text.partition("/")[0].lower()
    if "/" in text and get_host(first) == get_host(url):
        text = f"//{text}"
    return clean_url(text, url) if text else None


CACHE_SECONDS = 3_600.0
UNREADABLE_CACHE_SECONDS = 60.0
"""One that could not be read is asked for again soon: until then no page is."""
MAX_CACHED_HOSTS = 5_000


@dataclass
class _CacheEntry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    robots: Robots | None = None
    good_until: float = 0.0


class RobotsCache:
    def __init__(self, fetch: FetcherProtocol, *, user_agent: str) -> None:
        self._fetch = fetch
        self._user_agent = user_agent
        self._entries: OrderedDict[str, _CacheEntry] = OrderedDict()

    async def get(self, url: str) -> Robots:
        """The rules for a URL; those who ask for the same host meanwhile wait for one answer."""
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
            await self._fetch.set_crawl_delay(origin, min(delay, MAX_CRAWL_DELAY_SECONDS))
        return robots
