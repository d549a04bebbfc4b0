"""Prices and quotas of provider requests, and Google's billing calendar (Pacific time)."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

_STANDARD_OFFSET = timedelta(hours=-8)
_SUMMER_OFFSET = timedelta(hours=-7)


def get_pacific_day(now: datetime) -> date:
    """Return the Pacific date. `now` must be timezone-aware."""
    offset = _SUMMER_OFFSET if _is_summer(now) else _STANDARD_OFFSET
    return (now.astimezone(UTC) + offset).date()


def get_next_pacific_midnight(now: datetime) -> datetime:
    tomorrow = get_pacific_day(now) + timedelta(days=1)
    return _build_midnight(tomorrow)


def get_pacific_month(now: datetime) -> date:
    """Return the first day of the billing month."""
    return get_pacific_day(now).replace(day=1)


def get_next_pacific_month(now: datetime) -> datetime:
    later = get_pacific_month(now) + timedelta(days=32)
    return _build_midnight(later.replace(day=1))


def _build_midnight(day: date) -> datetime:
    """Return midnight Pacific time, which is unambiguous because clocks change at 2 a.m."""
    local = datetime(day.year, day.month, day.day, tzinfo=UTC)
    standard = local - _STANDARD_OFFSET
    return local - (
        _SUMMER_OFFSET if _is_summer(standard - timedelta(seconds=1)) else _STANDARD_OFFSET
    )


def _is_summer(now: datetime) -> bool:
    """Whether daylight saving time applies: second Sunday of March to first Sunday of November.

    These are the US rules since 2007. The system's time zone database is not used, because small
    containers do not have it.
    """
    moment = now.astimezone(UTC)
    begins = datetime(moment.year, 3, _get_sunday(moment.year, 3, 2), 10, tzinfo=UTC)
    ends = datetime(moment.year, 11, _get_sunday(moment.year, 11, 1), 9, tzinfo=UTC)
    return begins <= moment < ends


def _get_sunday(year: int, month: int, which: int) -> int:
    first = date(year, month, 1)
    return 1 + (6 - first.weekday()) % 7 + 7 * (which - 1)


FREE = Decimal(0)


@dataclass(frozen=True, slots=True)
class Price:
    """Price of one request."""

    usd: Decimal
    is_free: bool
    """Whether the request is free, by the monthly free tier or in general."""


@dataclass(frozen=True, slots=True)
class Sku:
    """Type of request, as billed by the provider."""

    name: str
    free_a_month: int | None
    """None if the number is unlimited."""
    usd: tuple[Decimal, ...]
    """Price per request by band. The last price applies to all further bands."""


@cache
def _load_price_list() -> dict[str, Any]:
    text = (files(__package__) / "google_prices.json").read_text(encoding="utf-8")
    sheet: dict[str, Any] = json.loads(text)
    return sheet


PRICES_AS_OF = date.fromisoformat(_load_price_list()["as_of"])


@cache
def get_sku(name: str) -> Sku:
    known = _load_price_list()["skus"][name]
    usd = tuple(Decimal(each) / _load_price_list()["usd_per_requests"] for each in known["usd"])
    return Sku(name, known["free_a_month"], usd)


def list_skus() -> tuple[str, ...]:
    return tuple(_load_price_list()["skus"])


def get_price(sku: str, *, already: int, free_tier: bool) -> Price:
    """Return the price of the next request, after `already` requests were billed this month."""
    kind = get_sku(sku)
    if kind.free_a_month is None or (free_tier and already < kind.free_a_month):
        return Price(FREE, is_free=True)
    band = bisect_right(_load_price_list()["bands_end_at"], already)
    return Price(kind.usd[min(band, len(kind.usd) - 1)], is_free=False)


def get_total_price(sku: str, count: int, *, already: int, free_tier: bool) -> Decimal:
    """Return the total price of `count` consecutive requests."""
    kind, end, total = get_sku(sku), already + count, FREE
    if kind.free_a_month is None:
        return total
    edges = [*_load_price_list()["bands_end_at"], kind.free_a_month, end]
    while already < end:
        upto = min(edge for edge in edges if already < edge <= end)
        total += (upto - already) * get_price(sku, already=already, free_tier=free_tier).usd
        already = upto
    return total


def get_daily_quota(method: str) -> int:
    """Return the default number of requests per day. The day is the provider's."""
    return int(_load_price_list()["quotas"][method]["a_day"])


def get_minute_quota(method: str) -> int:
    return int(_load_price_list()["quotas"][method]["a_minute"])
