"""Read the dates that people write into sitemaps and feeds."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

_W3C = re.compile(
    r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?"
    r"(?:(?:T|\s+|T\s+)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,12}))?)?"
    r"(?:\s*(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?)?\Z",
    re.IGNORECASE,
)
_LONGEST = 64
_BLANKS = re.compile(r"\s+")


@lru_cache(maxsize=4096)
def parse_lastmod(text: str) -> datetime | None:
    """An aware datetime from a W3C or RSS date, UTC where no zone is given; or None."""
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return None
    try:
        return _aware(datetime.fromisoformat(text)) if _is_iso(text) else _lenient(text)
    except (ValueError, OverflowError):
        return _lenient(text)


def _is_iso(text: str) -> bool:
    """`fromisoformat` also takes week dates and bare digits, which nobody means here."""
    return len(text) >= 10 and text[4:5] == "-" and text[7:8] == "-"


def _lenient(text: str) -> datetime | None:
    match = _W3C.match(text)
    try:
        if match is not None:
            return _from_parts(match)
        if "," in text or text[:2].strip().isdigit() or text[:3].isalpha():
            return _aware(parsedate_to_datetime(_BLANKS.sub(" ", text)))
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
    return None


def _from_parts(match: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    moment = datetime(
        int(year),
        int(month or 1),
        int(day or 1),
        int(hour or 0),
        int(minute or 0),
        int(second or 0),
        int((fraction or "0")[:6].ljust(6, "0")),
        tzinfo=UTC,
    )
    return _in_zone(moment, zone)


def _in_zone(moment: datetime, zone: str | None) -> datetime:
    if zone is None or zone[0] not in "+-":
        return moment
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return datetime.fromisoformat(
        moment.replace(tzinfo=None).isoformat() + f"{zone[0]}{digits[:2]}:{digits[2:]}"
    )


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
