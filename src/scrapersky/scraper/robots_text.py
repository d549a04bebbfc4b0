"""The bytes of a robots.txt as lines of text."""

from __future__ import annotations

import re

_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_UTF8_MARKS = (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef")
_NOT_LINE_ENDS = dict.fromkeys(map(ord, "\x00\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
"""Python would end a line at them; in a robots.txt, only CR and LF do."""


def decoded(data: bytes) -> str:
    """By its mark or its zeros UTF-16, else UTF-8, else Latin-1."""
    encoding = _UTF16.get(data[:2]) or _utf16_without_mark(data)
    if encoding:
        return data.decode(encoding, "replace").removeprefix("\ufeff")
    data = _without_mark(data)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def lines_of(text: str) -> list[str]:
    return _LINE_ENDS.split(text.translate(_NOT_LINE_ENDS))


def _utf16_without_mark(data: bytes) -> str | None:
    """English in UTF-16 has a zero in every second byte."""
    start = data[:32]
    if len(start) < 8:
        return None
    if not any(start[1::2]) and all(start[::2]):
        return "utf-16-le"
    return "utf-16-be" if not any(start[::2]) and all(start[1::2]) else None


def _without_mark(data: bytes) -> bytes:
    """Without the byte order mark, of which some lose a part on the way."""
    for mark in _UTF8_MARKS:
        rest = data.removeprefix(mark)
        if rest != data and rest[:1].isascii():
            return rest
    return data
