"""Analyse a site of the fake web, and inspect the result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scrapersky.scraper import (
    Analysis,
    Fetcher,
    ScanEvent,
    ScanLimits,
    SitemapAnalyzer,
    SitemapDone,
    SitemapFound,
    SitemapRejected,
    UrlsFound,
)
from tests.fake_web import FakeWeb

SITE = "http://bakery.example"


@dataclass
class Told:
    """All that an analysis told, sorted."""

    events: list[ScanEvent] = field(default_factory=list)

    def every(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def analysis(self) -> Analysis:
        assert len(self.every(Analysis)) == 1
        last = self.events[-1]
        assert isinstance(last, Analysis)
        return last

    @property
    def urls(self) -> list[str]:
        return [entry.loc for event in self.every(UrlsFound) for entry in event.entries]

    @property
    def found(self) -> dict[str, SitemapFound]:
        return {event.url.removeprefix(SITE): event for event in self.every(SitemapFound)}

    @property
    def done(self) -> dict[str, SitemapDone]:
        return {event.url.removeprefix(SITE): event for event in self.every(SitemapDone)}

    @property
    def refused(self) -> dict[str, str]:
        return {event.url.removeprefix(SITE): event.reason for event in self.every(SitemapRejected)}


async def analyze(
    web: FakeWeb,
    site: str = "bakery.example",
    *,
    limits: ScanLimits | None = None,
    fetching: dict[str, Any] | None = None,
    **options: Any,
) -> Told:
    async with Fetcher.from_settings(web.settings(**(fetching or {}))) as fetch:
        analyzer = SitemapAnalyzer(fetch, limits=limits)
        stream = analyzer.analyze_domain_sitemaps(site, **options)
        return Told([event async for event in stream])
