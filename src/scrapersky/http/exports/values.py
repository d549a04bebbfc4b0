"""A value of a row as text or JSON, and texts that no spreadsheet takes for a formula."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal

BETWEEN_TEXTS = "; "

FORMULA_SIGNS = "=+-@＝＋－＠"
LINE_SIGNS = "\t\r\n"
"""Taken for the beginning of a formula's cell when they stand first."""
UNSEEN = " \t\r\n\v\f\x00\xa0\xad\u1680\u180e\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    chr(code) for code in range(0x2000, 0x2010)
)
"""Programs skip it before they look for a formula."""
_SEVERAL = (list, tuple, set, frozenset)
PHONES = r"\+[0-9][0-9 ]*(?:; \+?[0-9][0-9 ]*)*"
_FORMULA_STARTS = frozenset(FORMULA_SIGNS + LINE_SIGNS)
_PHONES = re.compile(PHONES)


def as_text(value: object) -> str:
    """Nothing for None, ISO 8601 for times, `a; b` for several values."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, _SEVERAL):
        return BETWEEN_TEXTS.join(as_text(each) for each in value)
    if isinstance(value, Mapping):
        return json.dumps(as_json(value), ensure_ascii=False)
    return str(value)


def _moment(value: datetime) -> str:
    """No more digits of a second than say something."""
    text = value.isoformat()
    if not value.microsecond:
        return text
    seconds, zone = text[:26], text[26:]
    return seconds.rstrip("0") + zone


def as_json(value: object) -> object:
    """What `json` takes; a number that JSON has no word for is nothing."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, Decimal)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): as_json(each) for key, each in value.items()}
    if isinstance(value, _SEVERAL):
        return [as_json(each) for each in value]
    return as_text(value)


def looks_like_formula(text: str) -> bool:
    """Whether a spreadsheet might run it: it starts with a sign, blanks and the like aside.

    Phone numbers start with one too. Digits and blanks behind a plus can call nothing, so they
    stay as they are: an apostrophe would make `+49 341 123` useless to whatever dials it.
    """
    start = text[:1]
    if start not in _FORMULA_STARTS and text.lstrip(UNSEEN)[:1] not in _FORMULA_STARTS:
        return False
    return _PHONES.fullmatch(text) is None


def harmless(text: str) -> str:
    """With an apostrophe before what looks like a formula, so that no program runs it."""
    if text[:1].isalnum():
        return text
    return f"'{text}" if looks_like_formula(text) else text
