"""What a provider's requests cost, from one data file that carries its date."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

FREE = Decimal(0)


@dataclass(frozen=True, slots=True)
class Price:
    """Of one request."""

    usd: Decimal
    is_free: bool
    """It is one of those that cost nothing, of this month or at all."""


@dataclass(frozen=True, slots=True)
class Sku:
    """A kind of request, as the provider bills it."""

    name: str
    free_a_month: int | None
    """Nothing where there is no end to them."""
    usd: tuple[Decimal, ...]
    """Per request, band by band; where fewer bands are known, the last price goes on."""


@cache
def _sheet() -> dict[str, Any]:
    text = (files(__package__) / "google_prices.json").read_text(encoding="utf-8")
    sheet: dict[str, Any] = json.loads(text)
    return sheet


PRICES_AS_OF = date.fromisoformat(_sheet()["as_of"])


@cache
def sku_of(name: str) -> Sku:
    known = _sheet()["skus"][name]
    usd = tuple(Decimal(each) / _sheet()["usd_per_requests"] for each in known["usd"])
    return Sku(name, known["free_a_month"], usd)


def known_skus() -> tuple[str, ...]:
    return tuple(_sheet()["skus"])


def price_of(sku: str, *, already: int, free_tier: bool) -> Price:
    """Of the next request of its kind, when `already` so many were billed in the month."""
    kind = sku_of(sku)
    if kind.free_a_month is None or (free_tier and already < kind.free_a_month):
        return Price(FREE, is_free=True)
    band = bisect_right(_sheet()["bands_end_at"], already)
    return Price(kind.usd[min(band, len(kind.usd) - 1)], is_free=False)


def price_of_many(sku: str, count: int, *, already: int, free_tier: bool) -> Decimal:
    """Of so many requests one after the other."""
    kind, end, total = sku_of(sku), already + count, FREE
    if kind.free_a_month is None:
        return total
    edges = [*_sheet()["bands_end_at"], kind.free_a_month, end]
    while already < end:
        upto = min(edge for edge in edges if already < edge <= end)
        total += (upto - already) * price_of(sku, already=already, free_tier=free_tier).usd
        already = upto
    return total


def quota_per_day(method: str) -> int:
    """Requests that a method is given by default; the day is the provider's."""
    return int(_sheet()["quotas"][method]["a_day"])


def quota_per_minute(method: str) -> int:
    return int(_sheet()["quotas"][method]["a_minute"])
