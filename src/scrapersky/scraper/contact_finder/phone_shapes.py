"""Which groups of digits can be a phone number, and where one number ends and the next begins."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scrapersky.scraper.contact_finder.phone_numbers import (
    DASHES,
    DIGITS,
    INVISIBLE,
    SPACES,
    digits_of,
)

MIN_DIGITS = 7
MAX_DIGITS = 16
MAX_PARTS = 6
"""How many parts with wide gaps between them may be one number: `0341 / 12 34 - 56`."""

_BETWEEN = rf"{SPACES}{DASHES}{INVISIBLE}./／()（）"
RUN = re.compile(rf"[{DIGITS}](?:[{_BETWEEN}]{{0,6}}+[{DIGITS}]){{{MIN_DIGITS - 1},}}+")
"""Digits with what may stand between those of a number. Possessive, so it never looks twice."""

PREFIX = re.compile(rf"(?:[+＋]|[(（])[{SPACES}{INVISIBLE}(+＋]{{0,3}}\Z")

_DATE = (
    rf"(?<![{DIGITS}./{DASHES}])(?:\d{{1,2}}([./-])\d{{1,2}}\1(?:\d{{4}}|\d\d)"
    rf"|(?:19|20)\d\d([./-])\d{{1,2}}\2\d{{1,2}})(?![./{DASHES}]?\d)"
)
_HOUR = r"(?:[01]?\d|2[0-4])\.[0-5]\d"
_HOURS = (
    rf"(?<![{DIGITS}./{DASHES}]){_HOUR}[{SPACES}]?[{DASHES}][{SPACES}]?{_HOUR}(?![./{DASHES}]?\d)"
)
_OTHER_ENDING = r"(?:(?<=\d{3})|(?<=\d\d[ .]\d\d[ .]\d\d))/(?=\d{1,2}\Z)"
DATE = re.compile(_DATE)
_GAP = re.compile(
    rf"{_DATE}|{_HOURS}|{_OTHER_ENDING}|[{SPACES}]{{2,}}|[{SPACES}][{DASHES}/.]+[{SPACES}]|\.[{SPACES}]|[{DASHES}]{{2,}}"
    rf"|[{SPACES}](?=[(（])"
)
_DASHED = re.compile(rf"[{SPACES}{DASHES}]+")
_OPENING = re.compile(r"[(（]?[0０]")
_WORD = re.compile(rf"[^{SPACES}/]+")
_YEARS = re.compile(r"(?:19|20)\d\d[^\d]{1,3}(?:19|20)\d\d")
_THOUSANDS = re.compile(r"[1-9]\d?(?:([ .])\d{3})(?:\1\d{3})+")
_ROUND = re.compile(r"000[ .]?000\Z")
_COORDINATE = re.compile(r"(?:0|[1-9]\d{0,2})\.\d{3,}")
_INTERNET_ADDRESS = re.compile(r"(?:(?:0|1?\d?\d|2\d\d)\.){3}(?:0|1?\d?\d|2\d\d)")
_BOOK = re.compile(r"97[89][ -]?\d[ -]?[\d -]{8,11}|\d[ -]\d{2,7}[ -]\d{1,7}[ -]\d")
_OTHERS = (_YEARS, _THOUSANDS, _COORDINATE, _INTERNET_ADDRESS)
_LOCAL_GROUPS = re.compile(
    r"(?:1[ .-]?)?\(?\d{3}\)?[ .-]{0,2}\d{3}(?:[ .-]| - )\d{4}"
    r"|(?:[18][ .-]?)?\(?\d{2,4}\)?(?:[ ./-]{1,2}\d{2,4})+(?:-\d)?"
    r"|\(?\d{3}(?:\)|[ ./-]|\) )\d{6,7}|8[ -]?\(\d{3}\)[ -]?\d{7}|\d\d \d{7}"
    r"|\(?\d\d\)? ?(?:\d{5}|9 ?\d{4})[ -]\d{4}|\(\d\) ?\d{3,4}[ .-]\d{4}"
)
"""North America; most of Europe; Italy and Greece; Russia; Spain; Brazil; Chile and Hungary."""

_GROUPS_WITH_TRUNK = re.compile(r"[(]?0[\d ./()-]+")


@dataclass(frozen=True, slots=True)
class Part:
    """Digits without a wide gap; `dashed` when only a dash separates it from the part before."""

    start: int
    end: int
    digits: int
    opens: bool
    dashed: bool


def parts_of(run: str) -> Iterator[Part]:
    """The parts of a run, split at its wide gaps and at the dates in it."""
    if run.isdecimal():
        yield _part(run, 0, len(run), dashed=False)
        return
    start, dashed = 0, False
    for gap in _GAP.finditer(run):
        if gap.start() > start:
            yield _part(run, start, gap.start(), dashed=dashed)
        start, dashed = gap.end(), _DASHED.fullmatch(gap.group()) is not None
    if start < len(run):
        yield _part(run, start, len(run), dashed=dashed)


def _part(run: str, start: int, end: int, *, dashed: bool) -> Part:
    text = run[start:end].lstrip()
    start = end - len(text)
    digits = sum(map(str.isdecimal, text[:64]))
    opens = digits >= 6 and _OPENING.match(text) is not None
    return Part(start, end, digits, opens=opens, dashed=dashed)


def spans_from(parts: Sequence[Part], first: int) -> Iterator[int]:
    """Ends (exclusive) of the parts which together, from `first`, may be one number."""
    digits = 0
    for last in range(first, min(first + MAX_PARTS, len(parts))):
        part = parts[last]
        if last > first and part.opens and digits > 3:
            return
        digits += part.digits
        if digits > MAX_DIGITS:
            return
        if digits >= MIN_DIGITS:
            yield last + 1


def looks_like_a_number(written: str) -> bool:
    """Whether a national number in plain spelling is grouped as people group phone numbers."""
    written = written[1:] if written.startswith("((") else written
    groups = re.findall(r"\d+", written)
    digits = len(digits_of(written))
    if len(groups) < 2 or digits < 1.75 * len(groups) or _ROUND.search(written):
        return False
    if any(other.fullmatch(written) for other in _OTHERS) or _is_book(written, digits):
        return False
    if _GROUPS_WITH_TRUNK.fullmatch(written):
        return True
    return digits >= 8 and _LOCAL_GROUPS.fullmatch(written) is not None


def _is_book(written: str, digits: int) -> bool:
    return digits in (10, 13) and _BOOK.fullmatch(written) is not None


def words_of(run: str, part: Part) -> Iterator[tuple[int, int]]:
    """Where numbers without space or slash stand in a part that is no number as a whole."""
    for word in _WORD.finditer(run, part.start, part.end):
        is_part = word.span() == (part.start, part.end)
        if not is_part and sum(map(str.isdecimal, word.group())) >= MIN_DIGITS:
            yield word.span()
