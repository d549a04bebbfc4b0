"""Decompress gzip and deflate bodies incrementally, within limits."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

MAX_CHUNK_BYTES = 128 * 1024
"""What is unpacked at once: the most that a bomb can make us hold."""
MAX_COMPRESSION_RATIO = 250
"""Real sitemaps pack up to a hundredfold; deflate can go to a thousand, which is a bomb."""
RATIO_EXEMPT_BYTES = 4 * 1024 * 1024
"""A small body may pack as well as it likes."""

GZIP_MAGIC = b"\x1f\x8b"


class Decompressor:
    """Unpacks gzip (several members too) or deflate; `problem` says why the end is missing."""

    def __init__(self, *, max_bytes: int, wbits: int = 47) -> None:
        self.problem: str | None = None
        self.hit_limit = False
        self._max_bytes = max_bytes
        self._wbits = wbits
        self._stream = zlib.decompressobj(wbits)
        self._bytes_in = 0
        self._bytes_out = 0
        self._ended = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The pieces that these bytes unpack to."""
        self._bytes_in += len(data)
        while data and not self._ended:
            piece, data = self._decompress_chunk(data)
            if piece:
                yield piece

    def _decompress_chunk(self, data: bytes) -> tuple[bytes, bytes]:
        try:
            piece = self._stream.decompress(data, MAX_CHUNK_BYTES)
        except zlib.error:
            self._stop("The compressed data is damaged.")
            return b"", b""
        self._bytes_out += len(piece)
        rest = self._stream.unconsumed_tail
        if self._stream.eof:
            rest = self._next_member(self._stream.unused_data)
        self._check_limits()
        return piece, rest

    def _next_member(self, rest: bytes) -> bytes:
        """Begin the next member of a gzip file; what follows the last one is padding."""
        if self._wbits > 0 and rest[:1] == GZIP_MAGIC[:1]:
            self._stream = zlib.decompressobj(self._wbits)
            return rest
        if rest:
            self._ended = True
        return b""

    def _check_limits(self) -> None:
        if self._bytes_out > self._max_bytes:
            self._stop(f"It unpacks to more than {self._max_bytes} bytes.")
            self.hit_limit = True
        elif self._bytes_out > max(RATIO_EXEMPT_BYTES, MAX_COMPRESSION_RATIO * self._bytes_in):
            self._stop(f"It unpacks to more than {MAX_COMPRESSION_RATIO} times its size.")
            self.hit_limit = True

    def _stop(self, problem: str) -> None:
        self.problem = problem
        self._ended = True

    @property
    def is_stopped(self) -> bool:
        """Nothing more will come out, whatever is fed."""
        return self._ended

    def finish(self) -> None:
        """Say whether the data ended before its end."""
        if not self._ended and not self._stream.eof and self._bytes_in:
            self.problem = "The compressed data ends too early."
