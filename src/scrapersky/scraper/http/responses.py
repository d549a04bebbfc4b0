"""HTTP responses, and their bodies read in chunks within limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import aiohttp
from multidict import CIMultiDict

from scrapersky.scraper.http.decompression import GZIP_MAGIC, Decompressor
from scrapersky.scraper.http.limits import Deadline, FetchLimits, notify_answer, observe_wait
from scrapersky.scraper.http.rate_limit import FetchErrorKind, parse_retry_after

_IDENTITY_ENCODINGS = ("", "identity", "none", "utf-8")
_GZIP_ENCODINGS = ("gzip", "x-gzip")
_RAW_DEFLATE = -15
_MIN_FLOWING_BYTES = 16 * 1024
"""Size from which a body does not count as a slow drip, however long the rest takes."""
_LIVENESS_CHECK_SECONDS = 0.5
"""Interval of silence after which the connection is checked."""


class StreamedResponse:
    """Response whose body is read in chunks.

    Read errors are described in `truncated` instead of raised. `truncated` and `digest` are final
    after the last chunk.
    """

    def __init__(
        self, url: str, answer: aiohttp.ClientResponse, *, deadline: Deadline, limits: FetchLimits
    ) -> None:
        self.url = url
        self.final_url = url
        self.status = answer.status
        self.headers: Mapping[str, str] = answer.headers
        self.elapsed_ms = 0
        """Time until the headers arrived."""
        self.redirects: tuple[Redirect, ...] = ()
        self.max_bytes = limits.max_bytes
        self.truncated: str | None = None
        self.error: FetchErrorKind | None = None
        """Failure of the host after its headers."""
        self.hit_limit = False
        """Whether one of our limits truncated the body."""
        self.network_bytes = 0
        self.too_slow = False
        """Whether the body arrived below the minimum rate, so that the partial body is not worth
        keeping.
        """
        self._answer = answer
        self._deadline = deadline
        self._rate = TransferRate(limits.min_bytes_per_second, limits.rate_window_seconds)
        self._max_unpacked_bytes = limits.max_decompressed_bytes
        self._hash = blake2b(digest_size=32)
        self._ended = False

    @property
    def digest(self) -> str | None:
        return self._hash.hexdigest() if self._ended and self.truncated is None else None

    @property
    def timed_out(self) -> bool:
        """Whether the host did not send the body in time."""
        return self.error is FetchErrorKind.TIMED_OUT

    @property
    def retry_after_seconds(self) -> float | None:
        return parse_retry_after(self.headers.get("Retry-After"))

    def release(self) -> None:
        """Return the connection to the pool if the body was read to its end, otherwise close it."""
        if self._answer.content.at_eof():
            self._answer.release()
        else:
            self._answer.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the decoded body in chunks of at most 256 KiB."""
        decoder: Decompressor | None = None
        first = True
        async for data in self._iter_raw():
            if first:
                decoder, first = self._choose_decompressor(data), False
            if decoder is None:
                yield data
                continue
            for piece in decoder.feed(data):
                yield piece
                # A small input can decompress to a lot, so let other tasks run in between.
                await asyncio.sleep(0)
            if decoder.problem:
                break
        if decoder is not None:
            decoder.finish()
            self.truncated = self.truncated or decoder.problem
            self.hit_limit = self.hit_limit or decoder.hit_limit

    async def _iter_raw(self) -> AsyncIterator[bytes]:
        """Yield the bytes from the network, up to the size limit."""
        while data := await self._read():
            room = self.max_bytes - self.network_bytes
            data, cut = data[:room], len(data) > room
            self.network_bytes += len(data)
            if self.network_bytes >= _MIN_FLOWING_BYTES:
                notify_answer()
            self._hash.update(data)
            if data:
                yield data
            if cut:
                self.hit_limit = True
                self.truncated = f"It is larger than {self.max_bytes} bytes; the rest was not read."
                return
        self._ended = True

    async def _read(self) -> bytes:
        with observe_wait():
            return await self._read_some()

    async def _read_some(self) -> bytes:
        while True:
            left = self._deadline.remaining
            try:
                some = self._answer.content.readany()
                data = await self._deadline.run(some, at_most=_LIVENESS_CHECK_SECONDS)
            except TimeoutError:
                self._rate.add(0, seconds=left - self._deadline.remaining)
                if self._deadline.is_over or self._rate.is_too_slow():
                    return self._time_out()
                if self._is_alive():
                    continue
            except (aiohttp.ClientError, OSError, ValueError, RuntimeError):
                pass
            else:
                self._rate.add(len(data), seconds=left - self._deadline.remaining)
                return self._time_out() if data and self._rate.is_too_slow() else data
            self.error = FetchErrorKind.CONNECTION
            self.truncated = "The connection broke before the end."
            return b""

    def _time_out(self) -> bytes:
        """Record the timeout. A large body keeps its partial content; a slow drip does not."""
        self.error = FetchErrorKind.TIMED_OUT
        self.too_slow = self._rate.was_too_slow()
        self.truncated = f"It did not finish within {self._deadline.seconds:g} s."
        if self.too_slow:
            self.truncated = (
                f"It arrived at less than {self._rate.min_bytes_per_second:g} bytes per second."
            )
        return b""

    def _is_alive(self) -> bool:
        """Whether the connection is open.

        aiohttp closes a connection on malformed chunked encoding without waking its reader.
        """
        connection = self._answer.connection
        transport = connection.transport if connection else None
        return transport is not None and not transport.is_closing()

    def _choose_decompressor(self, start: bytes) -> Decompressor | None:
        """Choose a decompressor by the Content-Encoding header, if the first bytes confirm it.

        Some servers declare gzip and send plain text.
        """
        encoding = self._answer.headers.get("Content-Encoding", "").strip().lower()
        if encoding in _GZIP_ENCODINGS and start.startswith(GZIP_MAGIC[: len(start)]):
            return Decompressor(max_bytes=self._max_unpacked_bytes)
        if encoding == "deflate":
            return Decompressor(max_bytes=self._max_unpacked_bytes, wbits=_get_deflate_wbits(start))
        if encoding not in (*_IDENTITY_ENCODINGS, *_GZIP_ENCODINGS):
            self.truncated = f"Its content encoding {encoding[:40]!r} is not supported."
        return None


class TransferRate:
    """Transfer rate in bytes per second of network wait, measured over consecutive windows."""

    def __init__(self, min_bytes_per_second: float, window_seconds: float) -> None:
        self.min_bytes_per_second = min_bytes_per_second
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
        """Whether the current window is complete and below the minimum rate."""
        return (
            self._seconds >= self._window
            and self._bytes < self.min_bytes_per_second * self._seconds
        )

    def was_too_slow(self) -> bool:
        """Whether the rate was too low in the current window or overall."""
        return self.is_too_slow() or self._all_bytes < self.min_bytes_per_second * self._all_seconds


def _get_deflate_wbits(start: bytes) -> int:
    """Detect whether deflate data has a zlib header. Servers send it with or without one."""
    has_header = len(start) > 1 and start[0] & 0x0F == 8 and (start[0] << 8 | start[1]) % 31 == 0
    return 15 if has_header else _RAW_DEFLATE


def is_transient(status: int) -> bool:
    """Whether a retry may succeed: throttled or server error."""
    return status in (408, 425, 429) or status >= 500


def is_inconclusive(status: int) -> bool:
    """Whether a status does not show if the resource exists: access denied or transient."""
    return status in (401, 403) or is_transient(status)


@dataclass(frozen=True)
class Redirect:
    """Redirect that was followed."""

    status: int
    url: str
    location: str


@dataclass(frozen=True)
class Response:
    """Response, read as far as the limits allow."""

    url: str
    final_url: str
    status: int
    headers: Mapping[str, str]
    """Case-insensitive mapping."""
    body: bytes
    """Decoded according to the content encoding."""
    truncated: str | None = None
    """Why the body is incomplete, or None if it is complete."""
    elapsed_ms: int = 0
    redirects: tuple[Redirect, ...] = ()
    network_bytes: int = 0
    digest: str | None = None
    """Hex BLAKE2b digest of the raw body, or None if it is incomplete."""

    def __getstate__(self) -> dict[str, Any]:
        """Copy the headers: aiohttp's header proxy cannot be pickled."""
        return {**self.__dict__, "headers": CIMultiDict(self.headers)}

    @property
    def retry_after_seconds(self) -> float | None:
        return parse_retry_after(self.headers.get("Retry-After"))


RedirectCheck = Callable[[str], None]
"""Called with each redirect target. Raises `FetchFailed` if it must not be followed."""
