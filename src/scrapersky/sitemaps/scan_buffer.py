"""Buffer the events of a scan into batches, and build URL rows before a transaction begins."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from scrapersky.scraper.http.urls import url_digest
from scrapersky.scraper.sitemaps.events import (
    Analysis,
    ScanEvent,
    SitemapDone,
    SitemapFound,
    SitemapStatus,
    SitemapType,
    SitemapUnchanged,
    UrlsFound,
)
from scrapersky.scraper.sitemaps.parse.entries import UrlEntry
from scrapersky.settings import Settings
from scrapersky.sitemaps.rescans import RescanPolicy

ROW_COLUMNS = (
    "url",
    "url_digest",
    "lastmod",
    "changefreq",
    "priority",
    "extras",
    "may_repeat",
)
DIGEST_INDEX = ROW_COLUMNS.index("url_digest")
EXTRAS_INDEX = ROW_COLUMNS.index("extras")
DIGEST_BYTES = 16
EXTENSIONS = ("images", "videos", "news", "alternates", "mobile")
BITS_PER_URL = 32
"""With two bits set for each, one new URL in three hundred looks as if it had been seen."""
MAX_BITS = 2**27
"""16 MB. From four million URLs on more of them look seen: one in fifty of ten million."""

UrlRow = tuple[Any, ...]


@dataclass(frozen=True)
class UrlRows:
    """Some URLs of one sitemap, ready to be stored; each URL once."""

    sitemap_url: str
    rows: Sequence[UrlRow]
    is_known: bool
    """Rows of this sitemap are stored already."""

    def digests(self) -> bytes:
        return b"".join(row[DIGEST_INDEX] for row in self.rows)


class UrlBloomFilter:
    """Remembers which URLs a scan has come across, in little room: it may take a new one for
    one that was seen, never the other way round."""

    def __init__(self, most_urls: int) -> None:
        bits = min(MAX_BITS, 1 << (most_urls * BITS_PER_URL - 1).bit_length())
        self._bits = bytearray(bits // 8)
        self._mask = bits - 1

    def check_and_add(self, digest: bytes) -> bool:
        """Whether it may have been seen before; from now on it has."""
        bits, number = self._bits, int.from_bytes(digest[:8], "big")
        first, second = number & self._mask, number >> 32 & self._mask
        first_bit, second_bit = 1 << (first & 7), 1 << (second & 7)
        first, second = first >> 3, second >> 3
        if bits[first] & first_bit and bits[second] & second_bit:
            return True
        bits[first] |= first_bit
        bits[second] |= second_bit
        return False


def build_rows(entries: Iterable[UrlEntry], sightings: UrlBloomFilter | None) -> list[UrlRow]:
    """Without sightings any of them may be listed by another sitemap."""
    rows = [_build_row(entry, sightings) for entry in entries]
    once = {row[DIGEST_INDEX]: row for row in rows}
    return rows if len(once) == len(rows) else list(once.values())


def _build_row(entry: UrlEntry, sightings: UrlBloomFilter | None) -> UrlRow:
    url, lastmod, changefreq, priority, images, videos, news, alternates, mobile, _ = entry
    digest = url_digest(url)
    may_repeat = sightings is None or sightings.check_and_add(digest)
    has_more = images or videos or news or alternates or mobile
    extras = _build_extras(entry) if has_more else None
    return url, digest, lastmod, changefreq, priority, extras, may_repeat


def _build_extras(entry: UrlEntry) -> str:
    """What the extensions say, as JSON."""
    given = {name: value for name in EXTENSIONS if (value := getattr(entry, name))}
    return json.dumps(given, default=str)


STORE_EVERY_SECONDS = 0.5
"""People watch: what was found is shown while the scan goes on."""
STORE_EVERY_EVENTS = 100
STORE_EVERY_URLS = 5_000


@dataclass(frozen=True)
class ScanFindings:
    """Some of what a scan found, to be stored together."""

    events: tuple[ScanEvent | UrlRows, ...]
    progress: float
    phase: str
    rhythm: RescanPolicy
    auto_import: bool = False
    """Whether files that were read are handed on to the import."""
    seen: Mapping[str, bytes] = field(default_factory=dict)
    """For sitemaps read to their end that were read before: the digests of all they list now."""


async def batch_events(
    events: AsyncIterator[ScanEvent], tally: ScanBuffer
) -> AsyncGenerator[ScanFindings, None]:
    """Events in handfuls: few transactions, and still something to see every half second.

    To be closed before the events are: one of them may be on its way."""
    async with aclosing(add_idle_ticks(events, STORE_EVERY_SECONDS)) as paused:
        async for event in paused:
            if event is None:
                # The engine stores a handful when the next one comes, so an empty one pushes it
                # out.
                if (tally.handful or tally.unseen) and not tally.concluded:
                    yield tally.build_findings()
                continue
            tally.add(event)
            if tally.is_full():
                yield tally.build_findings()
    yield tally.build_findings(ended=True)


@dataclass
class ScanBuffer:
    """The handful being gathered, and how far the scan has come."""

    settings: Settings
    read_before: frozenset[str]
    sightings: UrlBloomFilter | None = None
    import_asked: bool = False
    """Who hands in a sitemap wants its pages."""
    reading: dict[str, bytearray] = field(default_factory=dict)
    """Digests of what the sitemaps being read list, as far as they were read before."""
    seen: dict[str, bytes] = field(default_factory=dict)
    handful: list[ScanEvent | UrlRows] = field(default_factory=list)
    urls: int = 0
    found: int = 0
    done: int = 0
    since: float = field(default_factory=monotonic)
    unseen: bool = False
    """The last handful had something in it and is not stored yet."""
    concluded: bool = False
    """The scan's end is in the handful. It is told with the row's own end, in the last one: told
    before, a worker that dies between the two would have it told twice."""

    def add(self, event: ScanEvent) -> None:
        if isinstance(event, UrlsFound):
            self._add_urls(event)
            return
        if isinstance(event, SitemapDone):
            event = self._finish_sitemap(event)
        self.handful.append(event)
        self.concluded = self.concluded or isinstance(event, Analysis)
        if isinstance(event, SitemapUnchanged):
            self.found += 1
            self.done += 1
        elif isinstance(event, SitemapFound):
            self.found += 1
            self.reading.pop(event.url, None)
        elif isinstance(event, SitemapDone):
            self.done += 1

    def _add_urls(self, event: UrlsFound) -> None:
        is_known = event.sitemap_url in self.read_before
        found = UrlRows(event.sitemap_url, build_rows(event.entries, self.sightings), is_known)
        self.handful.append(found)
        self.urls += len(found.rows)
        if is_known:
            self.reading.setdefault(event.sitemap_url, bytearray()).extend(found.digests())

    def _finish_sitemap(self, event: SitemapDone) -> SitemapDone:
        """Gone is only what a complete read did not find. What was listed twice counts once."""
        digests = bytes(self.reading.pop(event.url, b""))
        if event.url not in self.read_before:
            return event
        if event.status is SitemapStatus.OK:
            self.seen[event.url] = digests
        if event.sitemap_type is SitemapType.INDEX:
            return event
        starts = range(0, len(digests), DIGEST_BYTES)
        different = len({digests[start : start + DIGEST_BYTES] for start in starts})
        return replace(event, url_count=different)

    def is_full(self) -> bool:
        late = monotonic() - self.since > STORE_EVERY_SECONDS
        many = len(self.handful) >= STORE_EVERY_EVENTS or self.urls >= STORE_EVERY_URLS
        return (late or many) and not self.concluded

    def build_findings(self, *, ended: bool = False) -> ScanFindings:
        progress = 1.0 if ended else _estimate_progress(self.found, self.done)
        phase = "done" if ended else _get_phase(self.found)
        findings = ScanFindings(
            tuple(self.handful),
            progress,
            phase,
            rhythm=RescanPolicy.of(self.settings),
            auto_import=self.settings.auto_import_sitemaps or self.import_asked,
            seen=self.seen,
        )
        self.unseen = bool(self.handful)
        self.handful, self.seen, self.urls, self.since = [], {}, 0, monotonic()
        return findings


async def add_idle_ticks(
    events: AsyncIterator[ScanEvent], seconds: float
) -> AsyncGenerator[ScanEvent | None, None]:
    """The events, and None whenever nothing has come for so long."""
    upcoming = asyncio.ensure_future(anext(events))
    try:
        while True:
            await asyncio.wait([upcoming], timeout=seconds)
            if not upcoming.done():
                yield None
                continue
            try:
                event = upcoming.result()
            except StopAsyncIteration:
                return
            yield event
            upcoming = asyncio.ensure_future(anext(events))
    finally:
        upcoming.cancel()
        with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
            await upcoming


def _estimate_progress(found: int, done: int) -> float:
    """A guess that never reaches the end before the end: how much more there is, nobody knows."""
    return 0.02 if not found else min(0.95, 0.05 + 0.9 * done / (found + 1))


def _get_phase(found: int) -> str:
    return "reading sitemaps" if found else "looking for sitemaps"
