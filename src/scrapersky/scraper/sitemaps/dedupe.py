"""Detect sitemaps with identical or unchanged bodies by their digests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from hashlib import blake2b
from tempfile import SpooledTemporaryFile

from scrapersky.scraper.http.responses import StreamedResponse

MAX_MEMORY_BYTES = 4 * 1024 * 1024
"""Larger bodies wait on disk."""
SPOOL_CHUNK_BYTES = 256 * 1024


async def compare_body(
    answer: StreamedResponse, known_digest: str
) -> tuple[AsyncIterator[bytes], bool]:
    """The body, to be read from here on, and whether it is the one with the known digest."""
    spool = await spool_chunks(answer.chunks())
    if answer.digest == known_digest:
        spool.close()
        return _empty_body(), True
    return read_spool(spool), False


async def spool_chunks(chunks: AsyncIterator[bytes]) -> SpooledTemporaryFile[bytes]:
    """A file of all the chunks, to be closed by whoever reads it."""
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
"""Of the unpacked body. What is shorter lists too little to be told before its end is known."""


class BodyDeduplicator:
    """The bodies of one scan by their digests, and how those begin that are being read."""

    def __init__(self) -> None:
        self._urls: dict[str, str] = {}
        self._readings: dict[bytes, asyncio.Event] = {}
        """Set when the reading is over."""

    def find_duplicate(self, digest: str | None, url: str) -> str | None:
        """The sitemap that had the very same bytes, if there was one."""
        if digest is None:
            return None
        twin = self._urls.setdefault(digest, url)
        return twin if twin != url else None

    async def stream(
        self, answer: StreamedResponse, pieces: AsyncIterator[bytes], url: str
    ) -> AsyncGenerator[bytes, None]:
        """The body; but only its start if the rest was read under another name."""
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
        """It waits aside for its own end and for the other's; then it is known which it is."""
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
