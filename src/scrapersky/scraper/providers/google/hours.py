"""Opening hours, as far as they can be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrapersky.scraper.providers.values import items_of, mapping_of, number_of, texts_of

MOST_PERIODS = 60


def read_hours(value: object) -> Mapping[str, Any] | None:
    """`always_open`, `days` (a line for each, for people) and `periods` (for programs); a period
    has its day from 0, which is Sunday, and times as `HH:MM`."""
    hours = mapping_of(value)
    days = texts_of(hours.get("weekdayDescriptions"), most=14)
    given = items_of(hours.get("periods"))[:MOST_PERIODS]
    periods = [period for each in given if (period := _period(mapping_of(each)))]
    if not days and not periods:
        return None
    return {
        "always_open": _is_always(periods),
        "days": list(days),
        "periods": [] if _is_always(periods) else periods,
    }


def _is_always(periods: list[dict[str, Any]]) -> bool:
    """One period that begins with the week and never closes."""
    return len(periods) == 1 and periods[0] == {"open": {"day": 0, "time": "00:00"}}


def _period(period: Mapping[str, Any]) -> dict[str, Any] | None:
    opens, closes = _moment(period.get("open")), _moment(period.get("close"))
    if opens is None:
        return None
    return {"open": opens, **({"close": closes} if closes else {})}


def _moment(value: object) -> dict[str, Any] | None:
    point = mapping_of(value)
    # Zero, which is Sunday, midnight and the full hour, is left out in Google's JSON at times.
    day = number_of(point.get("day", 0), 0, 6)
    hour = number_of(point.get("hour", 0), 0, 24)
    minute = number_of(point.get("minute", 0), 0, 59)
    if not point or day is None or hour is None or minute is None:
        return None
    return {"day": int(day), "time": f"{int(hour):02}:{int(minute):02}"}
