"""From the bytes of a file to its text: gzip by its magic, then the encoding it really has."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from scrapersky.scraper.decoding import GZIP_MAGIC, Unpacker

MAX_LAYERS = 2
"""Some sites compress a file that is compressed already; nobody does it three times."""
SNIFF_BYTES = 1024
CHECKSUM_BYTES = 8

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._\-]{2,40})[\"']", re.I)
_ASCII = "".join(map(chr, range(0x20, 0x7F))).replace("\\", "") + r"\u0041 +AOk-"
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._\-]{2,40})", re.I)


class Gunzip:
    """Undoes up to two layers of gzip; other bytes pass as they are.

    The checksum at the end is held back until nothing follows it: when it is wrong, all that it
    is about came out before.
    """

    def __init__(self, *, max_bytes: int, layers: int = MAX_LAYERS) -> None:
        self.is_gzipped = False
        self._max_bytes = max_bytes
        self._layers = layers
        self._held = b""
        self._sniffed = False
        self._unpacker: Unpacker | None = None
        self._inner: Gunzip | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        if not self._sniffed:
            data = self._held + data
            if len(data) < len(GZIP_MAGIC):
                self._held = data
                return
            self._sniff(data)
        if self._unpacker is None or self._inner is None:
            yield data
            return
        data = self._held + data
        self._held = data[-CHECKSUM_BYTES:]
        yield from self._unpack(data[:-CHECKSUM_BYTES])

    def _unpack(self, data: bytes) -> Iterator[bytes]:
        assert self._unpacker is not None
        assert self._inner is not None
        for piece in self._unpacker.feed(data):
            yield from self._inner.feed(piece)

    def _sniff(self, data: bytes) -> None:
        self._sniffed, self._held = True, b""
        if self._layers and data.startswith(GZIP_MAGIC):
            self.is_gzipped = True
            self._unpacker = Unpacker(max_bytes=self._max_bytes, wbits=31)
            self._inner = Gunzip(max_bytes=self._max_bytes, layers=self._layers - 1)

    def close(self) -> Iterator[bytes]:
        """What was held back; afterwards `problem` is final."""
        if self._inner is not None and self._unpacker is not None:
            yield from self._unpack(self._held)
            self._unpacker.finish()
            yield from self._inner.close()
        elif not self._sniffed and self._held:
            yield self._held
            self._held = b""

    @property
    def problem(self) -> str | None:
        if self._unpacker is None or self._inner is None:
            return None
        return self._unpacker.problem or self._inner.problem

    @property
    def hit_limit(self) -> bool:
        if self._unpacker is None or self._inner is None:
            return False
        return self._unpacker.hit_limit or self._inner.hit_limit

    @property
    def is_stopped(self) -> bool:
        return self.problem is not None


def encoding_of(start: bytes, content_type: str | None) -> tuple[str, int]:
    """The encoding of a document by its first bytes, and how many of them are a mark to skip."""
    for mark, name in _BOMS:
        if start.startswith(mark):
            return name, len(mark)
    if guess := _wide_encoding(start):
        return guess, 0
    match = _DECLARED.search(start[:SNIFF_BYTES])
    declared = match[1].decode("ascii") if match else None
    if declared is None and content_type and (header := _CHARSET.search(content_type)):
        declared = header[1]
    return _usable(declared), 0


def decoder_for(encoding: str) -> codecs.IncrementalDecoder:
    """What says Windows-1252 is UTF-8 as often: bytes that can only be UTF-8 are read as that."""
    if encoding == "cp1252":
        return codecs.getincrementaldecoder("utf-8")(_AS_WINDOWS)
    return codecs.getincrementaldecoder(encoding)("replace")


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


_AS_WINDOWS = "scrapersky.windows"
codecs.register_error(_AS_WINDOWS, _as_windows)


def _wide_encoding(start: bytes) -> str | None:
    """UTF-16 without a mark: every second byte of the first ASCII characters is zero."""
    sample = start[:8]
    if len(sample) >= 4 and sample[1:4:2] == b"\0\0" and 0 not in sample[0:4:2]:
        return "utf-16-le"
    if len(sample) >= 4 and sample[0:4:2] == b"\0\0" and 0 not in sample[1:4:2]:
        return "utf-16-be"
    return None


def _usable(name: str | None) -> str:
    """A declared encoding we can believe; what says Latin-1 means Windows-1252, as in browsers."""
    try:
        known = codecs.lookup(name or "utf-8")
    except LookupError:
        return "utf-8"
    if known.name in ("iso8859-1", "ascii"):
        return "cp1252" if known.name == "iso8859-1" else "utf-8"
    # It says UTF-16 and the bytes of the declaration were readable one by one: it is not.
    return known.name if known._is_text_encoding and _reads_ascii(known.name) else "utf-8"


def _reads_ascii(name: str) -> bool:
    """Whether it is an encoding of text at all, and one that a readable declaration can be in."""
    try:
        decoder = codecs.getincrementaldecoder(name)("replace")
        return decoder.decode(_ASCII.encode("ascii"), True) == _ASCII
    except (LookupError, ValueError, TypeError, AssertionError):
        return False
