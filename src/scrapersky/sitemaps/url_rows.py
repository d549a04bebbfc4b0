"""What is stored of each URL, made before the transaction begins: it should only send rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scrapersky.scraper.sitemap_parser.model import Entry
from scrapersky.scraper.urls import url_digest

ROW_COLUMNS = (
    "url",
    "url_digest",
    "lastmod",
    "changefreq",
    "priority",
    "extras",
    "may_repeat",
)
DIGEST = ROW_COLUMNS.index("url_digest")
EXTRAS = ROW_COLUMNS.index("extras")
DIGEST_BYTES = 16
EXTENSIONS = ("images", "videos", "news", "alternates", "mobile")
BITS_PER_URL = 32
"""With two bits set for each, one new URL in three hundred looks as if it had been seen."""
MOST_BITS = 2**27
"""16 MB. From four million URLs on more of them look seen: one in fifty of ten million."""

Row = tuple[Any, ...]


@dataclass(frozen=True)
class UrlRows:
    """Some URLs of one sitemap, ready to be stored; each URL once."""

    sitemap_url: str
    rows: Sequence[Row]
    is_known: bool
    """Rows of this sitemap are stored already."""

    def digests(self) -> bytes:
        return b"".join(row[DIGEST] for row in self.rows)


class Sightings:
    """Remembers which URLs a scan has come across, in little room: it may take a new one for
    one that was seen, never the other way round."""

    def __init__(self, most_urls: int) -> None:
        bits = min(MOST_BITS, 1 << (most_urls * BITS_PER_URL - 1).bit_length())
        self._bits = bytearray(bits // 8)
        self._mask = bits - 1

    def maybe_before(self, digest: bytes) -> bool:
        """Whether it may have been seen before; from now on it has."""
        bits, number = self._bits, int.from_bytes(digest[:8], "big")
        first, second = number & self._mask, number >> 32 & self._mask
        first_bit, second_bit = 1 << (first & 7), 1 << (second & 7)
        first, second = first >> 3, second >> 3
        if bits[first] & first_bit and bits[second] & second_bit:
            return True
        bits[first] |= first_bit
        bits[second] |= second_bit
        return False


def rows_of(entries: Iterable[Entry], sightings: Sightings | None) -> list[Row]:
    """Without sightings any of them may be listed by another sitemap."""
    rows = [_row(entry, sightings) for entry in entries]
    once = {row[DIGEST]: row for row in rows}
    return rows if len(once) == len(rows) else list(once.values())


def _row(entry: Entry, sightings: Sightings | None) -> Row:
    url, lastmod, changefreq, priority, images, videos, news, alternates, mobile, _ = entry
    digest = url_digest(url)
    may_repeat = sightings is None or sightings.maybe_before(digest)
    has_more = images or videos or news or alternates or mobile
    extras = _extras(entry) if has_more else None
    return url, digest, lastmod, changefreq, priority, extras, may_repeat


def _extras(entry: Entry) -> str:
    """What the extensions say, as JSON."""
    given = {name: value for name in EXTENSIONS if (value := getattr(entry, name))}
    return json.dumps(given, default=str)
