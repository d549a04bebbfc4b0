"""Read a sitemap from chunks of bytes, in memory that does not grow with it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence

from scrapersky.scraper.sitemap_parser.decoding import (
    SNIFF_BYTES,
    Gunzip,
    decoder_for,
    encoding_of,
)
from scrapersky.scraper.sitemap_parser.fast import FastReader
from scrapersky.scraper.sitemap_parser.feeds import FeedReader
from scrapersky.scraper.sitemap_parser.lines import LineReader
from scrapersky.scraper.sitemap_parser.model import Entry, Kind
from scrapersky.scraper.sitemap_parser.records import RecordReader
from scrapersky.scraper.sitemap_parser.scrub import Scrubber
from scrapersky.scraper.sitemap_parser.sniffing import SNIFF_CHARACTERS, generator_of, kind_of
from scrapersky.scraper.sitemap_parser.values import Values

WINDOW_CHARACTERS = 64 * 1024
"""Text read at once: small enough to give the event loop its turn in between."""
MAX_RECORD_CHARACTERS = 2 * 1024 * 1024
"""A record that has not ended by then never will; it is dropped and the scan goes on."""
STEP_BYTES = 64 * 1024
"""Bytes taken in at once, for the same reason."""
MAX_DECOMPRESSED_BYTES = 256 * 1024 * 1024

_RECORD_END = re.compile(
    r"</(?:[A-Za-z_][\w.\-]{0,40}:)?(?:url|sitemap|item|entry)\s{0,100}>", re.IGNORECASE
)
_RECORD_START = re.compile(r"<(?:[A-Za-z_][\w.\-]{0,40}:)?(?:url|sitemap)>", re.IGNORECASE)
_ROOT_END = re.compile(
    r"</(?:[A-Za-z_][\w.\-]{0,40}:)?(?:urlset|sitemapindex|rss|rdf|feed)\s{0,100}>", re.IGNORECASE
)
_PLAIN_ROOT_ENDS = ("</urlset>", "</sitemapindex>")
"""Looked for in passing, where something follows the root; the pattern judges the end."""
_ROOT_EMPTY = re.compile(r"<(?:[\w.\-]{1,40}:)?(?:urlset|sitemapindex)\b[^<>]*/>", re.IGNORECASE)
_ONLY_ROOT = re.compile(
    r"[^<]*+<(?:[\w.\-]{1,40}:)?(?:urlset|sitemapindex)(?:\s[^<>]*)?(?<!/)>[^<]*\Z", re.IGNORECASE
)
_CUT_LOC = re.compile(r"<(?:[\w.\-]{1,40}:)?(?:loc|link)(?:\s[^<>]*)?>[^<]*\Z", re.IGNORECASE)


class SitemapStream:
    """Feed it the body chunk by chunk; every call gives the entries that became complete."""

    def __init__(
        self,
        *,
        url: str,
        content_type: str | None = None,
        max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
    ) -> None:
        self.kind: Kind | None = None
        self.partial: str | None = None
        self.error: str | None = None
        self.generator: str | None = None
        self._content_type = content_type
        self._values = Values(url)
        self._gunzip = Gunzip(max_bytes=max_decompressed_bytes)
        self._decoder: codecs.IncrementalDecoder | None = None
        self._start = b""
        self._scrubber = Scrubber()
        self._raw: list[str] = []
        self._raw_characters = 0
        self._behind = ""
        """Raw text behind the last whole record, not yet scrubbed."""
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
        """It was cut by a limit of ours."""
        return self._gunzip.hit_limit

    @property
    def dropped(self) -> dict[str, int]:
        """How many entries or values were not kept, by reason."""
        return dict(self._values.dropped)

    @property
    def is_over(self) -> bool:
        """More bytes would change nothing: it is no sitemap, or a limit was reached."""
        return self.error is not None or self._gunzip.is_stopped

    def feed(self, chunk: bytes) -> list[Entry]:
        """Entries that became complete with these bytes."""
        return [entry for part in self.parts(chunk) for entry in part]

    def parts(self, chunk: bytes) -> Iterator[Sequence[Entry]]:
        """The same in steps, as a small chunk may unpack to much: take a breath in between.

        A step reads `STEP_BYTES` at most.
        """
        for start in range(0, len(chunk), STEP_BYTES):
            for piece in self._gunzip.feed(chunk[start : start + STEP_BYTES]):
                if self.error is not None:
                    return
                yield from self._counted(self._take_text(self._decode(piece)))

    def close(self) -> list[Entry]:
        """The entries left at the end; `partial` and `error` are final afterwards."""
        return [entry for part in self.last_parts() for entry in part]

    def last_parts(self) -> Iterator[Sequence[Entry]]:
        """The same in steps."""
        if self.error is None:
            yield from self._counted(self._last_entries())
            self._conclude()

    def _counted(self, parts: Iterable[Sequence[Entry]]) -> Iterator[Sequence[Entry]]:
        """At least one, if only an empty one, so that nothing is done without a step."""
        for part in parts:
            self._count += len(part)
            yield part
        yield ()

    def _decode(self, data: bytes, *, final: bool = False) -> str:
        if self._decoder is None:
            self._start += data
            if len(self._start) < SNIFF_BYTES and not final:
                return ""
            name, skip = encoding_of(self._start, self._content_type)
            self._decoder = decoder_for(name)
            data, self._start = self._start[skip:], b""
        return self._decoder.decode(data, final)

    def _take_text(self, text: str) -> Iterator[Sequence[Entry]]:
        """Collect text until there is a window full of it, so that tiny chunks cost no more."""
        if text:
            self._raw.append(text)
            self._raw_characters += len(text)
        if self._raw_characters >= WINDOW_CHARACTERS:
            yield from self._read_window(final=False)

    def _last_entries(self) -> Iterator[Sequence[Entry]]:
        for piece in self._gunzip.close():
            yield from self._take_text(self._decode(piece))
        yield from self._take_text(self._decode(b"", final=True))
        yield from self._read_window(final=True)

    def _read_window(self, *, final: bool) -> Iterator[Sequence[Entry]]:
        raw = self._behind + "".join(self._raw)
        self._behind, self._raw, self._raw_characters = "", [], 0
        if self._reader is None:
            raw = self._begin(raw, final=final)
            if self._reader is None:
                return
        whole, self._behind = self._split(raw)
        if self._fast is not None and self._is_between_records():
            entries, position = self._fast.read(whole)
            yield entries
            reached = 0
            while reached < position < len(whole):
                reached = position
                entries, position = self._fast.read_on(whole, position)
                yield entries
            whole = whole[position:]
        yield from self._read_slowly(whole, final=final)

    def _read_slowly(self, text: str, *, final: bool) -> Iterator[Sequence[Entry]]:
        assert self._reader is not None
        if final:
            text, self._behind = text + self._behind, ""
        if text or final:
            self._clean += self._scrubber.feed(text)
            self._clean += self._scrubber.close() if final else ""
            yield from self._reader.steps(self._cut(final=final))

    def _begin(self, raw: str, *, final: bool) -> str:
        """Look at the beginning and choose a reader if possible; the text left to read."""
        start = _RECORD_START.search(raw)
        head = start.start() if start else len(raw)
        self._clean += self._scrubber.feed(raw[:head])
        if not self._scrubber.is_idle:
            self._clean += self._scrubber.feed(raw[head:])
            head = len(raw)
        sample = self._clean[:SNIFF_CHARACTERS]
        sample += Scrubber().feed(raw[head : head + SNIFF_CHARACTERS])
        if final or "<" in sample or len(sample) >= SNIFF_CHARACTERS:
            self._choose(raw, sample[:SNIFF_CHARACTERS])
        return raw[head:]

    def _choose(self, raw: str, sample: str) -> None:
        self.kind, self.error = kind_of(raw, sample)
        if self.kind is None:
            self._clean = ""
            return
        self.generator = generator_of(raw)
        self._values.entities = self._scrubber.entities
        self._reader = self._reader_for(self.kind)
        if self._scrubber.is_idle and _ONLY_ROOT.match(self._clean):
            self._clean = ""

    def _split(self, raw: str) -> tuple[str, str]:
        """Whole records, and what is behind the last of them."""
        if not isinstance(self._reader, RecordReader):
            return raw, ""
        if self._fast is None and (end := _RECORD_END.search(raw)):
            self._fast = FastReader(self._values, record_end=end[0], read_tags=self._reader.read)
        cut = raw.rfind(self._fast.record_end) if self._fast else -1
        if self._fast is None or cut < 0:
            return raw, ""
        cut += len(self._fast.record_end)
        return raw[:cut], raw[cut:]

    def _is_between_records(self) -> bool:
        return self._scrubber.is_idle and "<" not in self._clean

    def _reader_for(self, kind: Kind) -> RecordReader | FeedReader | LineReader:
        if kind is Kind.TEXT:
            return LineReader(self._values)
        if kind in (Kind.RSS, Kind.ATOM):
            return FeedReader(self._values)
        return RecordReader(self._values)

    def _cut(self, *, final: bool) -> str:
        """The part of the text that ends with a record; the rest waits for what follows it."""
        text = self._clean
        if final:
            self._clean = ""
            return self._without_cut_end(text)
        end = self._end_of_records(text)
        if end == 0 and len(text) > MAX_RECORD_CHARACTERS:
            self._values.dropped["oversized_record"] += 1
            end = len(text)
            text = ""
        self._root_ended = self._root_ended or any(root in text for root in _PLAIN_ROOT_ENDS)
        self._clean = self._clean[end:]
        return text[:end]

    def _end_of_records(self, text: str) -> int:
        if self.kind is Kind.TEXT:
            return max(text.rfind("\n"), text.rfind("\r")) + 1
        for start in (max(0, len(text) - WINDOW_CHARACTERS // 2), 0):
            ends = [match.end() for match in _RECORD_END.finditer(text, start)]
            if ends:
                return ends[-1]
        return 0

    def _without_cut_end(self, text: str) -> str:
        """An address that the end of the document cut through is not one."""
        if self.kind is Kind.TEXT:
            return text
        if not self._root_ended:
            self._root_ended = bool(_ROOT_END.search(text) or _ROOT_EMPTY.search(text))
        if not self._root_ended and _CUT_LOC.search(text, max(0, len(text) - 16 * 1024)):
            self._values.dropped["cut"] += 1
            text = text[: text.rindex("<")]
        return text

    def _conclude(self) -> None:
        """Say what is wrong, if anything, now that all there was has been read."""
        problem = self._gunzip.problem
        if self.error is not None:
            self.error = problem or self.error
        elif self._count == 0 and self._is_unreadable():
            self.kind, self.error = None, "It begins like a sitemap but nothing in it is readable."
        elif problem or self._scrubber.unfinished:
            self.partial = problem or f"It ends inside of {self._scrubber.unfinished}."
        elif self.kind is not Kind.TEXT and not self._root_ended:
            self.partial = "It ends before its closing tag."

    def _is_unreadable(self) -> bool:
        return self._root_ended and bool(self._values.dropped["broken_tag"])
