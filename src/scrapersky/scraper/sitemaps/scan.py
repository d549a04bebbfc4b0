"""State of one scan: bodies already read, queue, seen URLs, counts, and the limits reached."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from tempfile import SpooledTemporaryFile

from scrapersky.scraper.http.fetch_errors import Blocked
from scrapersky.scraper.http.responses import StreamedResponse
from scrapersky.scraper.http.urls import Site, get_registrable_site, is_same_site
from scrapersky.scraper.sitemaps import events

# Identical or unchanged bodies, detected by their digests

MAX_MEMORY_BYTES = 4 * 1024 * 1024
"""Size up to which bodies are spooled in memory. Larger ones go to disk."""
SPOOL_CHUNK_BYTES = 256 * 1024


async def compare_body(
    answer: StreamedResponse, known_digest: str
) -> tuple[AsyncIterator[bytes], bool]:
    """Return the body for reading, and whether its digest equals the known one."""
    spool = await spool_chunks(answer.chunks())
    if answer.digest == known_digest:
        spool.close()
        return _empty_body(), True
    return read_spool(spool), False


async def spool_chunks(chunks: AsyncIterator[bytes]) -> SpooledTemporaryFile[bytes]:
    """Spool the chunks to a temporary file, which the caller must close."""
    spool = SpooledTemporaryFile(max_size=MAX_MEMORY_BYTES)  # noqa: SIM115
    async for chunk in chunks:
        spool.write(chunk)
    return spool


async def read_spool(spool: SpooledTemporaryFile[bytes]) -> AsyncIterator[bytes]:
    with spool:
        spool.seek(0)
        while piece := spool.read(SPOOL_CHUNK_BYTES):
            yield piece


async def _empty_body() -> AsyncIterator[bytes]:
    return
    yield b""


PREFIX_BYTES = 32 * 1024
"""Size of the decoded prefix that is compared. Shorter bodies are buffered to their end anyway."""


class BodyDeduplicator:
    """Index of the bodies of one scan, by digest and by prefix while they are being read."""

    def __init__(self) -> None:
        self._urls: dict[str, str] = {}
        self._readings: dict[bytes, asyncio.Event] = {}
        """Bodies being read, by the digest of their prefix. The event is set when the read ends."""

    def find_duplicate(self, digest: str | None, url: str) -> str | None:
        """Return the URL of an earlier sitemap with the same bytes, if any."""
        if digest is None:
            return None
        first_url = self._urls.setdefault(digest, url)
        return first_url if first_url != url else None

    async def stream(
        self, answer: StreamedResponse, pieces: AsyncIterator[bytes], url: str
    ) -> AsyncGenerator[bytes, None]:
        """Yield the body, or only its prefix if the body was already read under another URL."""
        start = await _read_prefix(pieces)
        yield start[:PREFIX_BYTES]
        if len(start) < PREFIX_BYTES:
            return
        key = blake2b(start[:PREFIX_BYTES]).digest()
        is_first = key not in self._readings
        over = self._readings.setdefault(key, asyncio.Event())
        rest = self._stream_first(over, answer, pieces, url)
        if not is_first:
            rest = self._stream_later(over, answer, pieces, url)
        async with aclosing(rest):
            async for piece in rest:
                yield start[PREFIX_BYTES:] + piece
                start = b""

    async def _stream_first(
        self, over: asyncio.Event, answer: StreamedResponse, pieces: AsyncIterator[bytes], url: str
    ) -> AsyncGenerator[bytes, None]:
        try:
            yield b""
            async for piece in pieces:
                yield piece
            self.find_duplicate(answer.digest, url)
        finally:
            over.set()

    async def _stream_later(
        self, over: asyncio.Event, answer: StreamedResponse, pieces: AsyncIterator[bytes], url: str
    ) -> AsyncGenerator[bytes, None]:
        """Spool the body until the first body with the same prefix ends, then yield it if it
        differs.
        """
        with await spool_chunks(pieces) as spool:
            await over.wait()
            if self.find_duplicate(answer.digest, url) is None:
                yield b""
                async for piece in read_spool(spool):
                    yield piece


async def _read_prefix(pieces: AsyncIterator[bytes]) -> bytes:
    start = b""
    async for piece in pieces:
        start += piece
        if len(start) >= PREFIX_BYTES:
            break
    return start


# The scan

MAX_REPORTED = 200
"""Rejections and errors repeated in the `Analysis`. All of them were emitted as events."""


MAX_FAILED_PROBES = 3
"""Consecutive failed probes after which a host is not probed further."""


MAX_FOREIGN_SITES = 5
MAX_REQUESTS_PER_FOREIGN_SITE = 5
"""Limit on requests to each other site. A robots.txt, an index or a redirect may point to another
site, and some sites do keep their sitemaps there. Without a limit, a hostile site could direct
thousands of our requests at a victim.
"""


@dataclass(frozen=True)
class SitemapTarget:
    """Location of a possible sitemap."""

    url: str
    method: events.DiscoveryMethod
    depth: int = 0
    parent_url: str | None = None
    lastmod: datetime | None = None
    """Its lastmod in the index."""

    @property
    def is_announced(self) -> bool:
        """Whether the site or the user named this sitemap. Otherwise it is a probe."""
        return self.method is not events.DiscoveryMethod.COMMON_PATH


class SitemapScan:
    """State of one scan, shared by its crawls."""

    def __init__(
        self,
        site: Site,
        *,
        limits: events.ScanLimits,
        max_urls: int,
        ends_at: float,
        known: events.PreviousScan | None = None,
    ) -> None:
        self.site = site
        self.known = known or events.PreviousScan()
        self.limits = limits
        self.max_urls = max_urls
        self.ends_at = ends_at
        """Deadline in event loop time."""
        self.base_url: str | None = None
        self.queue: deque[SitemapTarget] = deque()
        self.deduplicator = BodyDeduplicator()
        self.urls = 0
        self.usable = 0
        self.warnings: list[str] = []
        self._probes_failed_in_a_row = 0
        self._files = 0
        self._sitemaps = 0
        self._seen: set[str] = set()
        self._own_hosts: dict[str, bool] = {}
        self._own_sites = [site.key]
        self._refused: list[events.SitemapRejected] = []
        self._errors: list[str] = []
        self._truncated_why: str | None = None
        self._probes_conclusive = 0
        self._failures_conclusive = 0
        self.guesses = True
        """Whether common paths are probed. Otherwise only announced sitemaps determine the outcome.
        """
        self._is_blind = False
        self._longest_wait: float | None = None
        self._foreign_requests: Counter[str] = Counter()
        self._foreign_limit_why: str | None = None

    # Queue

    def add(self, targets: Iterable[SitemapTarget]) -> None:
        """Queue targets that were not seen before, within the limits."""
        for target in targets:
            key = target.url.partition("#")[0]
            if key in self._seen:
                continue
            if self._files >= self.limits.max_files:
                self.truncate(f"The limit of {self.limits.max_files} sitemaps was reached.")
                return
            self._seen.add(key)
            self._files += 1
            self.queue.append(target)

    def add_child(self, url: str, lastmod: datetime | None, *, parent: SitemapTarget) -> None:
        if parent.depth >= self.limits.max_depth:
            self.truncate(
                f"Sitemaps nested more than {self.limits.max_depth} levels deep were not read."
            )
            return
        method = events.DiscoveryMethod.SITEMAP_INDEX
        self.add([SitemapTarget(url, method, parent.depth + 1, parent.url, lastmod)])

    def is_new(self, url: str, final_url: str) -> bool:
        """Whether the target of a redirect has not been queued under its own URL."""
        if final_url == url:
            return True
        key = final_url.partition("#")[0]
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new

    # Own and other sites

    def add_own_site(self, url: str) -> None:
        """Count pages of this site as own pages too, because the site has moved there."""
        self._own_sites.append(url)
        self._own_hosts.clear()

    def owns(self, url: str) -> bool:
        host = url.split("/", 3)[2]
        known = self._own_hosts.get(host)
        if known is None:
            known = any(is_same_site(site, url) for site in self._own_sites)
            self._own_hosts[host] = known
        return known

    def check_foreign(self, target: SitemapTarget) -> str | None:
        """Count a request to another site. Return a reason if it must not be sent.

        Sitemaps named by the user are always requested.
        """
        is_asked_for = target.method is events.DiscoveryMethod.MANUAL
        return None if is_asked_for else self._count_foreign_request(target.url)

    def check_redirect(self, url: str) -> None:
        """Raise `Blocked` for a redirect to another site that has reached its request limit."""
        if why := self._count_foreign_request(url):
            raise Blocked(why, url=url)

    def _count_foreign_request(self, url: str) -> str | None:
        site = get_registrable_site(url)
        if self.owns(url) or site in map(get_registrable_site, self._own_sites):
            return None
        count = self._foreign_requests
        if site not in count and len(count) >= MAX_FOREIGN_SITES:
            why = f"{self.site.key} points to more than {MAX_FOREIGN_SITES} other sites."
        elif count[site] >= MAX_REQUESTS_PER_FOREIGN_SITE:
            why = (
                f"{self.site.key} points to another site, {site}, more than "
                f"{MAX_REQUESTS_PER_FOREIGN_SITE} times."
            )
        else:
            count[site] += 1
            return None
        self._foreign_limit_why = self._foreign_limit_why or why
        return why

    @property
    def room(self) -> int:
        """Number of URLs left until the limit."""
        return max(0, self.max_urls - self.urls)

    def is_probing_done(self, *, exhaustive: bool) -> bool:
        """Whether more probes are unnecessary, or would only burden a host that is failing."""
        has_failed = self._probes_failed_in_a_row >= MAX_FAILED_PROBES
        return bool(self.usable and not exhaustive) or not self.room or has_failed

    # Results

    def truncate(self, why: str) -> None:
        self._truncated_why = self._truncated_why or why

    def stop_if_full(self) -> None:
        """Clear the queue once the URL limit is reached."""
        if self.room == 0 and self.queue:
            self.truncate(f"The limit of {self.max_urls} URLs was reached.")
            self.queue.clear()

    def note(self, event: events.ScanEvent) -> None:
        if isinstance(event, events.SitemapRejected) and len(self._refused) < MAX_REPORTED:
            self._refused.append(event)

    def record_result(self, url: str, status: events.SitemapStatus, problem: str | None) -> None:
        self._sitemaps += 1
        self._failures_conclusive += status is events.SitemapStatus.REFUSED
        if status in (events.SitemapStatus.OK, events.SitemapStatus.PARTIAL):
            self.usable += 1
        elif len(self._errors) < MAX_REPORTED:
            self._errors.append(f"{url}: {problem}")

    def record_failure(self, *, conclusive: bool) -> None:
        """Record an announced sitemap that could not be read. It may well exist."""
        self._is_blind = self._is_blind or not conclusive
        self._failures_conclusive += conclusive

    def record_unreadable(self, sentence: str) -> None:
        """Record a page that may link to sitemaps and could not be read, so NONE cannot be
        concluded.
        """
        self._is_blind = True
        self._errors.append(sentence)

    def record_failed_probe(self, url: str, reason: str, *, conclusive: bool) -> None:
        """Record a failed probe. It is conclusive if there is certainly no sitemap."""
        if conclusive:
            self._probes_conclusive += 1
            self._probes_failed_in_a_row = 0
        else:
            self._probes_failed_in_a_row += 1
            self._errors.append(f"{url}: {reason}")

    def record_wait(self, seconds: float | None) -> None:
        if seconds is not None:
            self._longest_wait = max(self._longest_wait or 0.0, seconds)

    def build_analysis(self) -> events.Analysis:
        outcome = self._get_outcome()
        # Requests to other sites are never retried, so reaching their limit does not change the
        # outcome.
        truncated_why = self._truncated_why or self._foreign_limit_why
        return events.Analysis(
            outcome=outcome,
            base_url=self.base_url,
            sitemaps=self._sitemaps,
            urls=self.urls,
            truncated=truncated_why is not None,
            truncated_why=truncated_why,
            refused=tuple(self._refused),
            errors=tuple(self._errors),
            warnings=tuple(self.warnings),
            retry_after=self._longest_wait if outcome is events.ScanOutcome.UNREACHABLE else None,
        )

    def _get_outcome(self) -> events.ScanOutcome:
        if self.usable:
            return events.ScanOutcome.FOUND
        looked = self._probes_conclusive if self.guesses else self._failures_conclusive
        is_sure = looked and not self._is_blind and not self._truncated_why
        return events.ScanOutcome.NONE if is_sure else events.ScanOutcome.UNREACHABLE
