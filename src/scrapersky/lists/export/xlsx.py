"""Write rows as XLSX through a temporary file.

A workbook is a ZIP archive that can be put together only when all rows are known, so nothing is
sent before the last row is written.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

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

MAX_CELL_CHARACTERS = 32_767
"""Excel's limit, in UTF-16 code units."""
MAX_EXACT_INTEGER = 10**15
"""Excel keeps 15 digits; longer integers are written as text to keep all digits."""
MAX_SHEET_ROWS = 1_048_576
"""Excel's limit including the heading; further rows go to a new sheet."""
MAX_SHEET_BYTES = 1_500_000_000
"""Below the 2 GiB limit of an entry without ZIP64, which not all programs read."""
MAX_COLUMNS = 16_384
MAX_SHEET_NAME = 31
BYTES_PER_PIECE = 256 * 1024

_FIRST_SAFE_YEAR = 1901
"""Excel treats 1900 as a leap year, so earlier serial numbers are off by one."""
_TIME_KINDS = frozenset((ColumnKind.moment, ColumnKind.date))
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LINE_ENDS = re.compile("\r\n?")
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

    Yields an empty piece for each chunk written to the temporary file, so that the reader can stop
    early, and then the file. Truncated texts are counted in `counts.cut_cells`.
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
    # A thread of its own runs the calls in order. So files are removed only after a call whose
    # await was cancelled, because threads cannot be cancelled.
    thread = ThreadPoolExecutor(1, thread_name_prefix="xlsx")
    run = partial(asyncio.get_running_loop().run_in_executor, thread)
    async with closing(chunks):
        await run(import_module, "xlsxwriter")  # takes long enough to block the event loop
        book = _SpooledWorkbook(columns, name, max_sheet_rows, counts)
        try:
            async for chunk in chunks:
                await run(book.add, chunk)
                del chunk  # or two chunks are in memory while the next one is read
                yield b""
            file = await run(book.finish)
            while piece := await run(file.read, BYTES_PER_PIECE):
                yield piece
        finally:
            removing = run(book.remove)
            thread.shutdown(wait=False)
            await asyncio.shield(removing)


class _SpooledWorkbook:
    """A workbook written row by row to a folder of temporary files."""

    def __init__(
        self,
        columns: Sequence[ExportColumn],
        name: str,
        max_sheet_rows: int,
        counts: ExportCounts,
    ) -> None:
        from xlsxwriter import Workbook  # not at the top: only this format needs it

        self._columns = columns
        self._name = _NOT_IN_SHEET_NAMES.sub(" ", name).strip() or "Export"
        self._max_sheet_rows = max_sheet_rows
        self._counts = counts
        self._folder = TemporaryDirectory(prefix="scrapersky-xlsx-")
        self._path = Path(self._folder.name, "export.xlsx")
        self._file: BinaryIO | None = None
        # ZIP64 only takes effect for an archive that is larger than 4 GiB.
        options = {"constant_memory": True, "tmpdir": self._folder.name, "use_zip64": True}
        self._book = Workbook(str(self._path), options)
        self._heading_style = self._book.add_format({"bold": True})
        self._quoted_style = self._book.add_format({"quote_prefix": True})
        self._datetime_style = self._book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self._date_style = self._book.add_format({"num_format": "yyyy-mm-dd"})
        self._start_sheet()

    def add(self, chunk: Sequence[ExportRow]) -> None:
        for rows in split_rows(chunk):
            if self._sheet.row_data_fh.tell() >= MAX_SHEET_BYTES:
                self._start_sheet()
            for row in rows:
                if self._row == self._max_sheet_rows:
                    self._start_sheet()
                for place, (value, column) in enumerate(zip(row, self._columns, strict=True)):
                    if value is not None:
                        self._write_cell(place, value, column.kind)
                self._row += 1
            self._counts.rows += len(rows)

    def finish(self) -> BinaryIO:
        """Put the archive together and open it for reading."""
        self._book.close()
        self._file = self._path.open("rb")
        return self._file

    def remove(self) -> None:
        for sheet in self._book.worksheets():
            sheet.row_data_fh.close()
        if self._file is not None:
            self._file.close()
        self._folder.cleanup()

    def _start_sheet(self) -> None:
        """Add `Contacts`, `Contacts 2`, … within Excel's naming rules."""
        self._counts.sheets += 1
        end = f" {self._counts.sheets}" if self._counts.sheets > 1 else ""
        self._sheet: Any = self._book.add_worksheet(self._name[: MAX_SHEET_NAME - len(end)] + end)
        self._sheet.freeze_panes(1, 0)
        self._row = 0
        for place, column in enumerate(self._columns):
            self._write_text(place, column.heading, self._heading_style)
        self._row = 1

    def _write_cell(self, place: int, value: object, kind: ColumnKind) -> None:
        if isinstance(value, str) and kind not in _TIME_KINDS:
            self._write_text(place, value)
        elif isinstance(value, bool):
            self._sheet.write_boolean(self._row, place, value)
        elif isinstance(value, (int, float, Decimal)):
            self._write_number(place, value)
        elif (time := _parse_time(value, kind)) is not None:
            style = self._datetime_style if isinstance(time, datetime) else self._date_style
            self._sheet.write_datetime(self._row, place, time, style)
        else:
            self._write_text(place, to_text(value))

    def _write_number(self, place: int, value: int | float | Decimal) -> None:
        if isinstance(value, int) and abs(value) >= MAX_EXACT_INTEGER:
            self._write_text(place, str(value))
        elif math.isfinite(value):
            self._sheet.write_number(self._row, place, value)

    def _write_text(self, place: int, text: str, style: Any = None) -> None:
        """Write an inline string, which no program evaluates, whatever it starts with.

        Text that looks like a formula also gets the quote-prefix style, so that it stays text when
        a user edits the cell.
        """
        if style is None and looks_like_formula(text):
            style = self._quoted_style
        if not text.isprintable():
            text = _LINE_ENDS.sub("\n", _ILLEGAL.sub("", text))
        if text.startswith("<r>"):
            self._write_markup(place, text)
        elif self._sheet.write_string(self._row, place, text, style):
            self._counts.cut_cells += 1

    def _write_markup(self, place: int, text: str) -> None:
        """Write text that XlsxWriter would take for its own rich-text markup and not escape.

        In constant_memory mode that is any `<r>…</r>`. Fragments of a rich string are escaped, so
        the text is split into some.
        """
        units = text.encode("utf-16-le")
        if len(units) > MAX_CELL_CHARACTERS * 2:
            text = units[: MAX_CELL_CHARACTERS * 2].decode("utf-16-le", "ignore")
            self._counts.cut_cells += 1
        self._sheet.write_rich_string(self._row, place, text[0], text[1], text[2:])


def _parse_time(value: object, kind: ColumnKind) -> datetime | date | None:
    """Return the value as a time in UTC without a zone, or None if Excel cannot represent it.

    ISO 8601 text counts in time columns only.
    """
    try:
        if isinstance(value, str):
            parse = datetime if kind is ColumnKind.moment else date
            value = parse.fromisoformat(value)
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return value if isinstance(value, date) and value.year >= _FIRST_SAFE_YEAR else None
