"""Read a whole window of records that are all alike at once, or not at all.

The pattern takes either a record or a stray `<`. A row for a stray one has no tail, so reading
rows without stumbling proves that not one `<` of the window lies outside of a record: nothing
was skipped, commented out or hidden in CDATA.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Generic, TypeVar

from scrapersky.scraper.dates import parse_lastmod
from scrapersky.scraper.sitemap_parser.rows import Rest, Row, Rows
from scrapersky.scraper.sitemap_parser.shapes import GAP, OPEN_TEXT, TEXT, Shape
from scrapersky.scraper.sitemap_parser.values import (
    MAX_LOC_CHARACTERS,
    PLAIN_ORIGIN,
    Values,
    changefreq_of,
    priority_of,
)

Value = TypeVar("Value")
MAX_REMEMBERED = 4_096

# Characters of a URL that needs no cleaning; references and other scripts are looked at one
# by one. The first is the faster of the two.
_ASCII = r"[!-;=?-\[\]-~]"
_ANY_SCRIPT = r"[^<\x00-\x20\\\x7f-\xa0]"
_ZONED = re.compile(r"\d{4}-\d\d-\d\d.\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)\Z")


class Unfit(Exception):
    """The window is not as plain as it looked."""


class _Remembered(dict[str, Value], Generic[Value]):
    """Texts that were read before, with their values."""

    def __init__(self, read: Callable[[str], Value]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> Value:
        if len(self) >= MAX_REMEMBERED:
            self.clear()
        value = self[text] = self._read(text)
        return value


class Template:
    """Reads windows in which every record has the one plain shape, and only good values."""

    def __init__(
        self, shape: Shape, texts: tuple[str, ...], values: Values, *, is_ascii: bool
    ) -> None:
        origin = PLAIN_ORIGIN.match(texts[0])
        has_usual_order = shape.fields[0] == "loc" and "lastmod" not in shape.fields[2:]
        if not shape.is_plain or not has_usual_order or origin is None:
            raise Unfit
        self._values = values
        self._is_sitemap = shape.is_sitemap
        self._origin = origin[0]
        has_lastmod = shape.fields[1:2] == ("lastmod",)
        date, self._moment = self._date(texts[1]) if has_lastmod else ("()", _no_date)
        head, tail = shape.split_behind(2 if has_lastmod else 1)
        groups = iter((self._loc_pattern(is_ascii) + ("" if has_lastmod else date), date))
        start = "".join(next(groups) if part == TEXT else part for part in head)
        rest = "".join(OPEN_TEXT if part == TEXT else part for part in tail)
        self._pattern = re.compile(f"<(?:{start.removeprefix('<')}({rest}){GAP}|)")
        self._tail_fields = shape.fields[2 if has_lastmod else 1 :]
        self._tail = re.compile("".join(tail))
        self._tails = _Remembered(self._read_tail)

    def _loc_pattern(self, is_ascii: bool) -> str:
        most = MAX_LOC_CHARACTERS - len(self._origin) - 1
        character = _ASCII if is_ascii else _ANY_SCRIPT
        return f"({re.escape(self._origin)}/{character}{{0,{most}}}+)"

    def _date(self, sample: str) -> tuple[str, Callable[[str], datetime | None]]:
        """A pattern for dates like the sample, and the fastest way to read them right."""
        if not _ZONED.match(sample):
            return r"([^<]*+)", _Remembered(self._read_date).__getitem__
        # Dashes where a date has them and a zone at the end: `fromisoformat` takes nothing of
        # that form which `parse_lastmod` would not.
        between = len(sample) - len("2024-05-" + ("Z" if sample[-1] == "Z" else "+00:00"))
        zone = "Z" if sample[-1] == "Z" else r"[+\-][^<]{2}:[^<]{2}"
        return rf"([^<]{{4}}-[^<]{{2}}-[^<]{{{between}}}{zone})", datetime.fromisoformat

    def read(self, text: str) -> Rows:
        """All records of the text; `Unfit`, without a trace, when there is anything else in it."""
        found = self._pattern.findall(text)
        moment, tails = self._moment, self._tails
        try:
            if text.isascii() and "&" not in text:
                rows: list[Row] = [(loc, moment(date), tails[tail]) for loc, date, tail in found]
            else:
                address = self._address
                rows = [
                    (
                        loc if loc.isascii() and "&" not in loc else address(loc),
                        moment(date),
                        tails[tail],
                    )
                    for loc, date, tail in found
                ]
        except ValueError as error:
            raise Unfit from error
        return Rows(rows, is_sitemap=self._is_sitemap, origin=self._origin)

    def _address(self, raw: str) -> str:
        url = self._values.address(self._values.text(raw))
        if url is None:
            raise Unfit
        return url

    def _read_date(self, raw: str) -> datetime | None:
        text = self._values.text(raw)
        moment = parse_lastmod(text)
        if text and moment is None:
            raise Unfit
        return moment

    def _read_tail(self, tail: str) -> Rest:
        """`<changefreq>daily</changefreq><priority>0.5</priority></url>` → daily, 0.5."""
        match = self._tail.fullmatch(tail)
        if match is None:
            raise Unfit
        texts = dict(zip(self._tail_fields, map(self._values.text, match.groups()), strict=True))
        changefreq = changefreq_of(texts.get("changefreq", ""))
        priority = priority_of(texts.get("priority", ""))
        if texts.get("changefreq") and changefreq is None:
            raise Unfit
        if texts.get("priority") and priority is None:
            raise Unfit
        return changefreq, priority, (), (), None, (), False, self._is_sitemap


def _no_date(_: str) -> None:
    return None
