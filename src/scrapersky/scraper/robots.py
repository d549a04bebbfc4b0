"""Read robots.txt: the sitemaps it names, what it forbids and how long it wants us to wait."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from protego import Protego

from scrapersky.scraper.responses import Response
from scrapersky.scraper.robots_text import decoded, lines_of
from scrapersky.scraper.urls import clean_url, host_of

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
            return self.rules is None or bool(self.rules.can_fetch(url, _asked(agent)))
        except ValueError:  # it is no URL, so nothing was said of it
            return True

    def crawl_delay(self, agent: str) -> float | None:
        """Seconds between two requests, or None when the site does not say."""
        if self.rules is None:
            return None
        delay = self.rules.crawl_delay(_asked(agent))
        rate = self.rules.request_rate(_asked(agent))
        waits = [] if delay is None else [float(delay)]
        if rate is not None and rate.start_time is None:
            waits.append(rate.seconds / rate.requests)
        return max(waits, default=None)


def parse_robots(data: bytes, *, url: str) -> Robots:
    """Read a robots.txt that was fetched from `url`; a page of HTML says nothing."""
    text = decoded(data[:MAX_ROBOTS_BYTES])
    if _MARKUP.match(text):
        return Robots()
    lines = lines_of(text)
    if len(data) >= MAX_ROBOTS_BYTES:
        del lines[-1]  # half a line may say what nobody meant
    rules = "\n".join(_rules(lines))
    return Robots(_sitemaps(lines, url), Protego.parse(rules) if rules else None)


def robots_of(answer: Response) -> Robots:
    """What an answer means, by RFC 9309: one that is not there forbids nothing.

    A server in trouble may well have one, so we keep away until it has recovered.
    """
    if answer.status == 200:
        return parse_robots(answer.body, url=answer.final_url)
    return Robots(is_known=answer.status < 500 and answer.status != 429)


def product_token(agent: str) -> str:
    """`ScraperSky/0.1 (+https://…)` goes by the name ScraperSky in a robots.txt."""
    return re.split(r"[/\s]", agent.strip(), maxsplit=1)[0]


def _rules(lines: Iterable[str]) -> Iterator[str]:
    """The lines that make rules, spelled as they should be.

    Others are left out, for a line that nobody knows does not end a group.
    """
    for line in lines:
        match = _RULE.match(line.partition("#")[0].rstrip())
        if match is None:
            continue
        field = next(name for n, (name, _) in enumerate(_FIELDS) if match[f"f{n}"])
        if field == "user-agent":
            yield from (f"{field}: {name}" for name in _agents(match["value"]))
        elif field == "crawl-delay":
            yield f"{field}: {_seconds(match['value'])}"
        else:
            yield f"{field}: {match['value']}"


def _agents(value: str) -> Iterator[str]:
    """The names of one line as the rules know them: with a stroke where the name ends.

    The stroke makes `Scraper` another name than `ScraperSky`; `Scraper*` means both.
    """
    for part in value.replace('"', "").replace("'", "").split(","):
        name = product_token(part)
        if name.startswith("*"):
            yield "*"
        elif name.endswith("*"):
            yield name.rstrip("*")
        else:
            yield f"{name}/" if name else ""


def _asked(agent: str) -> str:
    return f"{product_token(agent)}/"


def _seconds(value: str) -> str:
    """`10`, `0.5`, `.5`, `1,5` and `10s` are numbers of seconds."""
    match = _NUMBER.match(value.strip())
    return f"{match[1] or 0}.{match[2] or 0}" if match else "unreadable"


def _sitemaps(lines: Iterable[str], url: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for line in lines:
        for text in _NEXT_URL.split(_named_sitemap(_COMMENT.sub("", line))):
            if sitemap := _address(text.strip("<>\"' \t,;"), url):
                found[sitemap] = None
    return tuple(found)


def _named_sitemap(line: str) -> str:
    """What a line names; some write nothing but the URL."""
    if match := _SITEMAP.match(line):
        return match["url"]
    match = _BARE_URL.match(line)
    return match["url"] if match and "sitemap" in match["url"].lower() else ""


def _address(text: str, url: str) -> str | None:
    """Where a sitemap is; `example.com/a.xml` on example.com lacks only its scheme."""
    first = text.partition("/")[0].lower()
    if "/" in text and host_of(first) == host_of(url):
        text = f"//{text}"
    return clean_url(text, url) if text else None
