"""Read one sitemap and tell what is in it."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from operator import attrgetter

from scrapersky.scraper.events import (
    URLS_PER_CHUNK,
    Event,
    Refused,
    SitemapDone,
    SitemapFound,
    SitemapStatus,
    SitemapType,
    SitemapUnchanged,
    Unchanged,
    UrlsFound,
)
from scrapersky.scraper.failures import FetchFailed, HostClosed
from scrapersky.scraper.known import KnownSitemap
from scrapersky.scraper.responses import Fetches, StreamedResponse, is_inconclusive
from scrapersky.scraper.scan import Scan, Target
from scrapersky.scraper.sitemap_parser import Entry, Kind, SitemapStream
from scrapersky.scraper.sitemap_parser.rows import Rows
from scrapersky.scraper.spool import compared

_TYPES = {
    Kind.INDEX: SitemapType.INDEX,
    Kind.RSS: SitemapType.RSS,
    Kind.ATOM: SitemapType.ATOM,
    Kind.TEXT: SitemapType.TEXT,
}
_NOTED = frozenset({"lastmod", "changefreq", "priority", "images", "videos", "news"})


class Visit:
    """One sitemap from its request to its verdict."""

    def __init__(
        self, target: Target, scan: Scan, fetch: Fetches, tell: Callable[[Event], Awaitable[None]]
    ) -> None:
        self._target = target
        self._scan = scan
        self._fetch = fetch
        self._tell = tell
        self._answer: StreamedResponse | None = None
        self._stream: SitemapStream | None = None
        self._waiting: deque[Sequence[Entry]] = deque()
        self._waiting_count = 0
        self._is_told = False
        self._count = 0
        self._dropped: Counter[str] = Counter()
        self._children: set[str] = set()
        """Other sitemaps it names."""
        self._carried: set[str] = set()
        self._stopped: str | None = None
        self._known = scan.known.sitemaps.get(target.url)

    async def make(self) -> None:
        """Tell of the sitemap, its URLs and its verdict; failures end in the verdict too."""
        known = self._known
        if known is not None and known.is_current(self._target.lastmod):
            await self._leave(known, Unchanged.INDEX_LASTMOD)
            return
        if reason := self._scan.refuse_foreign(self._target):
            await self._pass_over(reason)
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
                    await self._pass_over(
                        f"It redirects to {answer.final_url}, which has its turn."
                    )
        except FetchFailed as error:
            if isinstance(error, HostClosed):
                self._scan.note_wait(error.seconds_left)
            await self._fail(str(error), conclusive=error.permanent)
        except TimeoutError:
            self._scan.truncate(
                f"The time for this scan, {self._scan.limits.max_seconds:g} s, is over."
            )
            await self._out_of_time()

    async def _read(self, answer: StreamedResponse) -> None:
        known = self._known
        if answer.status == 304 and known is not None:
            await self._leave(known, Unchanged.NOT_MODIFIED)
            return
        if not 200 <= answer.status < 300:
            self._scan.note_wait(answer.retry_after_seconds)
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
            pieces, is_same = await compared(answer, known.content_hash)
            if is_same:
                await self._leave(known, Unchanged.SAME_CONTENT)
                return
        apart = self._scan.twins.told_apart(answer, pieces, self._target.url)
        async with aclosing(apart):
            async for chunk in apart:
                for entries in stream.parts(chunk):
                    await self._take(entries)
                    await asyncio.sleep(0)
                if stream.is_over or self._stopped:
                    break
        if not self._stopped:
            for entries in stream.last_parts():
                await self._take(entries)
                await asyncio.sleep(0)
        await self._conclude(stream, answer)

    async def _leave(self, known: KnownSitemap, how: Unchanged) -> None:
        """Nothing is parsed: what it named before, it still names."""
        for url, lastmod in known.children:
            self._scan.add_child(url, lastmod, parent=self._target)
        if known.sitemap_type is not SitemapType.INDEX:
            self._scan.urls += known.url_count
        self._scan.settle(self._target.url, SitemapStatus.OK, None)
        await self._tell(
            SitemapUnchanged(self._target.url, how, known.url_count, self._target.lastmod)
        )

    async def _take(self, entries: Sequence[Entry]) -> None:
        """Hold entries until there is a chunk of them, so that a doubled body can be left out."""
        kept = self._without_foreign(entries)
        self._dropped["foreign_host"] += len(entries) - len(kept)
        self._waiting.append(kept)
        self._waiting_count += len(kept)
        while self._waiting_count >= URLS_PER_CHUNK and not self._stopped:
            await self._hand_over(await self._next_chunk())

    def _without_foreign(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The sitemaps and the site's own pages."""
        owns = self._scan.owns
        if isinstance(entries, Rows) and entries.origin and not entries.is_sitemap:
            return entries if owns(f"{entries.origin}/") else ()
        return [entry for entry in entries if entry.is_sitemap or owns(entry.loc)]

    async def _next_chunk(self) -> list[Entry]:
        """Make the entries, some at a time, as rows become entries only here."""
        chunk: list[Entry] = []
        while self._waiting and len(chunk) < URLS_PER_CHUNK:
            part, room = self._waiting.popleft(), URLS_PER_CHUNK - len(chunk)
            chunk += part[:room]
            if len(part) > room:
                self._waiting.appendleft(part[room:])
            await asyncio.sleep(0)
        self._waiting_count -= len(chunk)
        return chunk

    async def _conclude(self, stream: SitemapStream, answer: StreamedResponse) -> None:
        if stream.error is not None:
            await self._refuse(answer.truncated or stream.error, truncated=bool(answer.truncated))
            return
        twin = self._scan.twins.twin_of(answer.digest, self._target.url)
        if twin and not self._is_told:
            await self._pass_over(f"It has the same content as {twin}.")
            return
        if self._waiting_count and not self._stopped:
            await self._hand_over(await self._next_chunk())
        await self._tell_found()
        problem = self._stopped or answer.truncated or stream.partial
        if answer.hit_limit or stream.hit_limit:
            self._scan.truncate(f"{self._target.url}: {problem}")
        await self._tell_done(problem)

    async def _hand_over(self, entries: list[Entry]) -> None:
        """Queue the children and tell the pages, up to the limit."""
        await self._tell_found()
        children = [entry for entry in entries if entry.is_sitemap]
        for child in children:
            self._scan.add_child(child.loc, child.lastmod, parent=self._target)
        own = [entry for entry in entries if not entry.is_sitemap] if children else entries
        pages = own[: self._scan.room]
        if len(pages) < len(own):
            self._stopped = f"The limit of {self._scan.max_urls} URLs was reached."
            self._scan.truncate(self._stopped)
        self._note(pages)
        self._count += self._count_new_children(children) + len(pages)
        if pages:
            self._scan.urls += len(pages)
            await self._tell(UrlsFound(self._target.url, tuple(pages)))

    def _count_new_children(self, children: list[Entry]) -> int:
        before = len(self._children)
        self._children.update(child.loc for child in children)
        return len(self._children) - before

    def _note(self, pages: list[Entry]) -> None:
        """Remember which fields and extensions the pages carry."""
        for name in _NOTED - self._carried:
            values = map(attrgetter(name), pages)
            # A priority of nought is one.
            if any(value is not None for value in values) if name == "priority" else any(values):
                self._carried.add(name)

    def _type(self) -> SitemapType | None:
        kind = self._stream.kind if self._stream else None
        if kind is not Kind.URLSET:
            return _TYPES[kind] if kind else None
        for name in ("news", "videos", "images"):
            if name in self._carried:
                return SitemapType(name.removesuffix("s") if name != "news" else name)
        return SitemapType.STANDARD

    async def _tell_found(self) -> None:
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
                sitemap_type=self._type(),
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

    async def _tell_done(self, problem: str | None, status: SitemapStatus | None = None) -> None:
        answer, stream = self._answer, self._stream
        status = status or (SitemapStatus.PARTIAL if problem else SitemapStatus.OK)
        self._scan.settle(self._target.url, status, problem)
        await self._tell(
            SitemapDone(
                url=self._target.url,
                status=status,
                reason=problem,
                sitemap_type=self._type(),
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

    async def _refuse(self, reason: str, *, truncated: bool) -> None:
        """Its bytes are no sitemap; unless they were cut, that much is certain."""
        if not self._target.is_announced:
            await self._dismiss(reason, conclusive=not truncated)
            return
        await self._tell_found()
        await self._tell_done(reason, SitemapStatus.ERROR if truncated else SitemapStatus.REFUSED)

    async def _fail(self, reason: str, *, conclusive: bool) -> None:
        """It could not be fetched."""
        if self._target.is_announced or self._is_told:
            self._scan.note_failure(conclusive=conclusive)
            await self._tell_found()
            await self._tell_done(reason, SitemapStatus.ERROR)
        else:
            await self._dismiss(reason, conclusive=conclusive)

    async def _pass_over(self, reason: str) -> None:
        """It is one that is read under another name."""
        await self._tell(Refused(self._target.url, self._target.method, reason))

    async def _dismiss(self, reason: str, *, conclusive: bool) -> None:
        """A guess that led nowhere."""
        self._scan.note_probe(self._target.url, reason, conclusive=conclusive)
        await self._tell(Refused(self._target.url, self._target.method, reason))

    async def _out_of_time(self) -> None:
        reason = "The time for this scan was over."
        if self._is_told:
            await self._tell_done(reason, SitemapStatus.PARTIAL)
        else:
            await self._fail(reason, conclusive=False)
