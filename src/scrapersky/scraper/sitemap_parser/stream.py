"""Read a sitemap from chunks of bytes, in memory that does not grow with it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator

from scrapersky.scraper.sitemap_parser.decoding import SNIFF_BYTES, Gunzip, encoding_of
from scrapersky.scraper.sitemap_parser.feeds import FeedReader
from scrapersky.scraper.sitemap_parser.lines import LineReader
from scrapersky.scraper.sitemap_parser.model import Entry, Kind
from scrapersky.scraper.sitemap_parser.records import RecordReader
from scrapersky.scraper.sitemap_parser.scrub import Scrubber
from scrapersky.scraper.sitemap_parser.sniffing import SNIFF_CHARACTERS, generator_of, kind_of
from scrapersky.scraper.sitemap_parser.values import Values

WINDOW_CHARACTERS = 128 * 1024
"""Text read at once: small enough to give the event loop its turn in between."""
MAX_RECORD_CHARACTERS = 2 * 1024 * 1024
"""A record that has not ended by then never will; it is dropped and the scan goes on."""
MAX_DECOMPRESSED_BYTES = 256 * 1024 * 1024

_RECORD_END = re.compile(
    r"</(?:[A-Za-z_][\w.\-]{0,40}:)?(?:url|sitemap|item|entry)\s{0,100}>", re.IGNORECASE
)
_ROOT_END = re.compile(
    r"</(?:[A-Za-z_][\w.\-]{0,40}:)?(?:urlset|sitemapindex|rss|rdf|feed)\s{0,100}>", re.IGNORECASE
)
_PLAIN_ROOT_ENDS = ("</urlset>", "</sitemapindex>")
"""Looked for in passing, where something follows the root; the pattern judges the end."""
_ROOT_EMPTY = re.compile(r"<(?:[\w.\-]{1,40}:)?(?:urlset|sitemapindex)\b[^<>]*/>", re.IGNORECASE)
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
        self._clean = ""
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

    def parts(self, chunk: bytes) -> Iterator[list[Entry]]:
        """The same in steps, as a small chunk may unpack to much: take a breath in between."""
        for piece in self._gunzip.feed(chunk):
            if self.error is not None:
                return
            yield self._counted(self._take_text(self._decode(piece)))

    def close(self) -> list[Entry]:
        """The entries left at the end; `partial` and `error` are final afterwards."""
        if self.error is not None:
            return []
        entries = self._counted(self._last_entries())
        self._conclude()
        return entries

    def _counted(self, entries: Iterable[Entry]) -> list[Entry]:
        found = list(entries)
        self._count += len(found)
        return found

    def _decode(self, data: bytes, *, final: bool = False) -> str:
        if self._decoder is None:
            self._start += data
            if len(self._start) < SNIFF_BYTES and not final:
                return ""
            name, skip = encoding_of(self._start, self._content_type)
            self._decoder = codecs.getincrementaldecoder(name)("replace")
            data, self._start = self._start[skip:], b""
        return self._decoder.decode(data, final)

    def _take_text(self, text: str) -> Iterator[Entry]:
        """Collect text until there is a window full of it, so that tiny chunks cost no more."""
        if text:
            self._raw.append(text)
            self._raw_characters += len(text)
        if self._raw_characters >= WINDOW_CHARACTERS:
            yield from self._read_window(final=False)

    def _last_entries(self) -> Iterator[Entry]:
        for piece in self._gunzip.close():
            yield from self._take_text(self._decode(piece))
        yield from self._take_text(self._decode(b"", final=True))
        yield from self._read_window(final=True)

    def _read_window(self, *, final: bool) -> Iterator[Entry]:
        raw = "".join(self._raw)
        self._raw, self._raw_characters = [], 0
        self._clean += self._scrubber.feed(raw)
        if final:
            self._clean += self._scrubber.close()
        if self._reader is None and not self._begin(raw, final=final):
            return
        assert self._reader is not None
        yield from self._reader.read(self._cut(final=final))

    def _begin(self, raw: str, *, final: bool) -> bool:
        """Look at the beginning and choose a reader; False when there is none to choose yet."""
        if len(self._clean) < SNIFF_CHARACTERS and not final and "<" not in self._clean:
            return False
        self.kind, self.error = kind_of(raw, self._clean[:SNIFF_CHARACTERS])
        if self.kind is None:
            self._clean = ""
            return False
        self.generator = generator_of(raw)
        self._values.entities = self._scrubber.entities
        self._reader = self._reader_for(self.kind)
        return True

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
