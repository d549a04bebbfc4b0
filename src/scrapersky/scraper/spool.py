"""Keep a body aside until its digest is known, to see whether it needs to be read at all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile

from scrapersky.scraper.responses import StreamedResponse

IN_MEMORY_BYTES = 4 * 1024 * 1024
"""Larger bodies wait on disk."""
PIECE_BYTES = 256 * 1024


async def compared(
    answer: StreamedResponse, known_digest: str
) -> tuple[AsyncIterator[bytes], bool]:
    """The body, to be read from here on, and whether it is the one with the known digest."""
    spool = await filled(answer.chunks())
    if answer.digest == known_digest:
        spool.close()
        return _nothing(), True
    return pieces_of(spool), False


async def filled(chunks: AsyncIterator[bytes]) -> SpooledTemporaryFile[bytes]:
    """A file of all the chunks, to be closed by whoever reads it."""
    spool = SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115
    async for chunk in chunks:
        spool.write(chunk)
    return spool


async def pieces_of(spool: SpooledTemporaryFile[bytes]) -> AsyncIterator[bytes]:
    with spool:
        spool.seek(0)
        while piece := spool.read(PIECE_BYTES):
            yield piece


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""
