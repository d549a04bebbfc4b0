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
"""With two bits set per URL, one new URL in three hundred is a false positive."""
MAX_BITS = 2**27
"""16 MB. Above four million URLs the false positive rate rises, to one in fifty at ten million."""

UrlRow = tuple[Any, ...]


@dataclass(frozen=True)
class UrlRows:
    """Distinct URLs of one sitemap, as rows to store."""

    sitemap_url: str
    rows: Sequence[UrlRow]
    is_known: bool
    """Whether rows of this sitemap are already stored."""

    def digests(self) -> bytes:
        return b"".join(row[DIGEST_INDEX] for row in self.rows)


class UrlBloomFilter:
    """Bloom filter of the URLs that a scan has seen: false positives are possible, false negatives
    are not.
    """

    def __init__(self, most_urls: int) -> None:
        bits = min(MAX_BITS, 1 << (most_urls * BITS_PER_URL - 1).bit_length())
        self._bits = bytearray(bits // 8)
        self._mask = bits - 1

    def check_and_add(self, digest: bytes) -> bool:
        """Add the digest and return whether it may have been seen before."""
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
    """Build distinct rows. Without a filter every URL may be listed by another sitemap too."""
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
    """Return the entry's sitemap extensions as JSON."""
    extensions = {name: value for name in EXTENSIONS if (value := getattr(entry, name))}
    return json.dumps(extensions, default=str)


STORE_EVERY_SECONDS = 0.5
"""Findings are stored this often, so that people can watch a running scan."""
STORE_EVERY_EVENTS = 100
STORE_EVERY_URLS = 5_000


@dataclass(frozen=True)
class ScanFindings:
    """A batch of findings to store in one transaction."""

    events: tuple[ScanEvent | UrlRows, ...]
    progress: float
    phase: str
    rhythm: RescanPolicy
    auto_import: bool = False
    """Whether to queue the import of files that were read."""
    seen: Mapping[str, bytes] = field(default_factory=dict)
    """Digests of all URLs, for known sitemaps that were read completely."""


async def batch_events(
    events: AsyncIterator[ScanEvent], tally: ScanBuffer
) -> AsyncGenerator[ScanFindings, None]:
    """Batch the events: few transactions, but visible progress every half second.

    Close it before closing `events`, because an event may still be awaited.
    """
    async with aclosing(add_idle_ticks(events, STORE_EVERY_SECONDS)) as paused:
        async for event in paused:
            if event is None:
                # The engine stores a batch when the next one arrives, so an empty one flushes it.
                if (tally.pending_events or tally.unseen) and not tally.concluded:
                    yield tally.build_findings()
                continue
            tally.add(event)
            if tally.is_full():
                yield tally.build_findings()
    yield tally.build_findings(ended=True)


@dataclass
class ScanBuffer:
    """The current batch and the scan's progress."""

    settings: Settings
    read_before: frozenset[str]
    sightings: UrlBloomFilter | None = None
    import_asked: bool = False
    """Whether to import the pages regardless of the settings, as for an imported sitemap."""
    reading: dict[str, bytearray] = field(default_factory=dict)
    """Digests so far of known sitemaps that are being read."""
    seen: dict[str, bytes] = field(default_factory=dict)
    pending_events: list[ScanEvent | UrlRows] = field(default_factory=list)
    urls: int = 0
    found: int = 0
    done: int = 0
    since: float = field(default_factory=monotonic)
    unseen: bool = False
    """Whether the last batch had events and is not stored yet."""
    concluded: bool = False
    """Whether the batch holds the scan's `Analysis`. It is only yielded in the last batch, which
    settles the row: stored earlier, it would be stored twice if the worker dies in between.
    """

    def add(self, event: ScanEvent) -> None:
        if isinstance(event, UrlsFound):
            self._add_urls(event)
            return
        if isinstance(event, SitemapDone):
            event = self._finish_sitemap(event)
        self.pending_events.append(event)
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
        rows = UrlRows(event.sitemap_url, build_rows(event.entries, self.sightings), is_known)
        self.pending_events.append(rows)
        self.urls += len(rows.rows)
        if is_known:
            self.reading.setdefault(event.sitemap_url, bytearray()).extend(rows.digests())

    def _finish_sitemap(self, event: SitemapDone) -> SitemapDone:
        """Record the digests of a complete read, which reveal missing URLs, and count distinct
        URLs.
        """
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
        many = len(self.pending_events) >= STORE_EVERY_EVENTS or self.urls >= STORE_EVERY_URLS
        return (late or many) and not self.concluded

    def build_findings(self, *, ended: bool = False) -> ScanFindings:
        progress = 1.0 if ended else _estimate_progress(self.found, self.done)
        phase = "done" if ended else _get_phase(self.found)
        findings = ScanFindings(
            tuple(self.pending_events),
            progress,
            phase,
            rhythm=RescanPolicy.of(self.settings),
            auto_import=self.settings.auto_import_sitemaps or self.import_asked,
            seen=self.seen,
        )
        self.unseen = bool(self.pending_events)
        self.pending_events, self.seen, self.urls, self.since = [], {}, 0, monotonic()
        return findings


async def add_idle_ticks(
    events: AsyncIterator[ScanEvent], seconds: float
) -> AsyncGenerator[ScanEvent | None, None]:
    """Yield the events, and None whenever none arrived for `seconds`."""
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


def _estimate_progress(urls: int, done: int) -> float:
    """Estimate the progress. The total is unknown, so that it stays below 1 until the end."""
    return 0.02 if not urls else min(0.95, 0.05 + 0.9 * done / (urls + 1))


def _get_phase(urls: int) -> str:
    return "reading sitemaps" if urls else "finding sitemaps"
