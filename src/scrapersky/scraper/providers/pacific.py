"""Google's day and month, which begin at midnight in California."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

_STANDARD = timedelta(hours=-8)
_SUMMER = timedelta(hours=-7)


def pacific_day(now: datetime) -> date:
    """The date in California; `now` knows its zone."""
    return (now.astimezone(UTC) + _offset(now)).date()


def next_pacific_midnight(now: datetime) -> datetime:
    tomorrow = pacific_day(now) + timedelta(days=1)
    return _midnight(tomorrow)


def pacific_month(now: datetime) -> date:
    """The first day of the month that is billed."""
    return pacific_day(now).replace(day=1)


def next_pacific_month(now: datetime) -> datetime:
    later = pacific_month(now) + timedelta(days=32)
    return _midnight(later.replace(day=1))


def _midnight(day: date) -> datetime:
    """Clocks change at two in the morning, so midnight is never in doubt."""
    local = datetime(day.year, day.month, day.day, tzinfo=UTC)
    standard = local - _STANDARD
    return local - (_SUMMER if _is_summer(standard - timedelta(seconds=1)) else _STANDARD)


def _offset(now: datetime) -> timedelta:
    return _SUMMER if _is_summer(now) else _STANDARD


def _is_summer(now: datetime) -> bool:
    """From the second Sunday of March to the first of November, by the law of 2007; without the
    zones of the system, which small containers do not have."""
    moment = now.astimezone(UTC)
    begins = datetime(moment.year, 3, _sunday(moment.year, 3, 2), 10, tzinfo=UTC)
    ends = datetime(moment.year, 11, _sunday(moment.year, 11, 1), 9, tzinfo=UTC)
    return begins <= moment < ends


def _sunday(year: int, month: int, which: int) -> int:
    first = date(year, month, 1)
    return 1 + (6 - first.weekday()) % 7 + 7 * (which - 1)
