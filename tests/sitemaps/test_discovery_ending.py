"""A scan that is aborted midway ends with its reason and stores nothing further."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

import pytest

from scrapersky.db.base import uuid7
from scrapersky.pipeline.stage import Tools
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.sitemaps.events import Analysis, ScanEvent, ScanOutcome
from scrapersky.sitemaps.discovery import ScanRequest, work
from scrapersky.sitemaps.scan_buffer import ScanBuffer, ScanFindings, batch_events
from tests.conftest import make_settings
from tests.fake_web import FakeWeb, index, urlset


class LostMeanwhile(Exception):
    """What storing a handful may say."""


async def test_a_claim_that_is_lost_while_a_sitemap_is_on_its_way_is_what_the_engine_hears() -> (
    None
):
    async with FakeWeb() as web:
        host = web.host("bakery.example")
        host.robots(f"Sitemap: {host.base}/index.xml\n")
        host.xml("/index.xml", index(f"{host.base}/bread.xml", f"{host.base}/cake.xml"))
        host.xml("/bread.xml", urlset(f"{host.base}/bread")).hang("/cake.xml")
        settings = web.settings(fetch_timeout_seconds=600)
        async with Fetcher.from_settings(settings) as fetch:
            request = ScanRequest("bakery.example", 100, uuid7())
            found = work(request, Tools(fetch=fetch, settings=settings))
            with pytest.raises(LostMeanwhile):
                await lose_the_first(cast("AsyncGenerator[ScanFindings, None]", found))


async def lose_the_first(found: AsyncGenerator[ScanFindings, None]) -> None:
    """As the engine does with what it cannot store."""
    async with aclosing(found) as handfuls:
        async for _ in handfuls:
            raise LostMeanwhile


async def test_the_end_of_a_scan_comes_in_the_last_handful_however_late_it_is() -> None:
    """It is announced where it is stored, and only the last one is stored with the row's end."""
    end = Analysis(ScanOutcome.UNREACHABLE, None)

    async def scanned() -> AsyncGenerator[ScanEvent, None]:
        yield end

    long_ago = ScanBuffer(make_settings("postgresql://nobody@nowhere/none"), frozenset(), since=0.0)
    handfuls = [each.events async for each in batch_events(scanned(), long_ago)]

    assert handfuls == [(end,)]
