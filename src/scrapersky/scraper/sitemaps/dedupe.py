"""Detect sitemaps with identical or unchanged bodies by their digests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from hashlib import blake2b
from tempfile import SpooledTemporaryFile

from scrapersky.scraper.http.responses import StreamedResponse

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
        twin = self._urls.setdefault(digest, url)
        return twin if twin != url else None

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
