"""Decompress gzip and deflate bodies incrementally, within limits."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

MAX_CHUNK_BYTES = 128 * 1024
"""Output size of one decompression step, which bounds the memory a decompression bomb can use."""
MAX_COMPRESSION_RATIO = 250
"""Real sitemaps compress up to 100:1. Deflate can reach 1000:1, which indicates a bomb."""
RATIO_EXEMPT_BYTES = 4 * 1024 * 1024
"""Output size below which the compression ratio is not checked."""

GZIP_MAGIC = b"\x1f\x8b"


class Decompressor:
    """Incremental decompressor for deflate and gzip, including multi-member gzip.

    `problem` says why the output is incomplete, and is None if it is complete.
    """

    def __init__(self, *, max_bytes: int, wbits: int = 47) -> None:
        self.problem: str | None = None
        self.hit_limit = False
        self._max_bytes = max_bytes
        self._wbits = wbits
        self._stream = zlib.decompressobj(wbits)
        self._bytes_in = 0
        self._bytes_out = 0
        self.is_stopped = False
        """Whether further input is ignored."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed chunks of this input."""
        self._bytes_in += len(data)
        while data and not self.is_stopped:
            piece, data = self._decompress_chunk(data)
            if piece:
                yield piece

    def _decompress_chunk(self, data: bytes) -> tuple[bytes, bytes]:
        try:
            piece = self._stream.decompress(data, MAX_CHUNK_BYTES)
        except zlib.error:
            self._stop("The compressed data is corrupt.")
            return b"", b""
        self._bytes_out += len(piece)
        rest = self._stream.unconsumed_tail
        if self._stream.eof:
            rest = self._next_member(self._stream.unused_data)
        if self._bytes_out > self._max_bytes:
            self._stop(f"It decompresses to more than {self._max_bytes} bytes.")
            self.hit_limit = True
        elif self._bytes_out > max(RATIO_EXEMPT_BYTES, MAX_COMPRESSION_RATIO * self._bytes_in):
            self._stop(f"It decompresses to more than {MAX_COMPRESSION_RATIO} times its size.")
            self.hit_limit = True
        return piece, rest

    def _next_member(self, rest: bytes) -> bytes:
        """Start the next member of a gzip file. Other data after the last member is padding."""
        if self._wbits > 0 and rest[:1] == GZIP_MAGIC[:1]:
            self._stream = zlib.decompressobj(self._wbits)
            return rest
        if rest:
            self.is_stopped = True
        return b""

    def _stop(self, problem: str) -> None:
        self.problem = problem
        self.is_stopped = True

    def finish(self) -> None:
        """Set `problem` if the compressed stream is incomplete."""
        if not self.is_stopped and not self._stream.eof and self._bytes_in:
            self.problem = "The compressed data is truncated."
