"""Crawl the queued sitemaps concurrently and emit their content as events."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from operator import attrgetter

from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.fetch_errors import FetchFailed, HostClosed
from scrapersky.scraper.http.responses import StreamedResponse, is_inconclusive
from scrapersky.scraper.sitemaps.events import (
    URLS_PER_CHUNK,
    PreviousSitemap,
    ScanEvent,
    SitemapDone,
    SitemapFound,
    SitemapRejected,
    SitemapStatus,
    SitemapType,
    SitemapUnchanged,
    UnchangedReason,
    UrlsFound,
)
from scrapersky.scraper.sitemaps.parse import SitemapFormat, SitemapStream, UrlEntry
from scrapersky.scraper.sitemaps.parse.entries import EntryColumns
from scrapersky.scraper.sitemaps.scan import SitemapScan, SitemapTarget, compare_body

_TYPE_BY_FORMAT = {
    SitemapFormat.INDEX: SitemapType.INDEX,
    SitemapFormat.RSS: SitemapType.RSS,
    SitemapFormat.ATOM: SitemapType.ATOM,
    SitemapFormat.TEXT: SitemapType.TEXT,
}
_TRACKED_FIELDS = frozenset({"lastmod", "changefreq", "priority", "images", "videos", "news"})


class SitemapCrawl:
    """Crawl of one sitemap, from the request to its final status."""

    def __init__(
        self,
        target: SitemapTarget,
        scan: SitemapScan,
        fetch: Fetcher,
        tell: Callable[[ScanEvent], Awaitable[None]],
    ) -> None:
        self._target = target
        self._scan = scan
        self._fetch = fetch
        self._tell = tell
        self._answer: StreamedResponse | None = None
        self._stream: SitemapStream | None = None
        self._waiting: deque[Sequence[UrlEntry]] = deque()
        self._waiting_count = 0
        self._is_told = False
        self._count = 0
        self._dropped: Counter[str] = Counter()
        self._children: set[str] = set()
        """Distinct child sitemaps found so far."""
        self._carried: set[str] = set()
        self._stopped: str | None = None
        self._known = scan.known.sitemaps.get(target.url)

    async def run(self) -> None:
        """Emit the events of the sitemap. Failures end in its final event too."""
        known = self._known
        if known is not None and known.is_current(self._target.lastmod):
            await self._emit_unchanged(known, UnchangedReason.INDEX_LASTMOD)
            return
        if reason := self._scan.check_foreign(self._target):
            await self._skip(reason)
            return
        try:
            async with (
                asyncio.timeout_at(self._scan.ends_at),
                self._fetch.stream(
                    self._target.url,
                    max_bytes=self._scan.limits.max_bytes,
                    etag=known.etag if known else None,
                    last_modified=known.last_modified if known else None,
                    check_redirect=self._scan.check_redirect,
                ) as answer,
            ):
                self._answer = answer
                if self._scan.is_new(self._target.url, answer.final_url):
                    await self._read(answer)
                else:
                    where = answer.final_url
                    await self._skip(f"It redirects to {where}, which is read separately.")
        except FetchFailed as error:
            if isinstance(error, HostClosed):
                self._scan.record_wait(error.seconds_left)
            await self._fail(str(error), conclusive=error.permanent)
        except TimeoutError:
            self._scan.truncate(
                f"The time limit of {self._scan.limits.max_seconds:g} s for this scan was reached."
            )
            await self._time_out()

    async def _read(self, answer: StreamedResponse) -> None:
        known = self._known
        if answer.status == 304 and known is not None:
            await self._emit_unchanged(known, UnchangedReason.NOT_MODIFIED)
            return
        if not 200 <= answer.status < 300:
            self._scan.record_wait(answer.retry_after_seconds)
            conclusive = not is_inconclusive(answer.status)
            await self._fail(f"It answered {answer.status}.", conclusive=conclusive)
            return
        stream = self._stream = SitemapStream(
            url=answer.final_url,
            content_type=answer.headers.get("Content-Type"),
            max_decompressed_bytes=self._scan.limits.max_decompressed_bytes,
        )
        pieces = answer.chunks()
        if known is not None and known.content_hash is not None:
            pieces, is_same = await compare_body(answer, known.content_hash)
            if is_same:
                await self._emit_unchanged(known, UnchangedReason.SAME_CONTENT)
                return
        apart = self._scan.deduplicator.stream(answer, pieces, self._target.url)
        async with aclosing(apart):
            async for chunk in apart:
                for entries in stream.parts(chunk):
                    await self._buffer_entries(entries)
                    await asyncio.sleep(0)
                if stream.is_over or self._stopped:
                    break
        if not self._stopped:
            for entries in stream.last_parts():
                await self._buffer_entries(entries)
                await asyncio.sleep(0)
        await self._finish(stream, answer)

    async def _emit_unchanged(self, known: PreviousSitemap, how: UnchangedReason) -> None:
        """Emit one event instead of parsing, and queue the children of the previous scan."""
        for url, lastmod in known.children:
            self._scan.add_child(url, lastmod, parent=self._target)
        if known.sitemap_type is not SitemapType.INDEX:
            self._scan.urls += known.url_count
        self._scan.record_result(self._target.url, SitemapStatus.OK, None)
        await self._tell(
            SitemapUnchanged(self._target.url, how, known.url_count, self._target.lastmod)
        )

    async def _buffer_entries(self, entries: Sequence[UrlEntry]) -> None:
        """Buffer entries until a chunk is full, so that a duplicate body can still be dropped."""
        kept = self._drop_foreign(entries)
        self._dropped["foreign_host"] += len(entries) - len(kept)
        self._waiting.append(kept)
        self._waiting_count += len(kept)
        while self._waiting_count >= URLS_PER_CHUNK and not self._stopped:
            await self._emit_entries(await self._next_chunk())

    def _drop_foreign(self, entries: Sequence[UrlEntry]) -> Sequence[UrlEntry]:
        """Keep child sitemaps and pages of the site itself."""
        owns = self._scan.owns
        if isinstance(entries, EntryColumns) and entries.origin and not entries.is_sitemap:
            return entries if owns(f"{entries.origin}/") else ()
        return [entry for entry in entries if entry.is_sitemap or owns(entry.loc)]

    async def _next_chunk(self) -> list[UrlEntry]:
        """Build the next chunk. Yields to the event loop, as rows become entries only here."""
        chunk: list[UrlEntry] = []
        while self._waiting and len(chunk) < URLS_PER_CHUNK:
            part, room = self._waiting.popleft(), URLS_PER_CHUNK - len(chunk)
            chunk += part[:room]
            if len(part) > room:
                self._waiting.appendleft(part[room:])
            await asyncio.sleep(0)
        self._waiting_count -= len(chunk)
        return chunk

    async def _finish(self, stream: SitemapStream, answer: StreamedResponse) -> None:
        if stream.error is not None:
            await self._reject(answer.truncated or stream.error, truncated=bool(answer.truncated))
            return
        duplicate_of = self._scan.deduplicator.find_duplicate(answer.digest, self._target.url)
        if duplicate_of and not self._is_told:
            await self._skip(f"It has the same content as {duplicate_of}.")
            return
        if self._waiting_count and not self._stopped:
            await self._emit_entries(await self._next_chunk())
        await self._emit_found()
        problem = self._stopped or answer.truncated or stream.partial
        if answer.hit_limit or stream.hit_limit:
            self._scan.truncate(f"{self._target.url}: {problem}")
        await self._emit_done(problem)

    async def _emit_entries(self, entries: list[UrlEntry]) -> None:
        """Queue the child sitemaps and emit the pages, up to the URL limit."""
        await self._emit_found()
        children = [entry for entry in entries if entry.is_sitemap]
        for child in children:
            self._scan.add_child(child.loc, child.lastmod, parent=self._target)
        own = [entry for entry in entries if not entry.is_sitemap] if children else entries
        pages = own[: self._scan.room]
        if len(pages) < len(own):
            self._stopped = f"The limit of {self._scan.max_urls} URLs was reached."
            self._scan.truncate(self._stopped)
        # Record which fields and extensions the pages have.
        for name in _TRACKED_FIELDS - self._carried:
            values = map(attrgetter(name), pages)
            # A priority of 0 counts as present.
            if any(value is not None for value in values) if name == "priority" else any(values):
                self._carried.add(name)
        known = len(self._children)
        self._children.update(child.loc for child in children)
        self._count += len(self._children) - known + len(pages)
        if pages:
            self._scan.urls += len(pages)
            await self._tell(UrlsFound(self._target.url, tuple(pages)))

    def _get_type(self) -> SitemapType | None:
        kind = self._stream.kind if self._stream else None
        if kind is not SitemapFormat.URLSET:
            return _TYPE_BY_FORMAT[kind] if kind else None
        for name in ("news", "videos", "images"):
            if name in self._carried:
                return SitemapType(name.removesuffix("s") if name != "news" else name)
        return SitemapType.STANDARD

    async def _emit_found(self) -> None:
        if self._is_told:
            return
        self._is_told = True
        answer, target = self._answer, self._target
        headers = answer.headers if answer else {}
        await self._tell(
            SitemapFound(
                url=target.url,
                final_url=answer.final_url if answer else target.url,
                parent_url=target.parent_url,
                sitemap_type=self._get_type(),
                discovery_method=target.method,
                depth=target.depth,
                is_gzipped=bool(self._stream and self._stream.is_gzipped),
                http_status=answer.status if answer else None,
                response_time_ms=answer.elapsed_ms if answer else None,
                etag=headers.get("ETag"),
                last_modified=headers.get("Last-Modified"),
                generator=self._stream.generator if self._stream else None,
            )
        )

    async def _emit_done(self, problem: str | None, status: SitemapStatus | None = None) -> None:
        answer, stream = self._answer, self._stream
        status = status or (SitemapStatus.PARTIAL if problem else SitemapStatus.OK)
        self._scan.record_result(self._target.url, status, problem)
        await self._tell(
            SitemapDone(
                url=self._target.url,
                status=status,
                reason=problem,
                sitemap_type=self._get_type(),
                url_count=self._count,
                size_bytes=answer.network_bytes if answer else 0,
                content_hash=answer.digest if answer else None,
                has_lastmod="lastmod" in self._carried,
                has_priority="priority" in self._carried,
                has_changefreq="changefreq" in self._carried,
                dropped={**(stream.dropped if stream else {}), **+self._dropped},
                index_lastmod=self._target.lastmod,
            )
        )

    async def _reject(self, reason: str, *, truncated: bool) -> None:
        """End with "not a sitemap". That is conclusive unless the body was truncated."""
        if not self._target.is_announced:
            await self._reject_probe(reason, conclusive=not truncated)
            return
        await self._emit_found()
        await self._emit_done(reason, SitemapStatus.ERROR if truncated else SitemapStatus.REFUSED)

    async def _fail(self, reason: str, *, conclusive: bool) -> None:
        """End with a failed fetch."""
        if self._target.is_announced or self._is_told:
            self._scan.record_failure(conclusive=conclusive)
            await self._emit_found()
            await self._emit_done(reason, SitemapStatus.ERROR)
        else:
            await self._reject_probe(reason, conclusive=conclusive)

    async def _skip(self, reason: str) -> None:
        """Skip the sitemap: it is read under another URL, or points to too many other sites."""
        await self._tell(SitemapRejected(self._target.url, self._target.method, reason))

    async def _reject_probe(self, reason: str, *, conclusive: bool) -> None:
        """End a failed probe of a common path."""
        self._scan.record_failed_probe(self._target.url, reason, conclusive=conclusive)
        await self._tell(SitemapRejected(self._target.url, self._target.method, reason))

    async def _time_out(self) -> None:
        reason = "The time limit of the scan was reached."
        if self._is_told:
            await self._emit_done(reason, SitemapStatus.PARTIAL)
        else:
            await self._fail(reason, conclusive=False)


MAX_PENDING_EVENTS = 2
"""Events not yet consumed. When the queue is full, crawls wait for the consumer."""


_CrawlQueue = asyncio.Queue[ScanEvent | Exception | None]
"""Events of all crawls. None ends one crawl; an unexpected error ends all of them."""


async def crawl_sitemaps(
    scan: SitemapScan, fetch: Fetcher, *, at_once: int
) -> AsyncGenerator[ScanEvent, None]:
    """Crawl all queued sitemaps and their children. Events of one sitemap stay in order."""
    events: _CrawlQueue = asyncio.Queue(MAX_PENDING_EVENTS)
    tasks: set[asyncio.Task[None]] = set()
    running = 0
    try:
        while True:
            scan.stop_if_full()
            while scan.queue and running < at_once:
                crawl = _crawl_one(scan.queue.popleft(), scan, fetch, events)
                tasks.add(asyncio.create_task(crawl))
                running += 1
            if not running:
                return
            event = await events.get()
            if isinstance(event, Exception):
                raise event
            if event is None:
                running -= 1
            else:
                scan.note(event)
                yield event
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _crawl_one(
    target: SitemapTarget, scan: SitemapScan, fetch: Fetcher, events: _CrawlQueue
) -> None:
    try:
        await SitemapCrawl(target, scan, fetch, events.put).run()
    except Exception as error:
        await events.put(error)
    else:
        await events.put(None)
