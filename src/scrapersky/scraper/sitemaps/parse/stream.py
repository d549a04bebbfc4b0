"""Parse a sitemap from chunks of bytes in constant memory."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence

from scrapersky.scraper.sitemaps.parse.detection import (
    SNIFF_BYTES,
    SNIFF_CHARACTERS,
    GzipStream,
    detect_encoding,
    detect_format,
    detect_generator,
    get_decoder,
)
from scrapersky.scraper.sitemaps.parse.entries import SitemapFormat, UrlEntry
from scrapersky.scraper.sitemaps.parse.fast_reader import FastReader
from scrapersky.scraper.sitemaps.parse.readers import FeedReader, LineReader, RecordReader
from scrapersky.scraper.sitemaps.parse.tokenizer import XmlScrubber
from scrapersky.scraper.sitemaps.parse.values import ValueParser

MAX_WINDOW_CHARACTERS = 64 * 1024
"""Characters read per step. Small enough to yield to the event loop regularly."""
MAX_RECORD_CHARACTERS = 2 * 1024 * 1024
"""Maximum length of a record. Longer ones are dropped, and the scan continues."""
MAX_STEP_BYTES = 64 * 1024
"""Bytes decoded per step, for the same reason as `MAX_WINDOW_CHARACTERS`."""
MAX_DECOMPRESSED_BYTES = 256 * 1024 * 1024

_RECORD_END = re.compile(
    r"</(?:[A-Za-z_][\w.\-]{0,40}:)?(?:url|sitemap|item|entry)\s{0,100}>", re.IGNORECASE
)
_RECORD_START = re.compile(r"<(?:[A-Za-z_][\w.\-]{0,40}:)?(?:url|sitemap)>", re.IGNORECASE)
_ROOT_END = re.compile(
    r"</(?:[A-Za-z_][\w.\-]{0,40}:)?(?:urlset|sitemapindex|rss|rdf|feed)\s{0,100}>", re.IGNORECASE
)
_PLAIN_ROOT_ENDS = ("</urlset>", "</sitemapindex>")
"""Quick check for the end of the root before trailing data; a pattern verifies the real end."""
_ROOT_EMPTY = re.compile(r"<(?:[\w.\-]{1,40}:)?(?:urlset|sitemapindex)\b[^<>]*/>", re.IGNORECASE)
_ONLY_ROOT = re.compile(
    r"[^<]*+<(?:[\w.\-]{1,40}:)?(?:urlset|sitemapindex)(?:\s[^<>]*)?(?<!/)>[^<]*\Z", re.IGNORECASE
)
_TRUNCATED_LOC = re.compile(r"<(?:[\w.\-]{1,40}:)?(?:loc|link)(?:\s[^<>]*)?>[^<]*\Z", re.IGNORECASE)


class SitemapStream:
    """Incremental sitemap parser. Each call returns the entries that became complete."""

    def __init__(
        self,
        *,
        url: str,
        content_type: str | None = None,
        max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
    ) -> None:
        self.kind: SitemapFormat | None = None
        self.partial: str | None = None
        self.error: str | None = None
        self.generator: str | None = None
        self._content_type = content_type
        self._values = ValueParser(url)
        self._gunzip = GzipStream(max_bytes=max_decompressed_bytes)
        self._decoder: codecs.IncrementalDecoder | None = None
        self._start = b""
        self._scrubber = XmlScrubber()
        self._raw: list[str] = []
        self._raw_characters = 0
        self._behind = ""
        """Raw text after the last complete record, not yet scrubbed."""
        self._clean = ""
        self._fast: FastReader | None = None
        self._reader: RecordReader | FeedReader | LineReader | None = None
        self._root_ended = False
        self._count = 0

    @property
    def is_gzipped(self) -> bool:
        return self._gunzip.is_gzipped

    @property
    def hit_limit(self) -> bool:
        """Whether one of our limits truncated the document."""
        return self._gunzip.hit_limit

    @property
    def dropped(self) -> dict[str, int]:
        """Number of dropped entries or values by reason."""
        return dict(self._values.dropped)

    @property
    def is_over(self) -> bool:
        """Whether further input is ignored: it is not a sitemap, or a limit was reached."""
        return self.error is not None or self._gunzip.problem is not None

    def feed(self, chunk: bytes) -> list[UrlEntry]:
        """Parse a chunk and return the entries that became complete."""
        return [entry for part in self.parts(chunk) for entry in part]

    def parts(self, chunk: bytes) -> Iterator[Sequence[UrlEntry]]:
        """Like `feed`, but in steps of at most `MAX_STEP_BYTES`.

        A small chunk can decompress to a lot, so callers should yield to the event loop between
        steps.
        """
        for start in range(0, len(chunk), MAX_STEP_BYTES):
            for piece in self._gunzip.feed(chunk[start : start + MAX_STEP_BYTES]):
                if self.error is not None:
                    return
                yield from self._count_entries(self._take_text(self._decode(piece)))

    def close(self) -> list[UrlEntry]:
        """Return the remaining entries. `partial` and `error` are final afterwards."""
        return [entry for part in self.last_parts() for entry in part]

    def last_parts(self) -> Iterator[Sequence[UrlEntry]]:
        """Like `close`, but in steps."""
        if self.error is None:
            yield from self._count_entries(self._last_entries())
            self._finish()

    def _count_entries(self, parts: Iterable[Sequence[UrlEntry]]) -> Iterator[Sequence[UrlEntry]]:
        """Count the entries. Yields an empty part at the end, so that all work is a step."""
        for part in parts:
            self._count += len(part)
            yield part
        yield ()

    def _decode(self, data: bytes, *, final: bool = False) -> str:
        if self._decoder is None:
            self._start += data
            if len(self._start) < SNIFF_BYTES and not final:
                return ""
            name, skip = detect_encoding(self._start, self._content_type)
            self._decoder = get_decoder(name)
            data, self._start = self._start[skip:], b""
        return self._decoder.decode(data, final)

    def _take_text(self, text: str) -> Iterator[Sequence[UrlEntry]]:
        """Buffer text until a window is full, so that tiny chunks are not more expensive."""
        if text:
            self._raw.append(text)
            self._raw_characters += len(text)
        if self._raw_characters >= MAX_WINDOW_CHARACTERS:
            yield from self._read_window(final=False)

    def _last_entries(self) -> Iterator[Sequence[UrlEntry]]:
        for piece in self._gunzip.close():
            yield from self._take_text(self._decode(piece))
        yield from self._take_text(self._decode(b"", final=True))
        yield from self._read_window(final=True)

    def _read_window(self, *, final: bool) -> Iterator[Sequence[UrlEntry]]:
        raw = self._behind + "".join(self._raw)
        self._behind, self._raw, self._raw_characters = "", [], 0
        if self._reader is None:
            raw = self._begin_document(raw, final=final)
            if self._reader is None:
                return
        whole, self._behind = self._split(raw)
        if self._fast is not None and self._scrubber.is_idle and "<" not in self._clean:
            entries, position = self._fast.read(whole)
            yield entries
            reached = 0
            while reached < position < len(whole):
                reached = position
                entries, position = self._fast.read_records(whole, position)
                yield entries
            whole = whole[position:]
        # The rest is read tag by tag.
        if final:
            whole, self._behind = whole + self._behind, ""
        if whole or final:
            self._clean += self._scrubber.feed(whole)
            self._clean += self._scrubber.close() if final else ""
            yield from self._reader.steps(self._take_complete(final=final))

    def _begin_document(self, raw: str, *, final: bool) -> str:
        """Inspect the start, choose a reader if possible, and return the text left to read."""
        start = _RECORD_START.search(raw)
        head = start.start() if start else len(raw)
        self._clean += self._scrubber.feed(raw[:head])
        if not self._scrubber.is_idle:
            self._clean += self._scrubber.feed(raw[head:])
            head = len(raw)
        sample = self._clean[:SNIFF_CHARACTERS]
        sample += XmlScrubber().feed(raw[head : head + SNIFF_CHARACTERS])
        if final or "<" in sample or len(sample) >= SNIFF_CHARACTERS:
            self._choose_reader(raw, sample[:SNIFF_CHARACTERS])
        return raw[head:]

    def _choose_reader(self, raw: str, sample: str) -> None:
        self.kind, self.error = detect_format(raw, sample)
        if self.kind is None:
            self._clean = ""
            return
        self.generator = detect_generator(raw)
        self._values.entities = self._scrubber.entities
        self._reader = self._create_reader(self.kind)
        if self._scrubber.is_idle and _ONLY_ROOT.match(self._clean):
            self._clean = ""

    def _split(self, raw: str) -> tuple[str, str]:
        """Split into complete records and the text after the last one."""
        if not isinstance(self._reader, RecordReader):
            return raw, ""
        if self._fast is None and (end := _RECORD_END.search(raw)):
            self._fast = FastReader(self._values, record_end=end[0], read_tags=self._reader.read)
        cut = raw.rfind(self._fast.record_end) if self._fast else -1
        if self._fast is None or cut < 0:
            return raw, ""
        cut += len(self._fast.record_end)
        return raw[:cut], raw[cut:]

    def _create_reader(self, kind: SitemapFormat) -> RecordReader | FeedReader | LineReader:
        if kind is SitemapFormat.TEXT:
            return LineReader(self._values)
        if kind in (SitemapFormat.RSS, SitemapFormat.ATOM):
            return FeedReader(self._values)
        return RecordReader(self._values)

    def _take_complete(self, *, final: bool) -> str:
        """Return the text up to the last complete record. The rest waits for more input."""
        text = self._clean
        if final:
            self._clean = ""
            if self.kind is SitemapFormat.TEXT:
                return text
            # Drop a URL that is truncated by the end of the document.
            if not self._root_ended:
                self._root_ended = bool(_ROOT_END.search(text) or _ROOT_EMPTY.search(text))
            if not self._root_ended and _TRUNCATED_LOC.search(text, max(0, len(text) - 16 * 1024)):
                self._values.dropped["cut"] += 1
                text = text[: text.rindex("<")]
            return text
        end = self._find_records_end(text)
        if end == 0 and len(text) > MAX_RECORD_CHARACTERS:
            self._values.dropped["oversized_record"] += 1
            end = len(text)
            text = ""
        self._root_ended = self._root_ended or any(root in text for root in _PLAIN_ROOT_ENDS)
        self._clean = self._clean[end:]
        return text[:end]

    def _find_records_end(self, text: str) -> int:
        if self.kind is SitemapFormat.TEXT:
            return max(text.rfind("\n"), text.rfind("\r")) + 1
        for start in (max(0, len(text) - MAX_WINDOW_CHARACTERS // 2), 0):
            ends = [match.end() for match in _RECORD_END.finditer(text, start)]
            if ends:
                return ends[-1]
        return 0

    def _finish(self) -> None:
        """Set `partial` or `error` after all input was read."""
        problem = self._gunzip.problem
        if self.error is not None:
            self.error = problem or self.error
        elif self._count == 0 and self._root_ended and self._values.dropped["broken_tag"]:
            self.kind, self.error = None, "It starts like a sitemap, but nothing in it is readable."
        elif problem or self._scrubber.inside:
            self.partial = problem or f"It ends inside {self._scrubber.inside}."
        elif self.kind is not SitemapFormat.TEXT and not self._root_ended:
            self.partial = "It ends before its closing tag."
