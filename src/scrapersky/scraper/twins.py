"""Tell large sitemaps with the very same bytes from those that only begin alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from hashlib import blake2b

from scrapersky.scraper.responses import StreamedResponse
from scrapersky.scraper.spool import filled, pieces_of

START_BYTES = 32 * 1024
"""Of the unpacked body. What is shorter lists too little to be told before its end is known."""


class Twins:
    """The bodies of one scan by their digests, and how those begin that are being read."""

    def __init__(self) -> None:
        self._urls: dict[str, str] = {}
        self._readings: dict[bytes, asyncio.Event] = {}
        """Set when the reading is over."""

    def twin_of(self, digest: str | None, url: str) -> str | None:
        """The sitemap that had the very same bytes, if there was one."""
        if digest is None:
            return None
        twin = self._urls.setdefault(digest, url)
        return twin if twin != url else None

    async def told_apart(
        self, answer: StreamedResponse, pieces: AsyncIterator[bytes], url: str
    ) -> AsyncGenerator[bytes, None]:
        """The body; but only its start if the rest was read under another name."""
        start = await _start_of(pieces)
        yield start[:START_BYTES]
        if len(start) < START_BYTES:
            return
        key = blake2b(start[:START_BYTES]).digest()
        is_first = key not in self._readings
        over = self._readings.setdefault(key, asyncio.Event())
        rest = self._as_first(over, answer, pieces, url)
        if not is_first:
            rest = self._as_later(over, answer, pieces, url)
        async with aclosing(rest):
            async for piece in rest:
                yield start[START_BYTES:] + piece
                start = b""

    async def _as_first(
        self, over: asyncio.Event, answer: StreamedResponse, pieces: AsyncIterator[bytes], url: str
    ) -> AsyncGenerator[bytes, None]:
        try:
            yield b""
            async for piece in pieces:
                yield piece
            self.twin_of(answer.digest, url)
        finally:
            over.set()

    async def _as_later(
        self, over: asyncio.Event, answer: StreamedResponse, pieces: AsyncIterator[bytes], url: str
    ) -> AsyncGenerator[bytes, None]:
        """It waits aside for its own end and for the other's; then it is known which it is."""
        with await filled(pieces) as spool:
            await over.wait()
            if self.twin_of(answer.digest, url) is None:
                yield b""
                async for piece in pieces_of(spool):
                    yield piece


async def _start_of(pieces: AsyncIterator[bytes]) -> bytes:
    start = b""
    async for piece in pieces:
        start += piece
        if len(start) >= START_BYTES:
            break
    return start
