"""The cost of parsing sitemaps: event loop latency, memory, and decompression bombs."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from time import process_time

import pytest

from scrapersky.scraper import Analysis, Fetcher, ScanEvent, SitemapAnalyzer, SitemapDone, UrlsFound
from scrapersky.scraper.http.decompression import MAX_CHUNK_BYTES, MAX_COMPRESSION_RATIO
from scrapersky.scraper.sitemaps.parse import SitemapStream
from tests.fake_web import FakeHost, FakeWeb, urlset

SITE = "http://bakery.example"
MOST_BETWEEN_TURNS = 256 * 1024


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as web:
        web.host("bakery.example").robots("Sitemap: /a.xml")
        yield web


@pytest.fixture
def bakery(web: FakeWeb) -> FakeHost:
    return web.host("bakery.example")


async def scan(web: FakeWeb) -> list[ScanEvent]:
    async with Fetcher.from_settings(web.settings()) as fetch:
        stream = SitemapAnalyzer(fetch).analyze_domain_sitemaps("bakery.example")
        return [event async for event in stream]


def bomb(mebibytes: int = 1024) -> bytes:
    """Blanks behind one record, a gibibyte of them unless told otherwise."""
    packer = zlib.compressobj(9, wbits=31)
    blanks = b" " * (1024 * 1024)
    parts = [packer.compress(f"<urlset><url><loc>{SITE}/1</loc></url>".encode())]
    parts += (packer.compress(blanks) for _ in range(mebibytes))
    return b"".join((*parts, packer.flush()))


# The event loop has its turn


async def test_never_more_than_a_slice_is_read_between_turns_of_the_loop(
    web: FakeWeb, bakery: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = seen = most = since = 0
    take = SitemapStream._take_text

    def counting(self: SitemapStream, text: str) -> object:
        nonlocal most, since, seen
        since = since + len(text) if seen == turns else len(text)
        seen, most = turns, max(most, since)
        return take(self, text)

    async def tick() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(SitemapStream, "_take_text", counting)
    page = urlset(*(f"{SITE}/some/longer/path/to/page-{n}" for n in range(60_000)))
    bakery.gz("/a.xml", page)
    ticking = asyncio.create_task(tick())
    events = await scan(web)
    ticking.cancel()

    assert sum(len(each.entries) for each in events if isinstance(each, UrlsFound)) == 60_000
    assert len(page) > 10 * MOST_BETWEEN_TURNS
    assert 0 < most <= MOST_BETWEEN_TURNS


async def test_unpacking_a_page_gives_the_loop_its_turn(web: FakeWeb, bakery: FakeHost) -> None:
    bakery.encoded("/page", "x" * 4_000_000)
    turns = 0

    async def tick() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with (
        Fetcher.from_settings(web.settings()) as fetch,
        fetch.stream(f"{SITE}/page") as answer,
    ):
        ticking = asyncio.create_task(tick())
        size = sum([len(piece) async for piece in answer.chunks()])
        ticking.cancel()

    assert size == 4_000_000
    assert turns >= size // MAX_CHUNK_BYTES


# Bombs


@pytest.mark.parametrize("layer", ["file", "encoding", "both"])
async def test_a_bomb_on_any_layer_is_cut_early_and_said(
    web: FakeWeb, bakery: FakeHost, layer: str
) -> None:
    body = bomb(64)
    if layer == "both":
        body = gzip.compress(body)
    headers = {} if layer == "file" else {"Content-Encoding": "gzip"}
    bakery.xml("/a.xml", body, headers=headers)
    tracemalloc.start()
    started = process_time()
    events = await scan(web)
    used, peak = process_time() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    (done,) = [each for each in events if isinstance(each, SitemapDone)]
    (analysis,) = [each for each in events if isinstance(each, Analysis)]
    assert done.reason == f"It decompresses to more than {MAX_COMPRESSION_RATIO} times its size."
    assert (done.url_count, analysis.truncated) == (1, True)
    assert peak < 24 * 1024 * 1024
    assert used < 5


def test_a_billion_laughs_are_none() -> None:
    lines = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    document = (
        f'<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a0 "ha">{lines}]>'
        f"<urlset><url><loc>{SITE}/x&a9;y</loc></url></urlset>"
    )
    stream = SitemapStream(url=f"{SITE}/a.xml")
    started = process_time()
    entries = stream.feed(document.encode()) + stream.close()

    assert entries == []
    assert stream.dropped == {"undefined_entity": 1}
    assert process_time() - started < 1
