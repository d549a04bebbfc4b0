"""HTTP responses, and their bodies read in chunks within limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

import aiohttp
from multidict import CIMultiDict

from scrapersky.scraper.http.addresses import AddressRules
from scrapersky.scraper.http.decompression import GZIP_MAGIC, Decompressor
from scrapersky.scraper.http.limits import Deadline, FetchLimits, notify_answer, observe_wait
from scrapersky.scraper.http.rate_limit import FetchErrorKind, parse_retry_after

_IDENTITY_ENCODINGS = ("", "identity", "none", "utf-8")
_GZIP_ENCODINGS = ("gzip", "x-gzip")
_RAW_DEFLATE = -15
_MIN_FLOWING_BYTES = 16 * 1024
"""A body of which so much has come is not a drip, however long it is going to take."""
_LIVENESS_CHECK_SECONDS = 0.5
"""After so much silence we look whether somebody is still there."""


class ResponseBody:
    """The body of one answer; what cannot be read is said in `truncated`, not raised."""

    def __init__(
        self, answer: aiohttp.ClientResponse, *, deadline: Deadline, limits: FetchLimits
    ) -> None:
        self.answer = answer
        self.max_bytes = limits.max_bytes
        self.truncated: str | None = None
        self.error: FetchErrorKind | None = None
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

    def release(self) -> None:
        """Keep the connection for the next request when the body was read to its end."""
        if self.answer.content.at_eof():
            self.answer.release()
        else:
            self.answer.close()

    async def pieces(self) -> AsyncIterator[bytes]:
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
                # A little on the wire may unpack to much; others have their turn meanwhile.
                await asyncio.sleep(0)
            if decoder.problem:
                break
        self._close_decompressor(decoder)

    def _close_decompressor(self, decoder: Decompressor | None) -> None:
        if decoder is not None:
            decoder.finish()
            self.truncated = self.truncated or decoder.problem
            self.hit_limit = self.hit_limit or decoder.hit_limit

    async def _iter_raw(self) -> AsyncIterator[bytes]:
        """The bytes from the network, up to the limit."""
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
                some = self.answer.content.readany()
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
        """A body that was merely too long for the time keeps what came; a drip does not."""
        self.error = FetchErrorKind.TIMED_OUT
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

    def _choose_decompressor(self, start: bytes) -> Decompressor | None:
        """By the header, where the bytes bear it out: some servers say gzip and send text."""
        encoding = self.answer.headers.get("Content-Encoding", "").strip().lower()
        if encoding in _GZIP_ENCODINGS and start.startswith(GZIP_MAGIC[: len(start)]):
            return Decompressor(max_bytes=self._max_unpacked_bytes)
        if encoding == "deflate":
            return Decompressor(max_bytes=self._max_unpacked_bytes, wbits=_get_deflate_wbits(start))
        if encoding not in (*_IDENTITY_ENCODINGS, *_GZIP_ENCODINGS):
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


def _get_deflate_wbits(start: bytes) -> int:
    """Servers that say deflate send it with a zlib header or without one."""
    has_header = len(start) > 1 and start[0] & 0x0F == 8 and (start[0] << 8 | start[1]) % 31 == 0
    return 15 if has_header else _RAW_DEFLATE


_INCONCLUSIVE_STATUSES = frozenset({401, 403, 408, 425, 429})


def is_inconclusive(status: int) -> bool:
    """An answer that does not say whether there is something: a closed door, or trouble."""
    return status in _INCONCLUSIVE_STATUSES or status >= 500


@dataclass(frozen=True)
class Redirect:
    """One hop that was followed."""

    status: int
    url: str
    location: str

    @property
    def is_downgrade(self) -> bool:
        return self.url.startswith("https:") and self.location.startswith("http:")


@dataclass(frozen=True)
class Response:
    """An answer, read as far as the limits allowed."""

    url: str
    final_url: str
    status: int
    headers: Mapping[str, str]
    """Names in any case."""
    body: bytes
    """With the content encoding undone."""
    truncated: str | None = None
    """Why the body's end is missing, or None when it was read whole."""
    elapsed_ms: int = 0
    redirects: tuple[Redirect, ...] = ()
    network_bytes: int = 0
    digest: str | None = None
    """BLAKE2b of the body as it came, in hex; None when it was not read whole."""

    def __getstate__(self) -> dict[str, Any]:
        """Headers as they come from the network are a view, which cannot be pickled."""
        return {**self.__dict__, "headers": CIMultiDict(self.headers)}

    @property
    def retry_after_seconds(self) -> float | None:
        return parse_retry_after(self.headers.get("Retry-After"))


class StreamedResponse:
    """An answer whose body is read in pieces; `truncated` and `digest` are known at its end."""

    def __init__(
        self, url: str, *, body: ResponseBody, elapsed_ms: int, redirects: tuple[Redirect, ...]
    ) -> None:
        self.url = url
        self.final_url = redirects[-1].location if redirects else url
        self.status = body.answer.status
        self.headers: Mapping[str, str] = body.answer.headers
        self.elapsed_ms = elapsed_ms
        """Until the headers came."""
        self.redirects = redirects
        self._body = body

    def chunks(self) -> AsyncIterator[bytes]:
        """The body, decoded, in pieces of at most 256 KiB."""
        return self._body.pieces()

    @property
    def truncated(self) -> str | None:
        return self._body.truncated

    @property
    def hit_limit(self) -> bool:
        """The body was cut by a limit of ours."""
        return self._body.hit_limit

    @property
    def timed_out(self) -> bool:
        """The host did not send the body in time."""
        return self._body.error is FetchErrorKind.TIMED_OUT

    @property
    def too_slow(self) -> bool:
        """It sent next to nothing in that time."""
        return self._body.too_slow

    @property
    def network_bytes(self) -> int:
        return self._body.network_bytes

    @property
    def digest(self) -> str | None:
        return self._body.digest

    @property
    def retry_after_seconds(self) -> float | None:
        return parse_retry_after(self.headers.get("Retry-After"))


RedirectCheck = Callable[[str], None]
"""Given where a redirect leads; raises `FetchFailed` when it is not to be followed."""


class FetcherProtocol(Protocol):
    """What a reader of the web needs to be given."""

    @property
    def rules(self) -> AddressRules: ...

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        etag: str | None = None,
        last_modified: str | None = None,
    ) -> Response: ...

    async def get_robots(
        self,
        url: str,
        *,
        etag: str | None = None,
        last_modified: str | None = None,
        has_fallback: bool = False,
    ) -> Response: ...

    def stream(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        etag: str | None = None,
        last_modified: str | None = None,
        check_redirect: RedirectCheck | None = None,
    ) -> AbstractAsyncContextManager[StreamedResponse]: ...

    async def set_crawl_delay(self, url: str, seconds: float) -> None: ...
