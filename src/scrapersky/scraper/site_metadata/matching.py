"""Compare the evidence with the fingerprints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from scrapersky.scraper.site_metadata.evidence import Evidence
from scrapersky.scraper.site_metadata.fingerprints import Fingerprint, technologies
from scrapersky.scraper.site_metadata.model import Technology

VERSION_CHARACTERS = 200
"""How far from the telling part a version may stand."""
MAX_LINES = 20

Clue = tuple[str, str | None]
"""What was found, and the version if that tells it."""


def find_technologies(evidence: Evidence) -> tuple[Technology, ...]:
    """All that is there, and what must be there because of it; in the file's order."""
    found = {each.name: each for each in recognised(evidence, technologies())}
    known = {each.name: each for each in technologies()}
    waiting = list(found)
    for name in waiting:
        for implied in known[name].implies:
            if implied not in found:
                category = known[implied].category
                found[implied] = Technology(implied, category, None, f"implied by {name}")
                waiting.append(implied)
    return tuple(found[name] for name in known if name in found)


def recognised(evidence: Evidence, fingerprints: tuple[Fingerprint, ...]) -> Iterator[Technology]:
    """Those of the fingerprints that are found, in their order."""
    for number in sorted(_index(fingerprints).candidates(evidence)):
        fingerprint = fingerprints[number]
        clues = list(_clues(fingerprint, evidence))
        if clues:
            version = next((version for _, version in clues if version), None)
            yield Technology(fingerprint.name, fingerprint.category, version, clues[0][0])


@dataclass(frozen=True)
class _Index:
    """The parts of many fingerprints side by side, as most pages have few of them."""

    urls: tuple[tuple[str, int], ...]
    html: tuple[tuple[str, int], ...]
    text: tuple[tuple[str, int], ...]
    headers: tuple[tuple[str, int], ...]
    others: tuple[int, ...]
    """Those to be looked at in any case."""
    with_generator: tuple[int, ...]

    def candidates(self, evidence: Evidence) -> set[int]:
        urls, html, text, headers = evidence.urls, evidence.html, evidence.text, evidence.headers
        found = {number for part, number in self.urls if part in urls}
        found.update(number for part, number in self.html if part in html)
        if text:
            found.update(number for part, number in self.text if part in text)
        found.update(number for name, number in self.headers if name in headers)
        if evidence.generators:
            found.update(self.with_generator)
        return found.union(self.others)


@lru_cache(maxsize=16)
def _index(fingerprints: tuple[Fingerprint, ...]) -> _Index:
    numbered = list(enumerate(fingerprints))
    return _Index(
        urls=tuple((part, number) for number, each in numbered for part in each.urls),
        html=tuple((part, number) for number, each in numbered for part in each.html),
        text=tuple((part, number) for number, each in numbered for part in each.text),
        headers=tuple((name, number) for number, each in numbered for name, _ in each.headers),
        others=tuple(number for number, each in numbered if each.cookies or each.hosts),
        with_generator=tuple(number for number, each in numbered if each.generator),
    )


def _clues(fingerprint: Fingerprint, evidence: Evidence) -> Iterator[Clue]:
    yield from _in_generators(fingerprint, evidence)
    yield from _in_headers(fingerprint, evidence)
    yield from _in_urls(fingerprint, evidence)
    yield from _in_html(fingerprint, evidence)
    for part in fingerprint.text:
        if part in evidence.text:
            yield f"text “{part}”", None
            return


def _in_generators(fingerprint: Fingerprint, evidence: Evidence) -> Iterator[Clue]:
    if fingerprint.generator is not None:
        for content in evidence.generators:
            if match := fingerprint.generator.match(content):
                yield f"generator {content[:100]}", _version(match)


def _in_headers(fingerprint: Fingerprint, evidence: Evidence) -> Iterator[Clue]:
    for name, pattern in fingerprint.headers:
        value = evidence.headers.get(name)
        if value is not None and (match := pattern.search(value[:1_000])):
            yield f"header {name}: {value[:100]}".rstrip(), _version(match)
    for cookie in evidence.cookies:
        if cookie.startswith(fingerprint.cookies):
            yield f"cookie {cookie.rstrip('=')[:60]}", None
    for host in fingerprint.hosts:
        if evidence.host == host or evidence.host.endswith(f".{host}"):
            yield f"host {host}", None


def _in_urls(fingerprint: Fingerprint, evidence: Evidence) -> Iterator[Clue]:
    urls = evidence.urls
    for part in fingerprint.urls:
        if part in urls:
            lines = islice(_lines(urls, part), MAX_LINES)
            versions = (_stated(fingerprint, line) for line in lines)
            yield f"address {part}", next(filter(None, versions), None)


def _lines(text: str, part: str) -> Iterator[str]:
    at = text.find(part)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text[start:end]
        at = text.find(part, end)


def _in_html(fingerprint: Fingerprint, evidence: Evidence) -> Iterator[Clue]:
    for part in fingerprint.html:
        at = evidence.html.find(part)
        if at >= 0:
            place = evidence.html[at : at + VERSION_CHARACTERS]
            yield f"source {part}", _stated(fingerprint, place)


def _stated(fingerprint: Fingerprint, place: str) -> str | None:
    match = fingerprint.version.search(place) if fingerprint.version else None
    return _version(match) if match else None


def _version(match: re.Match[str]) -> str | None:
    return match[match.lastindex].strip(".") if match.lastindex else None
