"""Read a whole window of records that are all alike at once, or not at all.

The window is split at what stands between one `loc` and the next. Each of the texts in between is
proven to be the rest of one record and the beginning of another, and no `loc` has a `<` in it, so
nothing was skipped, commented out or hidden in CDATA.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from scrapersky.scraper.dates import parse_lastmod
from scrapersky.scraper.sitemap_parser.rows import Rest, Rows
from scrapersky.scraper.sitemap_parser.shapes import Shape
from scrapersky.scraper.sitemap_parser.values import (
    MAX_LOC_CHARACTERS,
    PLAIN_ORIGIN,
    Remembered,
    Values,
    changefreq_of,
    priority_of,
)

MAX_TAGS_CHARACTERS = 1_000
"""Tags of a record with the blanks between them; over more than that it is too far to jump."""
_TEXT = "[^<]*+"
_TAG = re.compile("<[^>]*>")
_PLAIN = bytes(code for code in range(0x21, 0x7F) if chr(code) not in "<\\")
"""Characters of a URL that needs no cleaning, unless a reference is among them."""
_ZONED = re.compile(
    r"[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6}|)(Z|[+-]\d\d:[0-5]\d)\Z", re.ASCII
)


class Unfit(Exception):
    """The window is not as plain as it looked."""


class Template:
    """Reads windows in which every record has the one plain shape, and only good values."""

    def __init__(
        self, shape: Shape, texts: Sequence[str], gap: str, values: Values, *, exact: bool
    ) -> None:
        """For records like one with these texts, a `gap` apart; exact in blanks and dates."""
        origin = PLAIN_ORIGIN.match(texts[0])
        has_usual_order = shape.fields[0] == "loc" and "lastmod" not in shape.fields[2:]
        if not shape.is_plain or not has_usual_order or origin is None:
            raise Unfit
        self._values = values
        self._is_sitemap = shape.is_sitemap
        self._origin = origin[0]
        self._write = _literally if exact else _loosely
        opening, closing, *literals = shape.literals
        self._opening = gap + opening
        self._opens = re.compile(r"\s*+" + self._write(opening))
        self._has_lastmod = shape.fields[1:2] == ("lastmod",)
        if self._has_lastmod:
            date, self._moment = self._date(texts[1] if exact else "")
            separator = f"{self._write(closing)}({date})"
        else:
            tag = closing.index(">") + 1
            separator = re.escape(closing[:tag]) + r"\s*+"
            literals.insert(0, closing[tag:].lstrip())
        literals[-1] += self._opening
        if sum(map(len, literals)) > MAX_TAGS_CHARACTERS:
            raise Unfit
        self._fields = shape.fields[1 + self._has_lastmod :]
        tail = _jumps(literals) if exact else _TEXT.join(map(_loosely, literals))
        self._between = re.compile(f"{separator}({tail})", re.DOTALL)
        self._tail = re.compile(f"({_TEXT})".join(map(self._write, literals)))
        self._rests = Remembered(self._read_tail)

    def _date(self, sample: str) -> tuple[str, Callable[[str], datetime | None]]:
        """A pattern for dates like the sample, and the fastest way to read them right."""
        form = _ZONED.match(sample)
        if form is None:
            return _TEXT, Remembered(self._read_date).__getitem__
        # `fromisoformat` takes nothing of this form which `parse_lastmod` reads differently.
        fraction = rf"\..{{{len(form[1]) - 1}}}" if form[1] else ""
        zone = "Z" if form[2] == "Z" else r"[+\-].{2}:[0-5]."
        return (
            rf"[12].{{3}}-.{{2}}-.{{2}}T.{{2}}:.{{2}}:.{{2}}{fraction}{zone}",
            datetime.fromisoformat,
        )

    def read(self, text: str) -> Rows:
        """All records of the text; `Unfit`, without a trace, when there is anything else in it."""
        parts = self._split(text)
        step = 2 + self._has_lastmod
        locs, origin = self._locs(parts[::step])
        lastmods: list[datetime | None] = [None] * len(locs)
        try:
            if self._has_lastmod:
                lastmods = list(map(self._moment, parts[1::step]))
            rests: list[Rest] = list(map(self._rests.__getitem__, parts[step - 1 :: step]))  # type: ignore[arg-type]
        except ValueError as error:
            raise Unfit from error
        return Rows(locs, lastmods, rests, is_sitemap=self._is_sitemap, origin=origin)

    def _split(self, text: str) -> list[str]:
        """Of each record its loc, its lastmod if it has one, and what lies before the next."""
        parts = self._between.split(text)
        # Behind the last one there is no next, so it has to be given one.
        *last, rest = self._between.split(parts.pop() + self._opening)
        parts += last
        opened = self._opens.match(parts[0]) if parts else None
        if rest or opened is None:
            raise Unfit
        parts[0] = parts[0][opened.end() :]
        return parts

    def _locs(self, raw: list[str]) -> tuple[list[str], str | None]:
        """Clean URLs, and the origin if it is the same for all."""
        start, joined = f"<{self._origin}/", f"<{'<'.join(raw)}"
        if (
            joined.isascii()
            and joined.count(start) == len(raw)
            and joined.encode().translate(None, _PLAIN) == b"<" * len(raw)
            and max(map(len, raw)) <= MAX_LOC_CHARACTERS
        ):
            if "&" not in joined:
                return raw, self._origin
            locs = [self._address(loc) if "&" in loc else loc for loc in raw]
        else:
            locs = [self._address(loc) for loc in raw]
        has_origin = all(loc.startswith(start[1:]) for loc in locs)
        return locs, self._origin if has_origin else None

    def _address(self, raw: str) -> str:
        url = None if "<" in raw else self._values.address_of(raw)
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
        """`</lastmod><changefreq>daily</changefreq></url><url><loc>` → daily, None."""
        match = self._tail.fullmatch(tail)
        if match is None:
            raise Unfit
        texts = dict(zip(self._fields, map(self._values.text, match.groups()), strict=True))
        changefreq = changefreq_of(texts.get("changefreq", ""))
        priority = priority_of(texts.get("priority", ""))
        if texts.get("changefreq") and changefreq is None:
            raise Unfit
        if texts.get("priority") and priority is None:
            raise Unfit
        return changefreq, priority


def _literally(tags: str) -> str:
    return re.escape(tags)


def _loosely(tags: str) -> str:
    """With any blanks between the tags."""
    return r"\s*+".join(map(re.escape, _TAG.findall(tags)))


def _jumps(literals: list[str]) -> str:
    """As far as these reach with a text between each; whether it is them is seen later."""
    return _TEXT.join(f".{{{len(literal)}}}" for literal in literals)
