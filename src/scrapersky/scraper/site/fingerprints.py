"""Detect technologies with the fingerprints in `fingerprints.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import islice
from typing import Any

from scrapersky.scraper.html.document import Document, clean_text, get_attribute, get_header_values
from scrapersky.scraper.http.urls import get_host
from scrapersky.scraper.site.model import Technology

MAX_URLS = 2_000
MAX_PICTURES = 200
MAX_URL_CHARACTERS = 300
MAX_SCRIPT_CHARACTERS = 300_000
"""Limit for all inline scripts together: some sites embed their whole content there."""
MAX_HTML_CHARACTERS = 150_000
MAX_TAIL_CHARACTERS = 30_000
MAX_SHORT_TEXT_CHARACTERS = 5_000

_LOADING_ELEMENTS = "script[src], link[href], iframe[src]"
_SCRIPT_TYPES = frozenset({"", "text/javascript", "application/javascript", "module"})
_SCRIPT_URL = re.compile(r"//[a-zA-Z0-9][^\s\"'<>)\\`]{3,300}")
_SCRIPT_FILE = re.compile(r"[\"']([\w./\-]{1,100}/?(?:matomo|piwik)\.(?:js|php))")


@dataclass(frozen=True)
class SiteEvidence:
    """Everything that fingerprints are matched against."""

    headers: Mapping[str, str]
    """Header names are in lower case."""
    cookies: tuple[str, ...]
    """`name=` of each cookie that was set."""
    host: str
    document: Document | None = None
    """None if only the headers describe the site."""

    @cached_property
    def html(self) -> str:
        """The source; of a long one only the beginning and the end, where most markers are."""
        html = self.document.html if self.document else ""
        if len(html) <= MAX_HTML_CHARACTERS:
            return html
        return f"{html[:MAX_HTML_CHARACTERS]}\n{html[-MAX_TAIL_CHARACTERS:]}"

    @cached_property
    def generators(self) -> tuple[str, ...]:
        if self.document is None:
            return ()
        nodes = self.document.tree.css("meta[name=generator i]")[:20]
        contents = (clean_text(get_attribute(node, "content"), limit=300) for node in nodes)
        return tuple(filter(None, contents))

    @cached_property
    def urls(self) -> str:
        """URLs the page loads, one per line, in lower case."""
        if self.document is None:
            return ""
        urls = dict.fromkeys(_list_loaded_urls(self.document))
        urls.update(dict.fromkeys(_list_script_urls(self.document)))
        return "\n".join([*urls][:MAX_URLS]).lower()

    @cached_property
    def text(self) -> str:
        """Title and visible text in lower case; empty if the text is long."""
        if self.document is None or len(self.document.text) > MAX_SHORT_TEXT_CHARACTERS:
            return ""
        title = self.document.tree.css_first("title")
        visible = f"{title.text() if title else ''} {self.document.text}"
        return (clean_text(visible, limit=2 * MAX_SHORT_TEXT_CHARACTERS) or "").lower()


def collect_evidence(
    headers: Mapping[str, str], url: str, document: Document | None = None
) -> SiteEvidence:
    cookies = get_header_values(headers, "Set-Cookie")
    names = dict.fromkeys(name.lower() for name in headers)
    return SiteEvidence(
        headers={name: ", ".join(get_header_values(headers, name)) for name in names},
        cookies=tuple(f"{each.partition('=')[0].strip()}=" for each in cookies),
        host=get_host(url),
        document=document,
    )


def _list_loaded_urls(document: Document) -> Iterator[str]:
    for node in document.tree.css(_LOADING_ELEMENTS):
        attributes = node.attributes
        if value := attributes.get("src") or attributes.get("href"):
            yield " ".join(value[:MAX_URL_CHARACTERS].split())
    for node in document.tree.css("img")[:MAX_PICTURES]:
        attributes = node.attributes
        if value := attributes.get("data-src") or attributes.get("src"):
            # Only the folder of an image is significant, and most images share one.
            yield "".join(value[:MAX_URL_CHARACTERS].rpartition("/")[:2])


def _list_script_urls(document: Document) -> Iterator[str]:
    """Yield URLs in inline scripts, which load most third-party services."""
    room = MAX_SCRIPT_CHARACTERS
    for script in document.scripts:
        if script.type in _SCRIPT_TYPES and script.text and room > 0:
            text = script.text[:room].replace("\\/", "/")
            room -= len(text)
            yield from _SCRIPT_URL.findall(text)
            yield from _SCRIPT_FILE.findall(text)


STATE_CATEGORIES = frozenset({"challenge", "parking", "default page", "under construction"})
"""Categories that describe a placeholder page rather than a technology of a site."""


@dataclass(frozen=True)
class FingerprintExample:
    """A sample that the fingerprint must match."""

    html: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    host: str | None = None
    version: str | None = None


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """The markers of one technology; `fingerprints.toml` documents the fields."""

    name: str
    category: str
    also: str | None
    generator: re.Pattern[str] | None
    urls: tuple[str, ...]
    html: tuple[str, ...]
    text: tuple[str, ...]
    headers: tuple[tuple[str, re.Pattern[str]], ...]
    cookies: tuple[str, ...]
    hosts: tuple[str, ...]
    version: re.Pattern[str] | None
    implies: tuple[str, ...]
    examples: tuple[FingerprintExample, ...]


@cache
def load_fingerprints() -> tuple[Fingerprint, ...]:
    source = files(__package__).joinpath("fingerprints.toml").read_text(encoding="utf-8")
    return tuple(_compile(entry) for entry in tomllib.loads(source)["technology"])


@cache
def list_fingerprints(*categories: str) -> tuple[Fingerprint, ...]:
    return tuple(each for each in load_fingerprints() if each.category in categories)


@cache
def list_technologies() -> tuple[Fingerprint, ...]:
    return tuple(each for each in load_fingerprints() if each.category not in STATE_CATEGORIES)


def _compile(entry: dict[str, Any]) -> Fingerprint:
    headers = entry.get("headers", {}).items()
    return Fingerprint(
        name=entry["name"],
        category=entry["category"],
        also=entry.get("also"),
        generator=_compile_pattern(entry.get("generator")),
        urls=tuple(entry.get("urls", ())),
        html=tuple(entry.get("html", ())),
        text=tuple(entry.get("text", ())),
        headers=tuple((name, re.compile(text, re.IGNORECASE)) for name, text in headers),
        cookies=tuple(entry.get("cookies", ())),
        hosts=tuple(entry.get("hosts", ())),
        version=_compile_pattern(entry.get("version")),
        implies=tuple(entry.get("implies", ())),
        examples=tuple(FingerprintExample(**example) for example in entry["examples"]),
    )


def _compile_pattern(text: str | None) -> re.Pattern[str] | None:
    return re.compile(text, re.IGNORECASE) if text else None


MAX_VERSION_DISTANCE = 200
"""Characters after the start of a marker in which the version is searched."""
MAX_VERSION_LINES = 20

Clue = tuple[str, str | None]
"""The marker that was found, and the version if the marker reveals it."""


def find_technologies(evidence: SiteEvidence) -> tuple[Technology, ...]:
    """Return the detected technologies and those they imply, in file order."""
    by_name = {each.name: each for each in match_fingerprints(evidence, list_technologies())}
    known = {each.name: each for each in list_technologies()}
    waiting = list(by_name)
    for name in waiting:
        for implied in known[name].implies:
            if implied not in by_name:
                category = known[implied].category
                by_name[implied] = Technology(implied, category, None, f"implied by {name}")
                waiting.append(implied)
    return tuple(by_name[name] for name in known if name in by_name)


def match_fingerprints(
    evidence: SiteEvidence, fingerprints: tuple[Fingerprint, ...]
) -> Iterator[Technology]:
    """Yield the matching fingerprints in the given order."""
    for number in sorted(_build_index(fingerprints).candidates(evidence)):
        fingerprint = fingerprints[number]
        clues = list(_find_clues(fingerprint, evidence))
        if clues:
            version = next((version for _, version in clues if version), None)
            yield Technology(fingerprint.name, fingerprint.category, version, clues[0][0])


@dataclass(frozen=True)
class _FingerprintIndex:
    """The markers of many fingerprints, as a quick prefilter: most pages contain few of them."""

    urls: tuple[tuple[str, int], ...]
    html: tuple[tuple[str, int], ...]
    text: tuple[tuple[str, int], ...]
    headers: tuple[tuple[str, int], ...]
    others: tuple[int, ...]
    """Fingerprints that are always checked."""
    with_generator: tuple[int, ...]

    def candidates(self, evidence: SiteEvidence) -> set[int]:
        urls, html, text, headers = evidence.urls, evidence.html, evidence.text, evidence.headers
        numbers = {number for part, number in self.urls if part in urls}
        numbers.update(number for part, number in self.html if part in html)
        if text:
            numbers.update(number for part, number in self.text if part in text)
        numbers.update(number for name, number in self.headers if name in headers)
        if evidence.generators:
            numbers.update(self.with_generator)
        return numbers.union(self.others)


@lru_cache(maxsize=16)
def _build_index(fingerprints: tuple[Fingerprint, ...]) -> _FingerprintIndex:
    numbered = list(enumerate(fingerprints))
    return _FingerprintIndex(
        urls=tuple((part, number) for number, each in numbered for part in each.urls),
        html=tuple((part, number) for number, each in numbered for part in each.html),
        text=tuple((part, number) for number, each in numbered for part in each.text),
        headers=tuple((name, number) for number, each in numbered for name, _ in each.headers),
        others=tuple(number for number, each in numbered if each.cookies or each.hosts),
        with_generator=tuple(number for number, each in numbered if each.generator),
    )


def _find_clues(fingerprint: Fingerprint, evidence: SiteEvidence) -> Iterator[Clue]:
    if fingerprint.generator is not None:
        for content in evidence.generators:
            if match := fingerprint.generator.match(content):
                yield f"generator {content[:100]}", _get_version(match)
    yield from _match_headers(fingerprint, evidence)
    yield from _match_urls(fingerprint, evidence)
    yield from _match_html(fingerprint, evidence)
    for part in fingerprint.text:
        if part in evidence.text:
            yield f"text “{part}”", None
            return


def _match_headers(fingerprint: Fingerprint, evidence: SiteEvidence) -> Iterator[Clue]:
    for name, pattern in fingerprint.headers:
        value = evidence.headers.get(name)
        if value is not None and (match := pattern.search(value[:1_000])):
            yield f"header {name}: {value[:100]}".rstrip(), _get_version(match)
    for cookie in evidence.cookies:
        if cookie.startswith(fingerprint.cookies):
            yield f"cookie {cookie.rstrip('=')[:60]}", None
    for host in fingerprint.hosts:
        if evidence.host == host or evidence.host.endswith(f".{host}"):
            yield f"host {host}", None


def _match_urls(fingerprint: Fingerprint, evidence: SiteEvidence) -> Iterator[Clue]:
    urls = evidence.urls
    for part in fingerprint.urls:
        if part in urls:
            lines = islice(_find_lines(urls, part), MAX_VERSION_LINES)
            versions = (_find_version(fingerprint, line) for line in lines)
            yield f"address {part}", next(filter(None, versions), None)


def _find_lines(text: str, part: str) -> Iterator[str]:
    at = text.find(part)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text[start:end]
        at = text.find(part, end)


def _match_html(fingerprint: Fingerprint, evidence: SiteEvidence) -> Iterator[Clue]:
    for part in fingerprint.html:
        at = evidence.html.find(part)
        if at >= 0:
            place = evidence.html[at : at + MAX_VERSION_DISTANCE]
            yield f"source {part}", _find_version(fingerprint, place)


def _find_version(fingerprint: Fingerprint, place: str) -> str | None:
    match = fingerprint.version.search(place) if fingerprint.version else None
    return _get_version(match) if match else None


def _get_version(match: re.Match[str]) -> str | None:
    return match[match.lastindex].strip(".") if match.lastindex else None
