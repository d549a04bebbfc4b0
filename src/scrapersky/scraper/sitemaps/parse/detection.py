"""Detect compression, character encoding and format of a document from its first bytes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from scrapersky.scraper.http.decompression import GZIP_MAGIC, Decompressor
from scrapersky.scraper.sitemaps.parse.entries import SitemapFormat

MAX_GZIP_LAYERS = 2
"""Some sites compress a file that is already compressed. Three layers do not occur in practice."""
SNIFF_BYTES = 1024
CHECKSUM_BYTES = 8

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED_ENCODING = re.compile(
    rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._\-]{2,40})[\"']", re.I
)
_ASCII = "".join(map(chr, range(0x20, 0x7F))).replace("\\", "") + r"\u0041 +AOk-"
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._\-]{2,40})", re.I)


class GzipStream:
    """Decompressor for up to two layers of gzip. Other data passes through unchanged.

    The trailing checksum is held back until the end of input. If it is wrong, all data it covers
    has been emitted already.
    """

    def __init__(self, *, max_bytes: int, layers: int = MAX_GZIP_LAYERS) -> None:
        self.is_gzipped = False
        self._max_bytes = max_bytes
        self._layers = layers
        self._held = b""
        self._sniffed = False
        self._unpacker: Decompressor | None = None
        self._inner: GzipStream | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        if not self._sniffed:
            data = self._held + data
            if len(data) < len(GZIP_MAGIC):
                self._held = data
                return
            self._sniffed, self._held = True, b""
            if self._layers and data.startswith(GZIP_MAGIC):
                self.is_gzipped = True
                self._unpacker = Decompressor(max_bytes=self._max_bytes, wbits=31)
                self._inner = GzipStream(max_bytes=self._max_bytes, layers=self._layers - 1)
        if self._unpacker is None or self._inner is None:
            yield data
            return
        data = self._held + data
        self._held = data[-CHECKSUM_BYTES:]
        yield from self._decompress(data[:-CHECKSUM_BYTES])

    def _decompress(self, data: bytes) -> Iterator[bytes]:
        assert self._unpacker is not None
        assert self._inner is not None
        for piece in self._unpacker.feed(data):
            yield from self._inner.feed(piece)

    def close(self) -> Iterator[bytes]:
        """Yield the data that was held back. `problem` is final afterwards."""
        if self._inner is not None and self._unpacker is not None:
            yield from self._decompress(self._held)
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


def detect_encoding(start: bytes, content_type: str | None) -> tuple[str, int]:
    """Detect the encoding from the first bytes. Return it with the length of the BOM to skip."""
    for mark, name in _BOMS:
        if start.startswith(mark):
            return name, len(mark)
    if guess := _detect_utf16(start):
        return guess, 0
    match = _DECLARED_ENCODING.search(start[:SNIFF_BYTES])
    declared = match[1].decode("ascii") if match else None
    if declared is None and content_type and (header := _CHARSET.search(content_type)):
        declared = header[1]
    return _normalise_encoding(declared), 0


def get_decoder(encoding: str) -> codecs.IncrementalDecoder:
    """Return an incremental decoder.

    Documents declared as Windows-1252 are often UTF-8, so bytes that can only be UTF-8 are decoded
    as such.
    """
    if encoding == "cp1252":
        return codecs.getincrementaldecoder("utf-8")(_WINDOWS_ERROR_HANDLER)
    return codecs.getincrementaldecoder(encoding)("replace")


def _decode_windows_bytes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


_WINDOWS_ERROR_HANDLER = "scrapersky.windows"
codecs.register_error(_WINDOWS_ERROR_HANDLER, _decode_windows_bytes)


def _detect_utf16(start: bytes) -> str | None:
    """Detect UTF-16 without a BOM: every second byte of the first ASCII characters is zero."""
    sample = start[:8]
    if len(sample) >= 4 and sample[1:4:2] == b"\0\0" and 0 not in sample[0:4:2]:
        return "utf-16-le"
    if len(sample) >= 4 and sample[0:4:2] == b"\0\0" and 0 not in sample[1:4:2]:
        return "utf-16-be"
    return None


def _normalise_encoding(name: str | None) -> str:
    """Return the declared encoding if plausible. Latin-1 means Windows-1252, as in browsers."""
    try:
        known = codecs.lookup(name or "utf-8")
    except LookupError:
        return "utf-8"
    if known.name in ("iso8859-1", "ascii"):
        return "cp1252" if known.name == "iso8859-1" else "utf-8"
    # A UTF-16 declaration that is readable as single bytes contradicts itself.
    return known.name if known._is_text_encoding and _is_ascii_superset(known.name) else "utf-8"


def _is_ascii_superset(name: str) -> bool:
    """Whether this is a text encoding in which an ASCII declaration is readable."""
    try:
        decoder = codecs.getincrementaldecoder(name)("replace")
        return decoder.decode(_ASCII.encode("ascii"), True) == _ASCII
    except (LookupError, ValueError, TypeError, AssertionError):
        return False


SNIFF_CHARACTERS = 64 * 1024
"""Characters searched for the root. Licences, script warnings and blank lines may precede it."""

_ROOTS = {
    "urlset": SitemapFormat.URLSET,
    "url": SitemapFormat.URLSET,
    "sitemapindex": SitemapFormat.INDEX,
    "sitemap": SitemapFormat.INDEX,
    "rss": SitemapFormat.RSS,
    "rdf": SitemapFormat.RSS,
    "feed": SitemapFormat.ATOM,
}
_ROOT = re.compile(
    r"<(?:[A-Za-z_][\w.\-]{0,40}:)?(urlset|sitemapindex|rss|rdf|feed)(?=[\s/>])", re.IGNORECASE
)
_FIRST_TAG = re.compile(r"\s*<(?:[A-Za-z_][\w.\-]{0,40}:)?([A-Za-z_][\w.\-]{0,40})")
_DOCTYPE_HTML = re.compile(r"<!doctype\s+html", re.IGNORECASE)
_URL_LINE = re.compile(r"(?:\A|[\r\n])[^\S\r\n]*+https?://\S", re.IGNORECASE)
_HTML_TAGS = frozenset(
    {"head", "body", "title", "meta", "script", "style", "div", "span", "p", "a", "b", "br"}
    | {"h1", "h2", "h3", "center", "font", "table", "pre", "noscript", "iframe", "form", "main"}
)
_GENERATORS = (
    (re.compile(r"generator=[\"']([^\"'<>]{2,80})[\"']", re.IGNORECASE), None),
    (
        re.compile(r"generat(?:ed|or):? (?:by|with) ([^\n<>]{2,80}?)(?: on |\s*-->|[.\n])", re.I),
        None,
    ),
    (re.compile(r"yoast|wordpress-seo", re.IGNORECASE), "Yoast SEO"),
    (re.compile(r"rank-?math", re.IGNORECASE), "Rank Math"),
    (re.compile(r"wp-sitemap", re.IGNORECASE), "WordPress"),
)


def detect_format(raw: str, clean: str) -> tuple[SitemapFormat | None, str | None]:
    """Return the format, or None and the reason why it is not a sitemap.

    `raw` is the beginning of the document, `clean` the same without comments and declarations.
    """
    if not raw.strip("\ufeff \t\r\n\0"):
        return None, "It is empty."
    first = _FIRST_TAG.match(clean)
    name = first[1].lower() if first else ""
    if name == "html" or _DOCTYPE_HTML.search(raw[:1024]):
        return None, "It is an HTML page, not a sitemap."
    if name in _ROOTS:
        return _ROOTS[name], None
    if root := _ROOT.search(clean):
        return _ROOTS[root[1].lower()], None
    if first is None and _URL_LINE.search(clean):
        return SitemapFormat.TEXT, None
    return None, _describe_rejection(name)


def _describe_rejection(name: str) -> str:
    if name in _HTML_TAGS:
        return "It is an HTML page, not a sitemap."
    if name:
        return f"Its root element <{name}> is not a sitemap's."
    return "It is neither XML nor a list of URLs."


def detect_generator(raw: str) -> str | None:
    """Return the program that wrote the document, if its first lines name it."""
    head = raw[:4096].partition("<url>")[0]
    for pattern, name in _GENERATORS:
        if match := pattern.search(head):
            return name or match[1].strip()
    return None
