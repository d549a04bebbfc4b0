"""Read CSV files: detect encoding, delimiter and the column to import."""

from __future__ import annotations

import codecs
import csv
import io
import re
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Any, BinaryIO

from scrapersky.errors import InvalidInput
from scrapersky.plurals import pluralise

DELIMITERS = (",", ";", "\t", "|")
NO_DELIMITER = "\x1f"
"""For one-column files: a URL may contain any of the real delimiters."""
SAMPLE_LINES = 30
MAX_CELLS_CHECKED = 1_000
MIN_EQUAL_LENGTH_SHARE = 0.6
"""Share of rows that must have the same length to accept a delimiter: some URLs contain commas."""
MAX_EMPTY_ROWS = 1_048_576
"""The rows of a full Excel sheet: some programs save all of them."""
MAX_LINES_PER_ROW = 50
"""A quoted cell with more lines is treated as unclosed, so that it cannot swallow the rest of the
file.
"""
MAX_LINE_CHARACTERS = 1024 * 1024
BLANK_LINES = ("\n", "\r\n", "\r")
EMPTY_FILE = "The file is empty."
UNCLOSED_QUOTE = "The row has an opening quotation mark that is never closed."
_DECLARED_DELIMITER = re.compile(r"sep=(.)\s*\Z")
"""Optional first line, written and read by some spreadsheets."""


@dataclass(frozen=True)
class CsvRecord:
    line: int
    """Line number of its start, from 1."""
    cells: Sequence[str]
    error: str | None = None

    @property
    def is_empty(self) -> bool:
        return not any(each.strip() for each in self.cells)


def parse_records(text: io.TextIOBase, is_name: Callable[[str], bool]) -> Iterator[CsvRecord]:
    """Parse the non-empty records.

    `is_name` recognises column names, which are the best evidence for a delimiter.
    """
    lines = _LineReader(text)
    sample = lines.peek(SAMPLE_LINES)
    said = _DECLARED_DELIMITER.match(sample[0]) if sample else None
    if said:
        lines.skip()
    delimiter = said[1] if said else _detect_delimiter(sample, is_name)
    empty = 0
    for record in _parse_all(lines, delimiter):
        if not record.is_empty:
            yield record
        elif (empty := empty + 1) > MAX_EMPTY_ROWS:
            raise InvalidInput(
                f"The file has more than {MAX_EMPTY_ROWS:,} empty rows. Remove them."
            )


def _parse_all(lines: _LineReader, delimiter: str) -> Iterator[CsvRecord]:
    while not lines.is_exhausted():
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        try:
            for cells in reader:
                yield CsvRecord(lines.get_first_line(), cells)
                lines.taken.clear()
        except _UnclosedQuote:
            yield CsvRecord(lines.get_first_line(), [lines.taken[0].rstrip("\r\n")], UNCLOSED_QUOTE)
            lines.push_back()
        except csv.Error as error:
            cells = [lines.taken[0][:200].rstrip("\r\n")]
            yield CsvRecord(lines.get_first_line(), cells, f"The row is not valid CSV: {error}.")
            lines.taken.clear()


class _UnclosedQuote(Exception):
    """Raised when a quoted cell exceeds `MAX_LINES_PER_ROW` or the file."""


class _LineReader:
    """Line iterator that can push back the lines of a record that could not be parsed."""

    def __init__(self, text: io.TextIOBase) -> None:
        self._text = text
        self._ahead: deque[str] = deque()
        self._number = 0
        self.taken: list[str] = []
        """Lines of the current record."""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._next()
        while not self.taken and line in BLANK_LINES:
            self._number += 1
            line = self._next()
        if self.taken and (not line or len(self.taken) > MAX_LINES_PER_ROW):
            self._ahead.extendleft([line] if line else [])
            raise _UnclosedQuote
        if not line:
            raise StopIteration
        self._number += 1
        self.taken.append(line)
        return line

    def _next(self) -> str:
        return self._ahead.popleft() if self._ahead else self._read()

    def _read(self) -> str:
        return self._text.readline(MAX_LINE_CHARACTERS)

    def peek(self, count: int) -> list[str]:
        """Return the next lines without consuming them."""
        while len(self._ahead) < count and (line := self._read()):
            self._ahead.append(line)
        return list(self._ahead)

    def skip(self) -> None:
        next(self)
        self.taken.clear()

    def get_first_line(self) -> int:
        return self._number - len(self.taken) + 1

    def push_back(self) -> None:
        """Push back all lines of the record but the first."""
        self._ahead.extendleft(reversed(self.taken[1:]))
        self._number -= len(self.taken) - 1
        self.taken.clear()

    def is_exhausted(self) -> bool:
        return not self.peek(1)


def _detect_delimiter(sample: Sequence[str], is_name: Callable[[str], bool]) -> str:
    """Prefer the delimiter that yields a known column name, then the one with equally long rows."""
    judged = [(_score_delimiter(sample, each, is_name), each) for each in DELIMITERS]
    best, delimiter = max(judged, key=lambda each: each[0])
    alone = (is_name(sample[0].strip().strip('"')), MIN_EQUAL_LENGTH_SHARE, 1) if sample else best
    return delimiter if best > alone else NO_DELIMITER


def _score_delimiter(
    sample: Sequence[str], delimiter: str, is_name: Callable[[str], bool]
) -> tuple[bool, float, int]:
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(row for row in csv.reader(sample, delimiter=delimiter) if row)
    lengths = Counter(len(row) for row in rows)
    if not rows or len(rows[0]) < 2:
        return False, 0.0, 0
    length, times = lengths.most_common(1)[0]
    alike = times / len(rows) if length > 1 else 0.0
    return any(map(is_name, rows[0][:MAX_CELLS_CHECKED])), alike, length


SAMPLE_ROWS = 30
MAX_NAMES_LISTED = 20
MAX_COLUMNS_CHECKED = 1_000
"""Bound on hostile input; real tables are narrower."""
MAX_NAME_CHARACTERS = 100
_ADDRESS_LIKE = re.compile(r"(https?://)?[^\s/@:,;]+\.[^\W\d_][\w-]+(:\d+)?([/?#]\S*)?\Z", re.I)
"""Loose URL or host name: enough to tell it from dates, prices or names."""


def normalize_name(name: str) -> str:
    """Normalise a column name for comparison: `Site Web`, `site_web` and `SITE-WEB` are equal."""
    parts = unicodedata.normalize("NFKD", name).casefold()
    return "".join(each for each in parts if each.isalnum())


@dataclass(frozen=True)
class ImportSubject:
    """The kind of thing to import and the usual names of its column."""

    noun: str
    """Singular noun for messages, such as `domain`."""
    column_names: tuple[str, ...]
    """Most specific first: a table may have both a `domain` and a `link`."""

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        return {normalize_name(name): rank for rank, name in enumerate(self.column_names)}

    def is_name(self, cell: str) -> bool:
        return normalize_name(cell[:MAX_NAME_CHARACTERS]) in self.ranks


@dataclass(frozen=True)
class CsvColumn:
    index: int
    name: str | None
    """None if the table has no header."""

    @property
    def label(self) -> str:
        return self.name or f"number {self.index + 1}"


def find_column(
    records: Iterator[CsvRecord], kind: ImportSubject, wanted: str | None
) -> tuple[CsvColumn, Iterator[CsvRecord]]:
    """Return the column to import and the records without the header."""
    sample = list(islice(records, SAMPLE_ROWS))
    if not sample:
        raise InvalidInput(EMPTY_FILE)
    first = sample[0].cells[:MAX_COLUMNS_CHECKED]
    column = _find_requested(first, wanted) if wanted else _find_named(first, kind)
    if column is None:
        return _guess_column(sample, kind), chain(sample, records)
    rows = chain(sample[1:] if column.name else sample, records)
    return column, _require_rows(rows)


def _require_rows(rows: Iterator[CsvRecord]) -> Iterator[CsvRecord]:
    first = next(rows, None)
    if first is None:
        raise InvalidInput("The file has a header but no rows.")
    return chain([first], rows)


def _find_requested(cells: Sequence[str], wanted: str) -> CsvColumn:
    for index, cell in enumerate(cells):
        if normalize_name(cell) == normalize_name(wanted):
            return CsvColumn(index, cell.strip())
    if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(cells):
        return CsvColumn(int(wanted) - 1, None)
    raise InvalidInput(f"There is no column {wanted!r}. The file has {_format_names(cells)}.")


def _find_named(cells: Sequence[str], kind: ImportSubject) -> CsvColumn | None:
    known = [
        (kind.ranks[normalize_name(cell)], index)
        for index, cell in enumerate(cells)
        if kind.is_name(cell)
    ]
    if not known:
        return None
    _, index = min(known)
    return CsvColumn(index, cells[index].strip())


def _guess_column(sample: Sequence[CsvRecord], kind: ImportSubject) -> CsvColumn:
    """Find the column with the most addresses in a file without a known column name.

    A first row with an address is data, not a header. A single column is always the one to import.
    """
    first = sample[0].cells[:MAX_COLUMNS_CHECKED]
    if max(len(each.cells) for each in sample) == 1:
        return CsvColumn(0, None)
    candidates = [index for index, cell in enumerate(first) if _ADDRESS_LIKE.match(cell.strip())]
    if not candidates:
        accepted = ", ".join(kind.column_names)
        raise InvalidInput(
            f"Could not find a column with {pluralise(kind.noun)}. The file has "
            f"{_format_names(first)}. Specify the column, or rename it to one of: {accepted}."
        )
    return CsvColumn(max(candidates, key=lambda index: _count_matches(sample, index)), None)


def _count_matches(sample: Sequence[CsvRecord], index: int) -> int:
    cells = (each.cells[index].strip() for each in sample if len(each.cells) > index)
    return sum(_ADDRESS_LIKE.match(each) is not None for each in cells)


def _format_names(cells: Sequence[str]) -> str:
    names = ", ".join(repr(each.strip()[:60]) for each in cells[:MAX_NAMES_LISTED])
    more = f" and {len(cells) - MAX_NAMES_LISTED} more" if len(cells) > MAX_NAMES_LISTED else ""
    return f"the column {names}" if len(cells) == 1 else f"the columns {names}{more}"


SNIFFED_BYTES = 4_096
BLANK_BYTES = b"\r\n\t \x00" + codecs.BOM_UTF8 + codecs.BOM_UTF16_LE
MAX_CONTROL_SHARE = 0.1
"""Share of control characters in the sniffed text: a stray NUL spoils one row, a tenth means
binary.
"""
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Longest first: the UTF-32-LE mark starts with the UTF-16-LE mark."""
BINARY_SIGNATURES: Mapping[bytes, str] = {
    b"PK\x03\x04": "an Excel workbook or another ZIP archive; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the table as CSV",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"%PDF": "a PDF document",
    b"\x1f\x8b": "compressed; unpack it",
}
CP1252_FALLBACK = "scrapersky-as-windows"


def _decode_cp1252(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are not UTF-8 as Windows-1252, which spreadsheets on Windows write."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(_decode_cp1252_byte(each) for each in bad), error.end


def _decode_cp1252_byte(byte: int) -> str:
    single = bytes([byte])
    try:
        return single.decode("cp1252")
    except UnicodeDecodeError:
        return single.decode("latin-1")


codecs.register_error(CP1252_FALLBACK, _decode_cp1252)


def open_text(file: BinaryIO) -> io.TextIOBase:
    """Open a file as text, decoded lazily and with its line ends unchanged.

    Raises `InvalidInput` for an empty file or a binary format, naming the format.
    """
    beginning = file.read(SNIFFED_BYTES)
    if not beginning.strip(BLANK_BYTES) and len(beginning) < SNIFFED_BYTES:
        raise InvalidInput(EMPTY_FILE)
    for mark, what in BINARY_SIGNATURES.items():
        if beginning.startswith(mark):
            raise InvalidInput(f"The file is not CSV: it is {what}.")
    encoding = _detect_encoding(beginning)
    _refuse_binary(beginning, encoding)
    joined: Any = _PrefixedReader(beginning, file)
    whole = io.BufferedReader(joined, 64 * 1024)
    errors = CP1252_FALLBACK if encoding.startswith("utf-8") else "replace"
    return io.TextIOWrapper(whole, encoding=encoding, errors=errors, newline="")


def _detect_encoding(beginning: bytes) -> str:
    for mark, encoding in BYTE_ORDER_MARKS:
        if beginning.startswith(mark):
            return encoding
    even, odd = beginning[0::2].count(0), beginning[1::2].count(0)
    half = len(beginning) // 2
    if odd > 0.4 * half and not even:
        return "utf-16-le"
    if even > 0.4 * half and not odd:
        return "utf-16-be"
    return "utf-8"


def _refuse_binary(beginning: bytes, encoding: str) -> None:
    text = beginning.decode(encoding, "replace")
    controls = sum(each < " " and each not in "\r\n\t\f\v" for each in text)
    if controls > MAX_CONTROL_SHARE * len(text):
        raise InvalidInput("The file is not text. Save the table as CSV and import that file.")


class _PrefixedReader(io.RawIOBase):
    """The bytes read for sniffing, followed by the rest of the file."""

    def __init__(self, beginning: bytes, rest: BinaryIO) -> None:
        self._beginning = beginning
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        if self._beginning:
            part, self._beginning = self._beginning[: len(buffer)], self._beginning[len(buffer) :]
        else:
            part = self._rest.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)
