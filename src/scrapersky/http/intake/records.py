"""From the text of a list to its rows: any usual delimiter, quotes, line ends inside of quotes."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from scrapersky.errors import InvalidInput

DELIMITERS = (",", ";", "\t", "|")
NO_DELIMITER = "\x1f"
"""Where a row is one cell: an address may have any of the others in it."""
SAMPLE_LINES = 30
MOST_CELLS_JUDGED = 1_000
MOST_ALIKE = 0.6
"""So many rows must be of one length for a delimiter to be one: some addresses have commas."""
MOST_EMPTY_ROWS = 1_048_576
"""All of a sheet's, as some programs save them."""
MOST_LINES_OF_A_ROW = 50
"""A quoted cell with more of them was never closed; it must not swallow the rest of the file."""
MOST_CHARACTERS_OF_A_LINE = 1024 * 1024
BLANK = ("\n", "\r\n", "\r")
NEVER_CLOSED = "A quotation mark opens here and is never closed."
_SAID_DELIMITER = re.compile(r"sep=(.)\s*\Z")
"""The first line that some spreadsheets write and read."""


@dataclass(frozen=True)
class Record:
    line: int
    """Where it begins, counted from 1."""
    cells: Sequence[str]
    error: str | None = None

    @property
    def is_empty(self) -> bool:
        return not any(each.strip() for each in self.cells)


def records_of(text: io.TextIOBase, is_name: Callable[[str], bool]) -> Iterator[Record]:
    """`is_name` knows the names of columns, which tell the delimiter best."""
    lines = _Lines(text)
    sample = lines.first(SAMPLE_LINES)
    said = _SAID_DELIMITER.match(sample[0]) if sample else None
    if said:
        lines.skip()
    delimiter = said[1] if said else _delimiter_of(sample, is_name)
    empty = 0
    for record in _all(lines, delimiter):
        if not record.is_empty:
            yield record
        elif (empty := empty + 1) > MOST_EMPTY_ROWS:
            raise InvalidInput(f"The file has more than {MOST_EMPTY_ROWS:,} empty rows.")


def _all(lines: _Lines, delimiter: str) -> Iterator[Record]:
    while not lines.at_end():
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        try:
            for cells in reader:
                yield Record(lines.begin(), cells)
                lines.taken.clear()
        except _Runaway:
            yield Record(lines.begin(), [lines.taken[0].rstrip("\r\n")], NEVER_CLOSED)
            lines.give_back()
        except csv.Error as error:
            cells = [lines.taken[0][:200].rstrip("\r\n")]
            yield Record(lines.begin(), cells, f"The row cannot be read: {error}.")
            lines.taken.clear()


class _Runaway(Exception):
    """A row that goes on and on."""


class _Lines:
    """Lines one by one, of which those of a row that came to nothing can be given back."""

    def __init__(self, text: io.TextIOBase) -> None:
        self._text = text
        self._ahead: deque[str] = deque()
        self._number = 0
        self.taken: list[str] = []
        """Those of the row that is being read."""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._next()
        while not self.taken and line in BLANK:
            self._number += 1
            line = self._next()
        if self.taken and (not line or len(self.taken) > MOST_LINES_OF_A_ROW):
            self._ahead.extendleft([line] if line else [])
            raise _Runaway
        if not line:
            raise StopIteration
        self._number += 1
        self.taken.append(line)
        return line

    def _next(self) -> str:
        return self._ahead.popleft() if self._ahead else self._read()

    def _read(self) -> str:
        return self._text.readline(MOST_CHARACTERS_OF_A_LINE)

    def first(self, count: int) -> list[str]:
        """A look at the first lines, which stay."""
        while len(self._ahead) < count and (line := self._read()):
            self._ahead.append(line)
        return list(self._ahead)

    def skip(self) -> None:
        next(self)
        self.taken.clear()

    def begin(self) -> int:
        return self._number - len(self.taken) + 1

    def give_back(self) -> None:
        """All but the first line of the row."""
        self._ahead.extendleft(reversed(self.taken[1:]))
        self._number -= len(self.taken) - 1
        self.taken.clear()

    def at_end(self) -> bool:
        return not self.first(1)


def _delimiter_of(sample: Sequence[str], is_name: Callable[[str], bool]) -> str:
    """The one that yields a known column's name, else the one that makes rows of one length."""
    judged = [(_judge(sample, each, is_name), each) for each in DELIMITERS]
    best, delimiter = max(judged, key=lambda each: each[0])
    alone = (is_name(sample[0].strip().strip('"')), MOST_ALIKE, 1) if sample else best
    return delimiter if best > alone else NO_DELIMITER


def _judge(
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
    return any(map(is_name, rows[0][:MOST_CELLS_JUDGED])), alike, length
