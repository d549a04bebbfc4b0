"""Stream rows as XLSX without temporary files."""

from __future__ import annotations

import math
import re
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile

from scrapersky.errors import InvalidInput
from scrapersky.lists.export.columns import (
    ColumnKind,
    ExportColumn,
    ExportCounts,
    ExportRow,
    RowChunks,
    closing,
    looks_like_formula,
    split_rows,
    to_text,
)
from scrapersky.lists.export.writers import StreamBuffer

HEADING_STYLE, DATETIME_STYLE, DATE_STYLE, QUOTED_STYLE = 1, 2, 3, 4
"""Indexes into the `cellXfs` of `STYLES`; 0 is the default style."""

_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"

CONTENT_TYPES = (
    f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels"'
    ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Default Extension="xml" ContentType="{_TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>'
    "</Types>"
)
"""Written first, before the number of sheets is final: so any other XML part is declared a sheet.
"""

RELATIONS = (
    f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
    "</Relationships>"
)

STYLES = (
    f'{_XML}<styleSheet xmlns="{_MAIN}">'
    '<numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>'
    '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd"/></numFmts>'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="5"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>'
    '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
    "</styleSheet>"
)

SHEET_START = (
    f'{_XML}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'
    "</sheetView></sheetViews><sheetData>"
)
SHEET_END = "</sheetData></worksheet>"


def build_workbook(names: Sequence[str]) -> str:
    sheets = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{place}" r:id="rId{place}"/>'
        for place, name in enumerate(names, 1)
    )
    return (
        f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{sheets}</sheets></workbook>'
    )


def build_workbook_relations(count: int) -> str:
    sheets = "".join(
        f'<Relationship Id="rId{place}" Type="{_OFFICE}/worksheet"'
        f' Target="worksheets/sheet{place}.xml"/>'
        for place in range(1, count + 1)
    )
    styles = f'<Relationship Id="rId{count + 1}" Type="{_OFFICE}/styles" Target="styles.xml"/>'
    return f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{sheets}{styles}</Relationships>'


MAX_CELL_CHARACTERS = 32_767
"""Excel's limit, in UTF-16 code units."""
MAX_EXACT_INTEGER = 10**15
"""Excel keeps 15 digits; longer integers are written as text to keep all digits."""

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LINE_ENDS = re.compile("\r\n?")
_ESCAPE_LIKE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_FIRST_DAY = datetime(1899, 12, 30, tzinfo=UTC)
_FIRST_SAFE_YEAR = 1901
"""Excel treats 1900 as a leap year, so earlier serial numbers are off by one."""
_SECONDS_OF_DAY = 86_400
_TIME_KINDS = frozenset((ColumnKind.moment, ColumnKind.date))


class SheetRowWriter:
    """Writes rows as sheet XML and counts truncated texts."""

    def __init__(self, columns: Sequence[ExportColumn], counts: ExportCounts) -> None:
        self._columns = [
            (_get_column_letters(place), each.kind) for place, each in enumerate(columns)
        ]
        self._headings = [each.heading for each in columns]
        self._counts = counts

    def headings(self) -> str:
        cells = (
            self._text(f"{letters}1", heading, HEADING_STYLE)
            for (letters, _), heading in zip(self._columns, self._headings, strict=True)
        )
        return f'<row r="1">{"".join(cells)}</row>'

    def row(self, row: ExportRow, number: int) -> str:
        cells = [
            self._cell(f"{letters}{number}", value, kind)
            for value, (letters, kind) in zip(row, self._columns, strict=True)
            if value is not None
        ]
        return f'<row r="{number}">{"".join(cells)}</row>'

    def _cell(self, place: str, value: object, kind: ColumnKind) -> str:
        if isinstance(value, str) and kind not in _TIME_KINDS:
            return self._text(place, value)
        if isinstance(value, bool):
            return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
        if isinstance(value, (int, float, Decimal)):
            return self._number(place, value)
        moment = _parse_time(value, kind)
        if moment is not None and moment.year >= _FIRST_SAFE_YEAR:
            style = DATETIME_STYLE if isinstance(moment, datetime) else DATE_STYLE
            return f'<c r="{place}" s="{style}"><v>{_to_serial(moment)}</v></c>'
        return self._text(place, to_text(value))

    def _number(self, place: str, value: int | float | Decimal) -> str:
        if not math.isfinite(value):
            return ""
        if isinstance(value, int) and abs(value) >= MAX_EXACT_INTEGER:
            return self._text(place, str(value))
        return f'<c r="{place}"><v>{value}</v></c>'

    def _text(self, place: str, text: str, style: int = 0) -> str:
        """Write an inline string, which no program evaluates, whatever it starts with.

        Text that looks like a formula also gets the quote-prefix style, so that it stays text when
        a user edits the cell.
        """
        if not style and looks_like_formula(text):
            style = QUOTED_STYLE
        text = self._truncate(_clean_text(text))
        space = ' xml:space="preserve"' if text != text.strip() or "\n" in text else ""
        styled = f' s="{style}"' if style else ""
        return f'<c r="{place}"{styled} t="inlineStr"><is><t{space}>{escape(text)}</t></is></c>'

    def _truncate(self, text: str) -> str:
        if len(text) <= MAX_CELL_CHARACTERS // 2:
            return text
        units = text.encode("utf-16-le")
        if len(units) <= MAX_CELL_CHARACTERS * 2:
            return text
        self._counts.cut_cells += 1
        return units[: MAX_CELL_CHARACTERS * 2].decode("utf-16-le", "ignore")


def _clean_text(text: str) -> str:
    """Remove characters that XML forbids and escape `_xHHHH_`, which Excel would decode."""
    if not text.isprintable():
        text = _LINE_ENDS.sub("\n", _ILLEGAL.sub("", text))
    return _ESCAPE_LIKE.sub("_x005F_", text) if "_x" in text else text


def _get_column_letters(place: int) -> str:
    """0 → A, 25 → Z, 26 → AA."""
    letters = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def _parse_time(value: object, kind: ColumnKind) -> datetime | date | None:
    """Return the value as a time, or None. ISO 8601 text counts in time columns only."""
    if isinstance(value, date):
        return value
    if not isinstance(value, str) or kind not in _TIME_KINDS:
        return None
    try:
        return (
            datetime.fromisoformat(value)
            if kind is ColumnKind.moment
            else date.fromisoformat(value)
        )
    except ValueError:
        return None


def _to_serial(value: datetime | date) -> str:
    """Convert to an Excel serial number: days since 1899-12-30, in UTC because Excel has no time
    zones.
    """
    if not isinstance(value, datetime):
        return str((value - _FIRST_DAY.date()).days)
    moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    since = moment - _FIRST_DAY
    seconds = since.seconds + since.microseconds / 1_000_000
    return f"{since.days + seconds / _SECONDS_OF_DAY:.11f}"


MAX_SHEET_ROWS = 1_048_576
"""Excel's limit including the heading; further rows go to a new sheet."""
MAX_SHEET_BYTES = 1_500_000_000
"""Below the 2 GiB limit of an entry without ZIP64, which not all programs read."""
MAX_COLUMNS = 16_384
MAX_SHEET_NAME = 31
COMPRESSION_LEVEL = 4
"""Nearly the best compression in half the time."""

_NOT_IN_SHEET_NAMES = re.compile(r"[\[\]:*?/\\\x00-\x1f]|^'|'$")


def write_xlsx(
    chunks: RowChunks,
    columns: Sequence[ExportColumn],
    *,
    sheet_name: str = "Export",
    max_sheet_rows: int = MAX_SHEET_ROWS,
    counts: ExportCounts | None = None,
) -> AsyncGenerator[bytes, None]:
    """Write XLSX. Times are in UTC, because sheets have no time zones.

    Truncated texts are counted in `counts.cut_cells`.
    """
    if len(columns) > MAX_COLUMNS:
        raise InvalidInput(f"XLSX allows at most {MAX_COLUMNS:,} columns. Select fewer columns.")
    return _write_chunks(chunks, columns, sheet_name, max_sheet_rows, counts or ExportCounts())


async def _write_chunks(
    chunks: RowChunks,
    columns: Sequence[ExportColumn],
    name: str,
    max_sheet_rows: int,
    counts: ExportCounts,
) -> AsyncGenerator[bytes, None]:
    async with closing(chunks):
        book = _Workbook(columns, max_sheet_rows, counts)
        try:
            async for chunk in chunks:
                for rows in split_rows(chunk):
                    book.add(rows)
                    yield book.take()
        finally:
            # Also on early exit: a ZipFile with an open entry raises when it is garbage-collected.
            book.finish(_build_sheet_names(name, counts.sheets))
        yield book.take()


class _Workbook:
    """An append-only archive: the sheets first, the workbook part that lists them last."""

    def __init__(
        self, columns: Sequence[ExportColumn], max_sheet_rows: int, counts: ExportCounts
    ) -> None:
        self._sink = StreamBuffer()
        self._writer = SheetRowWriter(columns, counts)
        self._max_sheet_rows = max_sheet_rows
        self._counts = counts
        self._archive = ZipFile(self._sink, "w", ZIP_DEFLATED, compresslevel=COMPRESSION_LEVEL)
        self._archive.writestr("[Content_Types].xml", CONTENT_TYPES)
        self._archive.writestr("_rels/.rels", RELATIONS)
        self._archive.writestr("xl/styles.xml", STYLES)
        self._start_sheet()

    def add(self, rows: Sequence[ExportRow]) -> None:
        while rows:
            if self._rows >= self._max_sheet_rows or self._bytes >= MAX_SHEET_BYTES:
                self._end_sheet()
                self._start_sheet()
            fitting = rows[: self._max_sheet_rows - self._rows]
            self._write("".join(map(self._writer.row, fitting, count(self._rows + 1))))
            self._rows += len(fitting)
            self._counts.rows += len(fitting)
            rows = rows[len(fitting) :]

    def take(self) -> bytes:
        return self._sink.take()

    def finish(self, names: Sequence[str]) -> None:
        self._end_sheet()
        self._archive.writestr("xl/workbook.xml", build_workbook(names))
        relations = build_workbook_relations(len(names))
        self._archive.writestr("xl/_rels/workbook.xml.rels", relations)
        self._archive.close()

    def _start_sheet(self) -> None:
        self._counts.sheets += 1
        self._sheet = self._archive.open(f"xl/worksheets/sheet{self._counts.sheets}.xml", "w")
        self._bytes = 0
        self._rows = 1
        self._write(SHEET_START + self._writer.headings())

    def _end_sheet(self) -> None:
        self._write(SHEET_END)
        self._sheet.close()

    def _write(self, text: str) -> None:
        data = text.encode()
        self._bytes += len(data)
        self._sheet.write(data)


def _build_sheet_names(name: str, how_many: int) -> list[str]:
    """Return `Contacts`, `Contacts 2`, … within Excel's naming rules."""
    name = _NOT_IN_SHEET_NAMES.sub(" ", name).strip() or "Export"
    ends = ("", *(f" {place}" for place in range(2, how_many + 1)))
    return [name[: MAX_SHEET_NAME - len(end)] + end for end in ends]
