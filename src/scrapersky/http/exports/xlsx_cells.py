"""A value as the cell of a sheet."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from xml.sax.saxutils import escape

from scrapersky.http.exports.columns import Column, Counts, Kind, Row
from scrapersky.http.exports.values import as_text, looks_like_formula
from scrapersky.http.exports.xlsx_parts import DATE, HEADING, MOMENT, NO_FORMULA

MAX_CELL_CHARACTERS = 32_767
"""Excel's limit, counted in UTF-16 as Excel does."""
MAX_EXACT_INTEGER = 10**15
"""Excel keeps fifteen digits; longer numbers are written as text, so that none is lost."""

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LINE_ENDS = re.compile("\r\n?")
_ESCAPE_ALIKE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_FIRST_DAY = datetime(1899, 12, 30, tzinfo=UTC)
_FIRST_SAFE_YEAR = 1901
"""Excel believes in a 29 February 1900."""
_SECONDS_OF_DAY = 86_400
_TIMES = frozenset((Kind.moment, Kind.date))


class RowWriter:
    """Writes rows as XML, and counts the texts it had to cut."""

    def __init__(self, columns: Sequence[Column], counts: Counts) -> None:
        self._columns = [(_letters(place), each.kind) for place, each in enumerate(columns)]
        self._headings = [each.heading for each in columns]
        self._counts = counts

    def headings(self) -> str:
        cells = (
            self._text(f"{letters}1", heading, HEADING)
            for (letters, _), heading in zip(self._columns, self._headings, strict=True)
        )
        return f'<row r="1">{"".join(cells)}</row>'

    def row(self, row: Row, number: int) -> str:
        cells = [
            self._cell(f"{letters}{number}", value, kind)
            for value, (letters, kind) in zip(row, self._columns, strict=True)
            if value is not None
        ]
        return f'<row r="{number}">{"".join(cells)}</row>'

    def _cell(self, place: str, value: object, kind: Kind) -> str:
        if isinstance(value, str) and kind not in _TIMES:
            return self._text(place, value)
        if isinstance(value, bool):
            return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
        if isinstance(value, (int, float, Decimal)):
            return self._number(place, value)
        moment = _time(value, kind)
        if moment is not None and moment.year >= _FIRST_SAFE_YEAR:
            style = MOMENT if isinstance(moment, datetime) else DATE
            return f'<c r="{place}" s="{style}"><v>{_serial(moment)}</v></c>'
        return self._text(place, as_text(value))

    def _number(self, place: str, value: int | float | Decimal) -> str:
        if not math.isfinite(value):
            return ""
        if isinstance(value, int) and abs(value) >= MAX_EXACT_INTEGER:
            return self._text(place, str(value))
        return f'<c r="{place}"><v>{value}</v></c>'

    def _text(self, place: str, text: str, style: int = 0) -> str:
        """An inline string: no program computes it, whatever it starts with.

        What looks like a formula is marked as quoted too, so that it stays a text when somebody
        edits the cell.
        """
        if not style and looks_like_formula(text):
            style = NO_FORMULA
        text = self._cut(_cleaned(text))
        space = ' xml:space="preserve"' if text != text.strip() or "\n" in text else ""
        styled = f' s="{style}"' if style else ""
        return f'<c r="{place}"{styled} t="inlineStr"><is><t{space}>{escape(text)}</t></is></c>'

    def _cut(self, text: str) -> str:
        if len(text) <= MAX_CELL_CHARACTERS // 2:
            return text
        units = text.encode("utf-16-le")
        if len(units) <= MAX_CELL_CHARACTERS * 2:
            return text
        self._counts.cut_cells += 1
        return units[: MAX_CELL_CHARACTERS * 2].decode("utf-16-le", "ignore")


def _cleaned(text: str) -> str:
    """Without what XML forbids, and without what Excel would decode."""
    if not text.isprintable():
        text = _LINE_ENDS.sub("\n", _ILLEGAL.sub("", text))
    return _ESCAPE_ALIKE.sub("_x005F_", text) if "_x" in text else text


def _letters(place: int) -> str:
    """0 → A, 25 → Z, 26 → AA."""
    letters = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def _time(value: object, kind: Kind) -> datetime | date | None:
    """The value as a time; in a column of times, a text in ISO 8601 is one as well."""
    if isinstance(value, date):
        return value
    if not isinstance(value, str) or kind not in _TIMES:
        return None
    try:
        return datetime.fromisoformat(value) if kind is Kind.moment else date.fromisoformat(value)
    except ValueError:
        return None


def _serial(value: datetime | date) -> str:
    """Days since the end of 1899, as Excel counts; it knows no zones, so times are in UTC."""
    if not isinstance(value, datetime):
        return str((value - _FIRST_DAY.date()).days)
    moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    since = moment - _FIRST_DAY
    seconds = since.seconds + since.microseconds / 1_000_000
    return f"{since.days + seconds / _SECONDS_OF_DAY:.11f}"
