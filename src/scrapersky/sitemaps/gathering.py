"""Gather what a scan finds into handfuls that are stored together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from time import monotonic

from scrapersky.scraper.events import (
    Analysis,
    Event,
    SitemapDone,
    SitemapFound,
    SitemapStatus,
    SitemapType,
    SitemapUnchanged,
    UrlsFound,
)
from scrapersky.settings import Settings
from scrapersky.sitemaps.pacing import Rhythm
from scrapersky.sitemaps.url_rows import DIGEST_BYTES, Sightings, UrlRows, rows_of

STORE_EVERY_SECONDS = 0.5
"""People watch: what was found is shown while the scan goes on."""
STORE_EVERY_EVENTS = 100
STORE_EVERY_URLS = 5_000


@dataclass(frozen=True)
class Findings:
    """Some of what a scan found, to be stored together."""

    events: tuple[Event | UrlRows, ...]
    progress: float
    phase: str
    rhythm: Rhythm
    auto_import: bool = False
    """Whether files that were read are handed on to the import."""
    seen: Mapping[str, bytes] = field(default_factory=dict)
    """For sitemaps read to their end that were read before: the digests of all they list now."""


async def gathered(events: AsyncIterator[Event], tally: Tally) -> AsyncGenerator[Findings, None]:
    """Events in handfuls: few transactions, and still something to see every half second.

    To be closed before the events are: one of them may be on its way."""
    async with aclosing(with_pauses(events, STORE_EVERY_SECONDS)) as paused:
        async for event in paused:
            if event is None:
                # The engine stores a handful when the next one comes, so an empty one pushes it
                # out.
                if (tally.handful or tally.unseen) and not tally.concluded:
                    yield tally.findings()
                continue
            tally.add(event)
            if tally.is_full():
                yield tally.findings()
    yield tally.findings(ended=True)


@dataclass
class Tally:
    """The handful being gathered, and how far the scan has come."""

    settings: Settings
    read_before: frozenset[str]
    sightings: Sightings | None = None
    import_asked: bool = False
    """Who hands in a sitemap wants its pages."""
    reading: dict[str, bytearray] = field(default_factory=dict)
    """Digests of what the sitemaps being read list, as far as they were read before."""
    seen: dict[str, bytes] = field(default_factory=dict)
    handful: list[Event | UrlRows] = field(default_factory=list)
    urls: int = 0
    found: int = 0
    done: int = 0
    since: float = field(default_factory=monotonic)
    unseen: bool = False
    """The last handful had something in it and is not stored yet."""
    concluded: bool = False
    """The scan's end is in the handful. It is told with the row's own end, in the last one: told
    before, a worker that dies between the two would have it told twice."""

    def add(self, event: Event) -> None:
        if isinstance(event, UrlsFound):
            self._add_urls(event)
            return
        if isinstance(event, SitemapDone):
            event = self._conclude(event)
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
        found = UrlRows(event.sitemap_url, rows_of(event.entries, self.sightings), is_known)
        self.handful.append(found)
        self.urls += len(found.rows)
        if is_known:
            self.reading.setdefault(event.sitemap_url, bytearray()).extend(found.digests())

    def _conclude(self, event: SitemapDone) -> SitemapDone:
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

    def findings(self, *, ended: bool = False) -> Findings:
        progress = 1.0 if ended else _progress(self.found, self.done)
        phase = "done" if ended else _phase(self.found)
        findings = Findings(
            tuple(self.handful),
            progress,
            phase,
            rhythm=Rhythm.of(self.settings),
            auto_import=self.settings.auto_import_sitemaps or self.import_asked,
            seen=self.seen,
        )
        self.unseen = bool(self.handful)
        self.handful, self.seen, self.urls, self.since = [], {}, 0, monotonic()
        return findings


async def with_pauses(
    events: AsyncIterator[Event], seconds: float
) -> AsyncGenerator[Event | None, None]:
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


def _progress(found: int, done: int) -> float:
    """A guess that never reaches the end before the end: how much more there is, nobody knows."""
    return 0.02 if not found else min(0.95, 0.05 + 0.9 * done / (found + 1))


def _phase(found: int) -> str:
    return "reading sitemaps" if found else "looking for sitemaps"
