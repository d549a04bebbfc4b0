"""Read the body of an answer in pieces: decoded, counted and cut where a limit is reached."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import blake2b

import aiohttp

from scrapersky.scraper.deadline import Deadline, note_answer, observed_wait
from scrapersky.scraper.decoding import GZIP_MAGIC, Unpacker
from scrapersky.scraper.limits import FetchLimits
from scrapersky.scraper.politeness import ErrorKind

_PLAIN = ("", "identity", "none", "utf-8")
_GZIP = ("gzip", "x-gzip")
_RAW_DEFLATE = -15
_FLOWING_BYTES = 16 * 1024
"""A body of which so much has come is not a drip, however long it is going to take."""
_LISTENED_SECONDS = 0.5
"""After so much silence we look whether somebody is still there."""


class Body:
    """The body of one answer; what cannot be read is said in `truncated`, not raised."""

    def __init__(
        self, answer: aiohttp.ClientResponse, *, deadline: Deadline, limits: FetchLimits
    ) -> None:
        self.answer = answer
        self.max_bytes = limits.max_bytes
        self.truncated: str | None = None
        self.error: ErrorKind | None = None
        """What the host did wrong after its headers."""
        self.hit_limit = False
        """It was we who cut it."""
        self.network_bytes = 0
        self.too_slow = False
        """It came more slowly than we wait for, so that what came is not worth keeping."""
        self._deadline = deadline
        self._rate = TransferRate(limits.min_bytes_per_second, limits.rate_window_seconds)
        self._max_unpacked_bytes = limits.max_decompressed_bytes
        self._hash = blake2b(digest_size=32)
        self._ended = False

    @property
    def digest(self) -> str | None:
        return self._hash.hexdigest() if self._ended and self.truncated is None else None

    def let_go(self) -> None:
        """Keep the connection for the next request when the body was read to its end."""
        if self.answer.content.at_eof():
            self.answer.release()
        else:
            self.answer.close()

    async def pieces(self) -> AsyncIterator[bytes]:
        decoder: Unpacker | None = None
        first = True
        async for data in self._raw():
            if first:
                decoder, first = self._decoder_for(data), False
            if decoder is None:
                yield data
                continue
            for piece in decoder.feed(data):
                yield piece
                # A little on the wire may unpack to much; others have their turn meanwhile.
                await asyncio.sleep(0)
            if decoder.problem:
                break
        self._close_decoder(decoder)

    def _close_decoder(self, decoder: Unpacker | None) -> None:
        if decoder is not None:
            decoder.finish()
            self.truncated = self.truncated or decoder.problem
            self.hit_limit = self.hit_limit or decoder.hit_limit

    async def _raw(self) -> AsyncIterator[bytes]:
        """The bytes from the network, up to the limit."""
        while data := await self._read():
            room = self.max_bytes - self.network_bytes
            data, cut = data[:room], len(data) > room
            self.network_bytes += len(data)
            if self.network_bytes >= _FLOWING_BYTES:
                note_answer()
            self._hash.update(data)
            if data:
                yield data
            if cut:
                self.hit_limit = True
                self.truncated = f"It is larger than {self.max_bytes} bytes; the rest was not read."
                return
        self._ended = True

    async def _read(self) -> bytes:
        with observed_wait():
            return await self._read_some()

    async def _read_some(self) -> bytes:
        while True:
            left = self._deadline.left
            try:
                some = self.answer.content.readany()
                data = await self._deadline.run(some, at_most=_LISTENED_SECONDS)
            except TimeoutError:
                self._rate.add(0, seconds=left - self._deadline.left)
                if self._deadline.is_over or self._rate.is_too_slow():
                    return self._time_out()
                if self._is_alive():
                    continue
            except (aiohttp.ClientError, OSError, ValueError, RuntimeError):
                pass
            else:
                self._rate.add(len(data), seconds=left - self._deadline.left)
                return self._time_out() if data and self._rate.is_too_slow() else data
            self.error = ErrorKind.CONNECTION
            self.truncated = "The connection broke before the end."
            return b""

    def _time_out(self) -> bytes:
        """A body that was merely too long for the time keeps what came; a drip does not."""
        self.error = ErrorKind.TIMED_OUT
        self.too_slow = self._rate.was_too_slow()
        self.truncated = f"It did not end within {self._deadline.seconds:g} seconds."
        if self.too_slow:
            self.truncated = f"It sent less than {self._rate.wanted:g} bytes a second."
        return b""

    def _is_alive(self) -> bool:
        """aiohttp closes a connection whose chunks make no sense, and tells nobody who waits."""
        connection = self.answer.connection
        transport = connection.transport if connection else None
        return transport is not None and not transport.is_closing()

    def _decoder_for(self, start: bytes) -> Unpacker | None:
        """By the header, where the bytes bear it out: some servers say gzip and send text."""
        encoding = self.answer.headers.get("Content-Encoding", "").strip().lower()
        if encoding in _GZIP and start.startswith(GZIP_MAGIC[: len(start)]):
            return Unpacker(max_bytes=self._max_unpacked_bytes)
        if encoding == "deflate":
            return Unpacker(max_bytes=self._max_unpacked_bytes, wbits=_deflate_bits(start))
        if encoding not in (*_PLAIN, *_GZIP):
            self.truncated = f"It is encoded as {encoding[:40]!r}, which we did not ask for."
        return None


class TransferRate:
    """Bytes per second of waiting, judged over one window after another."""

    def __init__(self, wanted: float, window_seconds: float) -> None:
        self.wanted = wanted
        self._window = window_seconds
        self._bytes = self._all_bytes = 0
        self._seconds = self._all_seconds = 0.0

    def add(self, count: int, *, seconds: float) -> None:
        if self._seconds >= self._window:
            self._bytes, self._seconds = 0, 0.0
        self._bytes += count
        self._seconds += seconds
        self._all_bytes += count
        self._all_seconds += seconds

    def is_too_slow(self) -> bool:
        """Only a whole window tells."""
        return self._seconds >= self._window and self._bytes < self.wanted * self._seconds

    def was_too_slow(self) -> bool:
        """In this window, or all in all."""
        return self.is_too_slow() or self._all_bytes < self.wanted * self._all_seconds


def _deflate_bits(start: bytes) -> int:
    """Servers that say deflate send it with a zlib header or without one."""
    has_header = len(start) > 1 and start[0] & 0x0F == 8 and (start[0] << 8 | start[1]) % 31 == 0
    return 15 if has_header else _RAW_DEFLATE
