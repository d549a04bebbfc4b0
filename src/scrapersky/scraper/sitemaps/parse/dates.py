"""Parse the date formats found in sitemaps and feeds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

_MAX_CHARACTERS = 64
_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060\x00"
_JAVA_ZONE_NAME = re.compile(r"\[[A-Za-z_/+\-0-9:]*\]\Z")

_ISO_FORMAT = re.compile(
    r"\d{4}-\d\d-\d\d"
    r"(?:T\d\d:\d\d:\d\d(?:\.\d{3}|\.\d{6})?(?:Z|[+-]\d\d:[0-5]\d))?\Z",
    re.ASCII,
)
"""Format of nearly all sitemaps, which `fromisoformat` parses correctly and fast."""

_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2})"
    r"(?::(?P<second>\d{1,2})(?:[.,](?P<fraction>\d*))?)?(?:\s?(?P<half>[AP]M))?"
)
_ZONE = r"(?:\s?(?P<zone>[A-Z]{1,5}|(?:UTC|GMT|UT)?[+-]\d{1,2}(?::?\d{2})?))?"
_WEEKDAY = r"(?:[A-Z]{3,9}\.?,?\s?)?"
_DAY = r"(?P<day>\d{1,2})(?:ST|ND|RD|TH)?"
_MONTH = r"(?P<name>[A-Z]{3})[A-Z]*\.?"

_FORMATS = tuple(
    re.compile(form + r"\Z", re.ASCII | re.IGNORECASE)
    for form in (
        # 2024, 2024-05, 2024-05-06, 2024/5/6 7:08, 2024-05-06T07:08:09.5+01:00, 2024-05-06T07Z
        r"(?P<year>\d{4})(?:(?P<dash>[-/.])(?P<month>\d{1,2})(?:(?P=dash)(?P<day>\d{1,2})"
        rf"(?:(?:\s?T\s?|[\s_,])(?:{_CLOCK}|(?P<only_hour>\d\d)(?=Z)){_ZONE})?)?)?",
        # 20240506, 20240506T070809Z, 2024-05-06T070809Z
        r"(?P<year>\d{4})(?P<dash>-?)(?P<month>\d\d)(?P=dash)(?P<day>\d\d)"
        rf"(?:T(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)?{_ZONE})?",
        # 2024-127
        r"(?P<year>\d{4})-(?P<ordinal>\d{3})",
        # Mon, 06 May 2024 07:08:09 GMT, 6 May 24, Monday, 06-May-24 07:08 EST
        rf"{_WEEKDAY}{_DAY}[\s-]?{_MONTH},?[\s-]?(?P<year>\d{{2,4}})(?:,?\s{_CLOCK}{_ZONE})?",
        # May 6, 2024, May 6th 2024 07:08
        rf"{_WEEKDAY}{_MONTH}\s{_DAY},?\s(?P<year>\d{{4}})(?:,?\s{_CLOCK}{_ZONE})?",
        # Mon May  6 07:08:09 2024, Mon May 06 07:08:09 EST 2024
        rf"{_WEEKDAY}{_MONTH}\s{_DAY}\s{_CLOCK}{_ZONE}\s(?P<year>\d{{4}})",
    )
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES_BY_HOURS = {
    -10: "HST",
    -9: "AKST",
    -8: "PST AKDT",
    -7: "MST PDT",
    -6: "CST MDT",
    -5: "EST CDT",
    -4: "EDT",
    1: "CET BST",
    2: "EET CEST",
    3: "MSK EEST",
    9: "JST KST",
    10: "AEST",
    11: "AEDT",
    12: "NZST",
    13: "NZDT",
}
_ZONES = {name: hours for hours, names in _NAMES_BY_HOURS.items() for name in names.split()}
"""Offsets from UTC in hours. Ambiguous and unknown zone names mean UTC, as in RFC 2822."""


def parse_lastmod(text: str) -> datetime | None:
    """Parse a W3C or RSS date. Return an aware datetime, or None.

    Dates without a zone are in UTC. Dates that do not exist (30 February) or are out of range in
    UTC yield None.
    """
    text = text.strip().strip(_INVISIBLE)
    return _parse_cached(text) if len(text) <= _MAX_CHARACTERS else None


@lru_cache(maxsize=4096)
def _parse_cached(text: str) -> datetime | None:
    try:
        moment = _parse_iso(text) or _parse_lenient(text)
        return moment if moment and moment.astimezone(UTC) else None
    except (ValueError, OverflowError):
        return None


def _parse_iso(text: str) -> datetime | None:
    if not _ISO_FORMAT.match(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:  # 24:00 and 23:59:60 are still valid
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parse_lenient(text: str) -> datetime | None:
    text = _JAVA_ZONE_NAME.sub("", " ".join(text.split()))
    if not text.isascii():
        return None
    matches = (form.match(text) for form in _FORMATS)
    return next((_build_datetime(match.groupdict()) for match in matches if match), None)


def _build_datetime(part: dict[str, str | None]) -> datetime:
    """Build a datetime. Raises ValueError for a date or time that does not exist."""
    hour, minute, second = (
        _parse_hour(part),
        _parse_number(part, "minute"),
        _parse_number(part, "second"),
    )
    after = timedelta()
    fraction = (part.get("fraction") or "")[:6].ljust(6, "0")
    if (hour, minute, second, int(fraction)) == (24, 0, 0, 0):
        hour, after = 0, timedelta(days=1)
    if (minute, second) == (59, 60):
        second, after = 59, timedelta(seconds=1)
    day = _parse_day(part)
    moment = day.replace(hour=hour, minute=minute, second=second, microsecond=int(fraction))
    return (moment + after).replace(tzinfo=_parse_zone(part))


def _parse_hour(part: dict[str, str | None]) -> int:
    hour, half = _parse_number(part, "hour", "only_hour"), (part.get("half") or "").upper()
    if not half:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError("hour out of range for am/pm")
    return hour % 12 + (12 if half == "PM" else 0)


def _parse_day(part: dict[str, str | None]) -> datetime:
    year = _parse_year(part["year"] or "")
    if part.get("ordinal"):
        day = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=_parse_number(part, "ordinal") - 1)
        if day.year != year:
            raise ValueError("day of year out of range")
        return day
    name = part.get("name")
    month = _MONTHS.index(name.lower()) + 1 if name else _parse_number(part, "month", default=1)
    return datetime(year, month, _parse_number(part, "day", default=1), tzinfo=UTC)


def _parse_year(text: str) -> int:
    """Parse a year. Two digits follow RFC 2822: 49 is 2049, 50 is 1950."""
    year = int(text)
    if len(text) == 2:
        return year + (2000 if year < 50 else 1900)
    if len(text) == 3:
        raise ValueError("three-digit year")
    return year


def _parse_number(part: dict[str, str | None], *names: str, default: int = 0) -> int:
    return next((int(text) for name in names if (text := part.get(name))), default)


def _parse_zone(part: dict[str, str | None]) -> timezone:
    name = (part.get("zone") or "").upper()
    sign = max(name.find("+"), name.find("-"))
    if sign < 0:
        if name in _ZONES:
            return timezone(timedelta(hours=_ZONES[name]))
        if part.get("name") or name in ("", "Z", "UTC", "GMT", "UT"):
            return UTC
        raise ValueError("unknown time zone")
    digits = name[sign + 1 :]
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
    if int(minutes) > 59:
        raise ValueError("zone minutes out of range")
    offset = timedelta(hours=int(hours.rstrip(":")), minutes=int(minutes))
    return timezone(-offset if name[sign] == "-" else offset)
