"""What the robots.txt of each host says, asked for once however many of its pages are read."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from time import monotonic

from scrapersky.scraper.politeness import MAX_CRAWL_DELAY_SECONDS
from scrapersky.scraper.responses import Fetches
from scrapersky.scraper.robots import Robots, robots_of
from scrapersky.scraper.urls import origin_of

KEPT_SECONDS = 3_600.0
UNKNOWN_KEPT_SECONDS = 60.0
"""One that could not be read is asked for again soon: until then no page is."""
MOST_KEPT = 5_000


@dataclass
class _Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    robots: Robots | None = None
    good_until: float = 0.0


class RobotsMemory:
    def __init__(self, fetch: Fetches, *, user_agent: str) -> None:
        self._fetch = fetch
        self._user_agent = user_agent
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    async def of(self, url: str) -> Robots:
        """The rules for a URL; those who ask for the same host meanwhile wait for one answer."""
        origin = origin_of(url)
        entry = self._entries.setdefault(origin, _Entry())
        self._entries.move_to_end(origin)
        while len(self._entries) > MOST_KEPT:
            self._entries.popitem(last=False)
        async with entry.lock:
            if entry.robots is None or monotonic() >= entry.good_until:
                entry.robots = await self._ask(origin)
                kept = KEPT_SECONDS if entry.robots.is_known else UNKNOWN_KEPT_SECONDS
                entry.good_until = monotonic() + kept
            return entry.robots

    async def _ask(self, origin: str) -> Robots:
        answer = await self._fetch.get_robots(f"{origin}/robots.txt")
        robots = robots_of(answer)
        if delay := robots.crawl_delay(self._user_agent):
            await self._fetch.set_crawl_delay(origin, min(delay, MAX_CRAWL_DELAY_SECONDS))
        return robots
