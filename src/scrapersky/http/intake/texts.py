"""From the bytes of a list to its text, whatever program wrote it."""

from __future__ import annotations

import codecs
import io
from collections.abc import Mapping
from typing import Any, BinaryIO

from scrapersky.errors import InvalidInput

LOOKED_AT_BYTES = 4_096
BLANK = b"\r\n\t \x00" + codecs.BOM_UTF8 + codecs.BOM_UTF16_LE
MOST_CONTROLS = 0.1
"""Of the first characters: a stray NUL is one row's trouble, a tenth of them is no text."""
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""The longer ones first: one of UTF-32 begins like one of UTF-16."""
OTHER_FILES: Mapping[bytes, str] = {
    b"PK\x03\x04": "an Excel workbook or another ZIP archive; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the table as CSV",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"%PDF": "a PDF document",
    b"\x1f\x8b": "compressed; unpack it",
}
AS_WINDOWS = "scrapersky-as-windows"


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are no UTF-8 are what spreadsheets on Windows write: code page 1252."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(_from_windows(each) for each in bad), error.end


def _from_windows(byte: int) -> str:
    single = bytes([byte])
    try:
        return single.decode("cp1252")
    except UnicodeDecodeError:
        return single.decode("latin-1")


codecs.register_error(AS_WINDOWS, _as_windows)


def text_of(file: BinaryIO) -> io.TextIOBase:
    """The text, read as it is needed; line ends are left as they are. `InvalidInput` says what
    the file is, where it is none."""
    beginning = file.read(LOOKED_AT_BYTES)
    if not beginning.strip(BLANK) and len(beginning) < LOOKED_AT_BYTES:
        raise InvalidInput("The file is empty; there is nothing in it to take.")
    for mark, what in OTHER_FILES.items():
        if beginning.startswith(mark):
            raise InvalidInput(f"The file is not a table in text form: it is {what}.")
    encoding = _encoding_of(beginning)
    _refuse_binary(beginning, encoding)
    joined: Any = _Joined(beginning, file)
    whole = io.BufferedReader(joined, 64 * 1024)
    errors = AS_WINDOWS if encoding.startswith("utf-8") else "replace"
    return io.TextIOWrapper(whole, encoding=encoding, errors=errors, newline="")


def _encoding_of(beginning: bytes) -> str:
    for mark, encoding in MARKS:
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
    if controls > MOST_CONTROLS * len(text):
        raise InvalidInput("The file is not text; save the table as CSV and hand in that.")


class _Joined(io.RawIOBase):
    """What was read already, then the rest of the file."""

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
