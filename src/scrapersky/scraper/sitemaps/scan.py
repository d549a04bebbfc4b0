"""State of one scan: queue, seen URLs, counts, and the limits reached."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from scrapersky.scraper.http.fetch_errors import Blocked
from scrapersky.scraper.http.public_suffixes import get_registrable_site
from scrapersky.scraper.http.urls import Site, is_same_site
from scrapersky.scraper.sitemaps.dedupe import BodyDeduplicator
from scrapersky.scraper.sitemaps.events import (
    Analysis,
    DiscoveryMethod,
    ScanEvent,
    ScanLimits,
    ScanOutcome,
    SitemapRejected,
    SitemapStatus,
)
from scrapersky.scraper.sitemaps.previous_scan import PreviousScan

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
    method: DiscoveryMethod
    depth: int = 0
    parent_url: str | None = None
    lastmod: datetime | None = None
    """Its lastmod in the index."""

    @property
    def is_announced(self) -> bool:
        """Whether the site or the user named this sitemap. Otherwise it is a probe."""
        return self.method is not DiscoveryMethod.COMMON_PATH


class SitemapScan:
    """State of one scan, shared by its crawls."""

    def __init__(
        self,
        site: Site,
        *,
        limits: ScanLimits,
        max_urls: int,
        ends_at: float,
        known: PreviousScan | None = None,
    ) -> None:
        self.site = site
        self.known = known or PreviousScan()
        self.limits = limits
        self.max_urls = max_urls
        self.ends_at = ends_at
        """Deadline in event loop time."""
        self.base_url: str | None = None
        self.queue: deque[SitemapTarget] = deque()
        self.twins = BodyDeduplicator()
        self.urls = 0
        self.usable = 0
        self.warnings: list[str] = []
        self._probes_failed_in_a_row = 0
        self._files = 0
        self._sitemaps = 0
        self._seen: set[str] = set()
        self._own_hosts: dict[str, bool] = {}
        self._own_sites = [site.key]
        self._refused: list[SitemapRejected] = []
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
        self.add(
            [
                SitemapTarget(
                    url, DiscoveryMethod.SITEMAP_INDEX, parent.depth + 1, parent.url, lastmod
                )
            ]
        )

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
        is_asked_for = target.method is DiscoveryMethod.MANUAL
        return None if is_asked_for else self._count_foreign_request(target.url)

    def check_redirect(self, url: str) -> None:
        """Raise `Blocked` for a redirect to another site that has reached its request limit."""
        if why := self._count_foreign_request(url):
            raise Blocked(why, url=url)

    def _count_foreign_request(self, url: str) -> str | None:
        site = get_registrable_site(url)
        if self.owns(url) or site in map(get_registrable_site, self._own_sites):
            return None
        asked = self._foreign_requests
        if site not in asked and len(asked) >= MAX_FOREIGN_SITES:
            why = f"{self.site.key} points to more than {MAX_FOREIGN_SITES} other sites."
        elif asked[site] >= MAX_REQUESTS_PER_FOREIGN_SITE:
            why = (
                f"{self.site.key} points to another site, {site}, more than "
                f"{MAX_REQUESTS_PER_FOREIGN_SITE} times."
            )
        else:
            asked[site] += 1
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

    def note(self, event: ScanEvent) -> None:
        if isinstance(event, SitemapRejected) and len(self._refused) < MAX_REPORTED:
            self._refused.append(event)

    def record_result(self, url: str, status: SitemapStatus, problem: str | None) -> None:
        self._sitemaps += 1
        self._failures_conclusive += status is SitemapStatus.REFUSED
        if status in (SitemapStatus.OK, SitemapStatus.PARTIAL):
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

    def build_analysis(self) -> Analysis:
        outcome = self._get_outcome()
        # Requests to other sites are never retried, so reaching their limit does not change the
        # outcome.
        truncated_why = self._truncated_why or self._foreign_limit_why
        return Analysis(
            outcome=outcome,
            base_url=self.base_url,
            sitemaps=self._sitemaps,
            urls=self.urls,
            truncated=truncated_why is not None,
            truncated_why=truncated_why,
            refused=tuple(self._refused),
            errors=tuple(self._errors),
            warnings=tuple(self.warnings),
            retry_after=self._longest_wait if outcome is ScanOutcome.UNREACHABLE else None,
        )

    def _get_outcome(self) -> ScanOutcome:
        if self.usable:
            return ScanOutcome.FOUND
        looked = self._probes_conclusive if self.guesses else self._failures_conclusive
        could_look = looked and not self._is_blind
        return (
            ScanOutcome.NONE if could_look and not self._truncated_why else ScanOutcome.UNREACHABLE
        )
